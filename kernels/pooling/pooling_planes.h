// Internal to pooling: the path of floats, and of maxima of bytes, for windows that slide over planes by one
// or two columns, also over several at once.
#ifndef KERNELS_POOLING_POOLING_PLANES_H_
#define KERNELS_POOLING_POOLING_PLANES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/window.h"

namespace ir::kernels {

/// Whether there are two or three axes whose windows slide regularly without gaps (over columns by 1 or 2),
/// none of them is empty, and a line with its padding is short enough for a buffer.
bool slides_over_planes(const std::vector<WindowAxis>& axes);

/// Such output lines [begin, end), counted over all images: averages (column_divisors of the last axis, with
/// kDivisorPadding, given) or maxima (null). `in` and `out` are those of line 0;
/// `in_end` is behind all images.
void pool_planes_f32(const std::vector<WindowAxis>& axes, const float* column_divisors, const float* in,
                     const float* in_end, float* out, std::size_t begin, std::size_t end);

/// The same for maxima of bytes.
using PoolOfBytes = void (*)(const std::vector<WindowAxis>& axes, const std::uint8_t* in,
                             const std::uint8_t* in_end, std::uint8_t* out, std::size_t begin,
                             std::size_t end);
/// For axes of slides_over_planes(); nullptr for others, and on targets where it is not worth its size.
PoolOfBytes pool_of_bytes(const std::vector<WindowAxis>& axes);

}  // namespace ir::kernels

#endif  // KERNELS_POOLING_POOLING_PLANES_H_
