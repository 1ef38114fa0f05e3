// Products of which both operands are integers times steps, as quantised models have them: two terms are
// multiplied and added up by one instruction, and exactly.
#ifndef KERNELS_INTEGER_WEIGHTS_H_
#define KERNELS_INTEGER_WEIGHTS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/aligned_floats.h"
#include "kernels/epilogue.h"

namespace ir::kernels {

/// What values are: integers, of magnitudes up to `most`, times `step`, plus `offset`, but for rounding. The
/// offset is less than half of a step.
struct IntegerGrid {
  float step = 0;
  float most = 0;
  float offset = 0;

  friend bool operator==(const IntegerGrid&, const IntegerGrid&) = default;
};
/// Offsets of levels of a byte that are no larger, in steps, count as none: some times what f32 arithmetic on
/// the way is off by.
inline constexpr float kLevelTolerance = 0x1p-14F;

/// Constant weights that are integers times a step for each output channel, or column of results.
class IntegerWeights {
 public:
  /// Finds the steps of weights [channels][terms]; `values` is what is known of what they are multiplied
  /// with. In parallel. nullptr: they are no such integers, or larger than 255, sums might not fit 32 bits,
  /// or the SIMD target of the moment multiplies floats as fast.
  static std::shared_ptr<const IntegerWeights> find(std::size_t channels, std::size_t terms,
                                                    const float* weights, const IntegerGrid& values);

  /// The weights that the steps were found for, [channels][terms][taps], as [channels][pairs of
  /// terms][taps] in lanes of integer_kernels.h. In parallel.
  [[nodiscard]] AlignedFloats pairs(std::size_t terms, std::size_t taps, const float* weights) const;
  /// What one is worth in a sum of products, for each channel.
  [[nodiscard]] const float* scale() const { return scale_.data(); }
  /// What the offset of the values adds to the sums of each channel; empty: nothing.
  [[nodiscard]] const std::vector<float>& shift() const { return shift_; }
  /// Integers per unit of the values.
  [[nodiscard]] float per_unit() const { return per_unit_; }

 private:
  float per_unit_ = 0;
  std::vector<float> weights_per_unit_;  ///< for each channel
  std::vector<float> scale_;
  std::vector<float> shift_;
};

/// An epilogue, which has a bias for each channel or none, for sums of integers.
class IntegerEpilogue {
 public:
  IntegerEpilogue(const Epilogue& epilogue, const IntegerWeights& weights);
  /// As long as this lives.
  [[nodiscard]] const Epilogue& get() const { return epilogue_; }

 private:
  Epilogue epilogue_;
  std::vector<float> bias_;
};

}  // namespace ir::kernels

#endif  // KERNELS_INTEGER_WEIGHTS_H_
