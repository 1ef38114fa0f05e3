// Convolution of two-valued images and filters over two spatial axes, 64 channels at a time.
#ifndef KERNELS_CONVOLUTION_BINARY_CONVOLUTION_H_
#define KERNELS_CONVOLUTION_BINARY_CONVOLUTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/window.h"

namespace ir::kernels {

/// What taps in the padding read.
enum class BinaryPadding : std::uint8_t {
  zeros,
  ones,
  neither,  ///< something that no bit of a filter equals
};

/// Geometry. `y.in` and `x.in` may be 0; pad_end is not read.
struct BinaryConvolutionParams {
  std::size_t batch = 1;
  std::size_t in_channels = 0;
  std::size_t out_channels = 0;
  WindowParams y;
  WindowParams x;
  BinaryPadding padding = BinaryPadding::zeros;
};

/// A prepared binary convolution: each output is the number of taps that equal the filter's bit minus the
/// number of those that do not, exact in 64 bits, then converted to T. An element of the image equals a bit
/// only if it is exactly 0 or 1. Definition: BinaryConvolution-1, mode xnor-popcount.
class BinaryConvolution {
 public:
  /// `filters`: u1 elements [out_channels, in_channels, y.kernel, x.kernel], the first in the most
  /// significant bit; rearranged once and not needed again. nullptr: they come with every run.
  BinaryConvolution(const BinaryConvolutionParams& params, const std::uint8_t* filters);

  /// Bytes that `scratch` must have, aligned to 8.
  [[nodiscard]] std::size_t scratch_bytes() const;

  /// image [batch, in_channels, y.in, x.in] -> out [batch, out_channels, y.out, x.out], without overlap.
  /// Thread-safe with different scratch. T: float, double, (u)int8_t .. (u)int64_t.
  template <class T>
  void run(const T* image, const std::uint8_t* filters, T* out, std::byte* scratch) const;

 private:
  [[nodiscard]] std::size_t filter_words() const { return params_.out_channels * taps_ * words_; }
  [[nodiscard]] std::size_t image_words() const { return 2 * params_.y.in * params_.x.in * words_; }
  void pack_filters(const std::uint8_t* filters, std::uint64_t* packed) const;
  template <class T>
  void pack_image(const T* image, std::uint64_t* packed) const;
  [[nodiscard]] std::int64_t equal_bits(const std::uint64_t* image, const std::uint64_t* filter,
                                        std::size_t oy, std::size_t ox) const;
  [[nodiscard]] std::int64_t equal_padding(const std::uint64_t* filter) const;

  BinaryConvolutionParams params_;
  std::size_t taps_ = 0;
  std::size_t words_ = 0;               ///< that hold a bit of every input channel
  std::vector<std::uint64_t> filters_;  ///< [out_channels, taps, words] when they are known
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_BINARY_CONVOLUTION_H_
