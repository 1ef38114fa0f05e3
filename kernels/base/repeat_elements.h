// Elements of which each is written several times in a row.
#ifndef KERNELS_BASE_REPEAT_ELEMENTS_H_
#define KERNELS_BASE_REPEAT_ELEMENTS_H_

#include <cstddef>

namespace ir::kernels {

/// Bytes behind its results that repeat_elements may overwrite.
inline constexpr std::size_t kRepeatSlack = 32;

/// Writes each of `count` elements of `element_size` bytes (1, 2, 4 or 8) `times` times, on the calling
/// thread.
void repeat_elements(std::size_t element_size, const void* from, std::size_t count, std::size_t times,
                     void* to);

}  // namespace ir::kernels

#endif  // KERNELS_BASE_REPEAT_ELEMENTS_H_
