// Memory on its way to the caches before it is read. Internal to kernels/.
#ifndef KERNELS_BASE_FETCH_H_
#define KERNELS_BASE_FETCH_H_

#include <cstddef>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/processor.h"

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

/// Bytes from what is read of a long stream to what is fetched. Hardware does not fetch across pages; but on
/// Intel's cores a whole page is too far, a tenth of the time (Granite Rapids).
inline std::size_t stream_ahead() { return is_of_intel() ? 2048 : 4096; }

[[gnu::always_inline]] inline void fetch_row(const float* from, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += kFloatsPerLine) fetch_to_first_level(from + i);
}

/// Rows of floats, into the second-level cache.
[[gnu::always_inline]] inline void fetch_rows(const float* from, std::size_t stride, std::size_t rows,
                                              std::size_t floats) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < floats; i += kFloatsPerLine) fetch_to_second_level(from + row * stride + i);
  }
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_FETCH_H_
