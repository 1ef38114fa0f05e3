// Memory on its way to the caches before it is read. Internal to kernels/.
#ifndef KERNELS_FETCH_H_
#define KERNELS_FETCH_H_

#include <cstddef>

#include "kernels/aligned_floats.h"

namespace ir::kernels {

#if defined(__GNUC__)
// GCC takes a function that only fetches for one without effects: calls that it does not inline at once, it
// drops.
[[gnu::always_inline]] inline void fetch_to_first_level(const float* from) { __builtin_prefetch(from, 0, 3); }
[[gnu::always_inline]] inline void fetch_to_second_level(const float* from) {
  __builtin_prefetch(from, 0, 2);
}
#else
inline void fetch_to_first_level(const float*) {}
inline void fetch_to_second_level(const float*) {}
#endif

[[gnu::always_inline]] inline void fetch_row(const float* from, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += kFloatsPerLine) fetch_to_first_level(from + i);
}

}  // namespace ir::kernels

#endif  // KERNELS_FETCH_H_
