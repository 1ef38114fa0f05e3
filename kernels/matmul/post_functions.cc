#include "kernels/matmul/post_functions.h"

#include <algorithm>

namespace ir::kernels {

void apply_post_functions(float* data, std::size_t count, std::size_t channel, const void* post_functions) {
  const auto& functions = *static_cast<const PostFunctions*>(post_functions);
  const auto function_of = [&](const auto& list) {
    return list.empty() ? nullptr : &list[list.size() == 1 ? 0 : channel];
  };
  const UnarySpec* const activation = function_of(functions.activation);
  const Quantization* const quantization = function_of(functions.quantization);
  // What one function wrote stays in the first-level cache for the other.
  constexpr std::size_t kBlock = 2048;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    float* const block = data + begin;
    if (activation != nullptr) unary_span(*activation, block, block, size);
    if (quantization == nullptr) continue;
    (functions.exact ? fake_quantize_span : quantize_nearly_span)(*quantization, block, block, size);
  }
}

}  // namespace ir::kernels
