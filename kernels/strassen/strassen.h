// Strassen's product of 2 x 2 blocks, in Winograd's form: seven products of halves instead of eight. Internal
// to kernels/.
//
// With left operand A and right operand B cut in halves along all three dimensions,
//   s1 = a21 + a22   s2 = s1 - a11    s3 = a11 - a21   s4 = a12 - s2
//   t1 = b12 - b11   t2 = b22 - t1    t3 = t2 - b11    t4 = b21 - t2
//   u2 = a11 b11 + s2 t2              u3 = u2 + s3 t3  z = s1 t1
//   c11 = a11 b11 + a12 b21           c12 = u2 + z + s4 b22
//   c21 = u3 + a22 t4                 c22 = u3 + z
// b12 itself is not needed, so t1 is kept in its place. Each of the seven may be made of seven smaller ones
// in turn.
#ifndef KERNELS_STRASSEN_STRASSEN_H_
#define KERNELS_STRASSEN_STRASSEN_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// At most so many slices of each dim: two halves, or the halves of both.
inline constexpr std::size_t kMostSlices = 4;

/// The sums of squares of rows, or columns, that are to be added up: they share their errors. They are alike
/// when all of their values are finite and the root mean square of one is at most so many times that of
/// another.
class AlikeSquares {
 public:
  static constexpr float kMostUnlike = 64;

  void add(float squares) {
    least_ = std::min(least_, squares);
    most_ = std::max(most_, squares);
    sum_ += squares;
  }
  explicit operator bool() const {
    return std::isfinite(sum_) && most_ <= kMostUnlike * kMostUnlike * least_;
  }

 private:
  float least_ = std::numeric_limits<float>::infinity();
  float most_ = 0;
  float sum_ = 0;  ///< NaN if one of them is
};

/// Sums of quarters and of results, one set of function pointers per SIMD target.
struct StrassenKernels {
  /// The sum of the squares of each of some rows, `stride` apart.
  void (*row_squares)(const float* a, std::size_t stride, std::size_t rows, std::size_t columns,
                      float* squares) = nullptr;
  /// Adds up the squares of each row of a packed panel.
  void (*packed_row_squares)(const float* a, std::size_t depth, std::size_t rows, float* squares) = nullptr;
  /// Adds up the squares of each column of `depth` rows of `width` floats, whole vectors.
  void (*column_squares)(const float* b, std::size_t depth, std::size_t width, float* squares) = nullptr;
  // Of `count` floats; `to` may be one of the operands.
  void (*add)(const float* x, const float* y, float* to, std::size_t count) = nullptr;
  void (*subtract)(const float* x, const float* y, float* to, std::size_t count) = nullptr;
};

/// Those of the SIMD target that dispatch picks now.
const StrassenKernels& strassen_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_STRASSEN_H_
