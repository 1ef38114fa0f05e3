// Strassen's product of 2 x 2 blocks, in Winograd's form: seven products of halves instead of eight. Internal
// to kernels/.
//
// With left operand A and right operand B cut in halves along all three dimensions,
//   s1 = a21 + a22   s2 = s1 - a11    s3 = a11 - a21   s4 = a12 - s2
//   t1 = b12 - b11   t2 = b22 - t1    t3 = t2 - b11    t4 = b21 - t2
//   u2 = a11 b11 + s2 t2              u3 = u2 + s3 t3  z = s1 t1
//   c11 = a11 b11 + a12 b21           c12 = u2 + z + s4 b22
//   c21 = u3 + a22 t4                 c22 = u3 + z
// b12 itself is not needed, so t1 is kept in its place.
#ifndef KERNELS_STRASSEN_H_
#define KERNELS_STRASSEN_H_

#include <array>
#include <cstddef>

#include "kernels/gemm_kernels.h"

namespace ir::kernels {

/// What the four quarters 11, 12, 21, 22 of an operand are.
template <class Pointer>
using Quarters = std::array<Pointer, 4>;

/// Rows, or columns, that are added up share their errors. They are alike when all of their values are finite
/// and the root mean square of one is at most so many times that of the other.
inline constexpr float kMostUnlike = 64;

/// Sums of quarters and of results, one set of function pointers per SIMD target.
struct StrassenKernels {
  /// s1 to s4 of quarters of rows `stride` apart; rows of the sums are `sum_stride` apart. Whether all rows
  /// of the upper half are like those of the lower one.
  bool (*left_sums)(const Quarters<const float*>& a, std::size_t stride, std::size_t rows, std::size_t depth,
                    const Quarters<float*>& s, std::size_t sum_stride) = nullptr;
  /// Whether the first `columns` columns of the right half are like those of the left one, for quarters of
  /// `depth` rows of `width` floats, whole vectors.
  bool (*columns_alike)(const Quarters<const float*>& b, std::size_t depth, std::size_t width,
                        std::size_t columns) = nullptr;
  // Of `count` floats; `to` may be one of the operands.
  void (*add)(const float* x, const float* y, float* to, std::size_t count) = nullptr;
  void (*subtract)(const float* x, const float* y, float* to, std::size_t count) = nullptr;
  /// x - (y + z)
  void (*subtract_sum)(const float* x, const float* y, const float* z, float* to,
                       std::size_t count) = nullptr;
};

/// Those of the SIMD target that dispatch picks now.
const StrassenKernels& strassen_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_H_
