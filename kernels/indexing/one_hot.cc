#include "kernels/indexing/one_hot.h"

#include <algorithm>
#include <type_traits>

#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {

template <class Index, class T>
void one_hot(const Index* indices, T* out, std::size_t outer, std::size_t depth, std::size_t inner, T on,
             T off, NegativeIndices negative) {
  const auto position = [depth, negative](Index index) {
    auto wide = static_cast<std::uint64_t>(index);
    // A negative index wraps to above any depth, and adding depth brings the normalized ones back.
    if (std::is_signed_v<Index> && index < 0 && negative == NegativeIndices::normalize) wide += depth;
    return wide;
  };
  parallel_for(outer, grain_for_cost(depth * inner), [&](std::size_t begin, std::size_t end) {
    std::fill(out + begin * depth * inner, out + end * depth * inner, off);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < inner; ++j) {
        const std::uint64_t index = position(indices[i * inner + j]);
        if (index < depth) out[(i * depth + index) * inner + j] = on;
      }
    }
  });
}

#define IR_INSTANTIATE_FOR(Index, T)                                                             \
  template void one_hot<Index, T>(const Index*, T*, std::size_t, std::size_t, std::size_t, T, T, \
                                  NegativeIndices);
#define IR_INSTANTIATE(Index)              \
  IR_INSTANTIATE_FOR(Index, std::uint8_t)  \
  IR_INSTANTIATE_FOR(Index, std::uint16_t) \
  IR_INSTANTIATE_FOR(Index, std::uint32_t) \
  IR_INSTANTIATE_FOR(Index, std::uint64_t)
IR_KERNELS_FOR_EACH_INTEGER(IR_INSTANTIATE)
#undef IR_INSTANTIATE
#undef IR_INSTANTIATE_FOR

}  // namespace ir::kernels
