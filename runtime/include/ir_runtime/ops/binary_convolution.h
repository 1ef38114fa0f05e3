// Convolution of two-valued images and filters.
#ifndef IR_RUNTIME_OPS_BINARY_CONVOLUTION_H_
#define IR_RUNTIME_OPS_BINARY_CONVOLUTION_H_

#include <array>

#include "ir_runtime/ops/convolution.h"

namespace ir::op {

/// How bits are multiplied and summed.
enum class BinaryConvolutionMode : int { xnor_popcount };
inline constexpr std::array kBinaryConvolutionModeSpellings{
    Spelling{static_cast<int>(BinaryConvolutionMode::xnor_popcount), "xnor-popcount"},
};
constexpr std::span<const Spelling> spellings_of(BinaryConvolutionMode) {
  return kBinaryConvolutionModeSpellings;
}

namespace v1 {

/// Convolution over two axes in which 0 stands for -1. Inputs: image [N, C_IN, Y, X] of any numeric type with
/// elements 0 and 1; filters [C_OUT, C_IN, KY, KX] of type u1. Output [N, C_OUT, OY, OX] of the image's type:
/// taps that equal the filter's bit minus taps that do not. Definition: BinaryConvolution-1.
struct BinaryConvolution : ConvolutionAttributes {
  static constexpr OpInfo info{.type = "BinaryConvolution",
                               .family = "convolution",
                               .summary = "Convolution of an image of zeros and ones with filters of bits.",
                               .packs_weights = true};
  BinaryConvolutionMode mode = BinaryConvolutionMode::xnor_popcount;
  double pad_value = 0;

  static constexpr auto fields() {
    return detail::convolution_fields<BinaryConvolution>(
        required<&BinaryConvolution::mode>("mode", "How bits are multiplied and summed."),
        required<&BinaryConvolution::pad_value>(
            "pad_value",
            "Element of the padding: 1, or 0 or -1 for a zero; any other counts as unequal to every bit."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_BINARY_CONVOLUTION_H_
