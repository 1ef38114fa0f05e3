#include "kernels/post_functions.h"

#include <algorithm>

namespace ir::kernels {

void apply_post_functions(float* data, std::size_t count, const void* post_functions) {
  const auto& functions = *static_cast<const PostFunctions*>(post_functions);
  // What one function wrote stays in the first-level cache for the other.
  constexpr std::size_t kBlock = 2048;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    float* const block = data + begin;
    if (functions.activation) unary_span(*functions.activation, block, block, size);
    if (functions.quantization) fake_quantize_span(*functions.quantization, block, block, size);
  }
}

}  // namespace ir::kernels
