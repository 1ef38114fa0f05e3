#include "kernels/creation/range.h"

#include <cstdint>
#include <type_traits>

#include "kernels/base/float16.h"
#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

template <class T>
T element(T start, T step, std::size_t i) {
  if constexpr (std::is_floating_point_v<T>) {
    return start + static_cast<T>(i) * step;
  } else if constexpr (std::is_class_v<T>) {
    const T product(static_cast<float>(T(static_cast<float>(i))) * static_cast<float>(step));
    return T(static_cast<float>(start) + static_cast<float>(product));
  } else {
    // Unsigned arithmetic wraps where signed overflow would be undefined.
    return static_cast<T>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step));
  }
}

}  // namespace

template <class T>
void fill_range(T start, T step, std::size_t count, T* out) {
  parallel_for(count, grain_for_cost(1), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = element(start, step, i);
  });
}

#define IR_INSTANTIATE(T) template void fill_range<T>(T, T, std::size_t, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
IR_INSTANTIATE(Float16)
IR_INSTANTIATE(BFloat16)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
