// What convolutions, matrix products and element-wise chains do to finished values one by one.
#ifndef KERNELS_POST_FUNCTIONS_H_
#define KERNELS_POST_FUNCTIONS_H_

#include <cstddef>
#include <optional>

#include "kernels/fake_quantize.h"
#include "kernels/unary.h"

namespace ir::kernels {

/// An activation, then a quantisation; absent parts are skipped.
struct PostFunctions {
  std::optional<UnarySpec> activation;
  std::optional<Quantization> quantization;
};

/// In place, by unary_span and fake_quantize_span; has the form of Epilogue::post, whose context is
/// PostFunctions.
void apply_post_functions(float* data, std::size_t count, const void* post_functions);

}  // namespace ir::kernels

#endif  // KERNELS_POST_FUNCTIONS_H_
