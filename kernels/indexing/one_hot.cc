#include "kernels/indexing/one_hot.h"

#include <algorithm>

#include "kernels/threads/parallel.h"

namespace ir::kernels {

template <class T>
void one_hot(const OneHotShape& shape, NegativeIndices negative, IndexView indices, T on, T off, T* out) {
  const std::size_t depth = shape.depth;
  const std::size_t inner = shape.inner;
  const std::size_t normalized = negative == NegativeIndices::normalize ? depth : 0;
  const std::size_t row = depth * inner;
  const auto set_rows = [&](std::size_t begin, std::size_t end) {
    std::fill(out + begin * row, out + end * row, off);
    indices.with_elements([&](const auto& elements) {
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t j = 0; j < inner; ++j) {
          const std::int64_t index = elements[i * inner + j];
          // A negative index wraps to above any depth, and adding depth brings the normalized ones back.
          const std::uint64_t place = static_cast<std::uint64_t>(index) + (index < 0 ? normalized : 0);
          if (place < depth) out[i * row + place * inner + j] = on;
        }
      }
    });
  };
  parallel_for(shape.outer, grain_for_cost(row), set_rows);
}

#define IR_INSTANTIATE(T) template void one_hot<T>(const OneHotShape&, NegativeIndices, IndexView, T, T, T*);
IR_INSTANTIATE(std::uint8_t)
IR_INSTANTIATE(std::uint16_t)
IR_INSTANTIATE(std::uint32_t)
IR_INSTANTIATE(std::uint64_t)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
