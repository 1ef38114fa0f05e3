// Products of integers where floats are: two neighbouring terms of 16 bits, or four bytes, take the lane of
// one float. All that only moves lanes (packing, staging) therefore serves them, too; the tiles that multiply
// are their own. Internal to kernels/.
#ifndef KERNELS_MATMUL_INTEGER_KERNELS_H_
#define KERNELS_MATMUL_INTEGER_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/gemm_kernels.h"
#include "kernels/weights/integer_weights.h"

namespace ir::kernels {

/// As gemm_kernels(), with `packed`, `direct` and `direct_columns` that multiply integers, sum up in 32 bits
/// and know Tile::row_scale and column_scale; no other products, no functions of terms. Bytes of packed rows,
/// and of the columns of `direct`, are signed, those that they are multiplied with are not. nullptr: the
/// target multiplies floats as fast, or has no such instruction.
const GemmKernels* gemm_integer_kernels(LaneForm form);

/// gemm_kernels(), or those of integers that are there.
inline const GemmKernels& gemm_kernels_of(LaneForm form) {
  return form == LaneForm::floats ? gemm_kernels() : *gemm_integer_kernels(form);
}

/// About the cycles of products that take `cycles` where lanes are floats, and of making the lanes of one
/// operand, `vectors` of them, before.
inline double cost_of_integers(LaneForm form, double cycles, std::size_t vectors) {
  // A sum of pairs takes two instructions.
  const double product = form == LaneForm::quads ? 1 : 1.35;
  const double vector = form == LaneForm::quads ? 4 : 2;
  constexpr double kPass = 1500;  // of going through the operand
  return product * cycles + vector * static_cast<double>(vectors) + kPass;
}

/// Rows of floats, or of bytes, that become one row of lanes.
template <class T>
struct JoinedRows {
  const T* first = nullptr;
  std::size_t stride = 0;
  std::size_t count = 0;  ///< at least 1, at most as many as a lane has terms
  /// The bytes of a lane in place of rows that are not there, for quads of a convolution's image.
  std::uint32_t missing = 0;
  /// Of floats: integers per unit of each row, where that differs; nullptr: as the map says.
  const float* per_unit = nullptr;
};

/// What makes lanes, of forms that gemm_integer_kernels() knows.
struct LaneJoins {
  /// to[i] = the integers of element i of all rows, from the lowest bits on; rows that are not there count as
  /// 0, a NaN as the base. They must fit.
  void (*rows)(const LaneMap& map, const JoinedRows<float>& rows, std::size_t count, float* to);
  /// The same for rows of bytes that are the integers of quads, less their base.
  void (*bytes)(const JoinedRows<std::uint8_t>& rows, std::size_t count, float* to);
  /// The same for neighbours: to[i] = the integers of values[i * terms of a lane] and those behind it, for
  /// `count` values, behind which there are zeros.
  void (*neighbours)(const LaneMap& map, const float* values, std::size_t count, float* to);
};

/// Those of the SIMD target that dispatch picks now.
LaneJoins lane_joins();

/// 0 for no values; anything where one of them is NaN.
float largest_magnitude(const float* values, std::size_t count);

/// Whether each value times `scale` is an integer, but for `tolerance`; NaN is none. They must be below 2^22.
bool are_integers(const float* values, std::size_t count, float scale, float tolerance);

/// Of floats, in double.
double sum_of(const float* values, std::size_t count);
std::int64_t sum_of(const std::int8_t* values, std::size_t count);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_INTEGER_KERNELS_H_
