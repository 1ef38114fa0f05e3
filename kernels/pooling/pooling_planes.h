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

/// Output lines [begin, end), counted over all images.
template <class T>
struct PlaneLines {
  const T* in;      ///< of line 0
  const T* in_end;  ///< behind all images
  T* out;           ///< of line 0
  std::size_t begin;
  std::size_t end;
};

/// Such lines: averages (column_divisors of the last axis, with kDivisorPadding, given) or maxima (null).
void pool_planes_f32(const std::vector<WindowAxis>& axes, const float* column_divisors,
                     const PlaneLines<float>& lines);

/// The same for maxima of bytes.
using PoolOfBytes = void (*)(const std::vector<WindowAxis>& axes, const PlaneLines<std::uint8_t>& lines);
/// For axes of slides_over_planes(); nullptr for others, and on targets where it is not worth its size.
PoolOfBytes pool_of_bytes(const std::vector<WindowAxis>& axes);

}  // namespace ir::kernels

#endif  // KERNELS_POOLING_POOLING_PLANES_H_
