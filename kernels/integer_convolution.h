// Convolutions of which image and weights are integers times steps, as quantised models have them: two terms
// are multiplied and added up by one instruction, and exactly.
#ifndef KERNELS_INTEGER_CONVOLUTION_H_
#define KERNELS_INTEGER_CONVOLUTION_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/aligned_floats.h"

namespace ir::kernels {

struct ConvolutionParams;

/// What values are: integers, of magnitudes up to `most`, times `step`, but for rounding.
struct IntegerGrid {
  float step = 0;
  float most = 0;

  friend bool operator==(const IntegerGrid&, const IntegerGrid&) = default;
};

/// Values are taken for integers that are so close to them, in steps: far more than f32 arithmetic on the way
/// is off by, far less than would show in the result.
inline constexpr float kIntegerTolerance = 0x1p-12F;

/// Constant weights that are integers times a step for each output channel.
class IntegerFilters {
 public:
  /// Finds the steps; `weights` as in create_convolution, `image` what is known of the image. In parallel.
  /// nullptr: weights are no such integers, or larger than 255, sums might not fit 32 bits, or it would not
  /// help: depthwise, a single output position, a SIMD target (that of the moment) that multiplies floats as
  /// fast.
  static std::shared_ptr<const IntegerFilters> find(const ConvolutionParams& params, const float* weights,
                                                    const IntegerGrid& image);

  /// The weights that the steps were found for, [out_channels][channels][taps], as [out_channels][pairs of
  /// channels][taps] in lanes of integer_kernels.h. In parallel.
  [[nodiscard]] AlignedFloats pairs(std::size_t channels, std::size_t taps, const float* weights) const;
  /// What one is worth in a sum of products, for each output channel.
  [[nodiscard]] const float* scale() const { return scale_.data(); }
  /// Integers of the image per unit of it.
  [[nodiscard]] float per_unit() const { return per_unit_; }

 private:
  float per_unit_ = 0;
  std::vector<float> weights_per_unit_;  ///< for each output channel
  std::vector<float> scale_;
};

}  // namespace ir::kernels

#endif  // KERNELS_INTEGER_CONVOLUTION_H_
