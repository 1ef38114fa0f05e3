// What convolutions, matrix products and element-wise chains do to finished values one by one.
#ifndef KERNELS_MATMUL_POST_FUNCTIONS_H_
#define KERNELS_MATMUL_POST_FUNCTIONS_H_

#include <cstddef>
#include <vector>

#include "kernels/elementwise/fake_quantize.h"
#include "kernels/elementwise/unary.h"

namespace ir::kernels {

/// An activation, then a quantisation. Of each there is none, one for all, or one for each output channel.
struct PostFunctions {
  std::vector<UnarySpec> activation;
  std::vector<Quantization> quantization;
  /// Quantisations are those of fake_quantize_span, not of quantize_nearly_span.
  bool exact = true;

  [[nodiscard]] bool is_empty() const { return activation.empty() && quantization.empty(); }
  /// Whether Epilogue::post_by_channel has to be set.
  [[nodiscard]] bool by_channel() const { return activation.size() > 1 || quantization.size() > 1; }
};

/// In place, by unary_span and a quantisation of spans; has the form of Epilogue::post, whose context is
/// PostFunctions.
void apply_post_functions(float* data, std::size_t count, std::size_t channel, const void* post_functions);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_POST_FUNCTIONS_H_
