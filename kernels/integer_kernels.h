// Products of integers where floats are: two neighbouring terms, 16 bits each, take the lane of one float.
// All that only moves lanes (packing, staging) therefore serves them, too; the tiles that multiply are their
// own. Internal to kernels/.
#ifndef KERNELS_INTEGER_KERNELS_H_
#define KERNELS_INTEGER_KERNELS_H_

#include <cstddef>

#include "kernels/gemm_kernels.h"
#include "kernels/processor.h"

namespace ir::kernels {

/// As gemm_kernels(), with `packed`, `direct` and `direct_columns` that multiply pairs, sum up in 32 bits and
/// know Tile::row_scale and column_scale; no other products, no functions of terms. nullptr: the target
/// multiplies floats as fast.
const GemmKernels* gemm_pair_kernels();

/// About the cycles of products that take `cycles` where lanes are floats, and of making the pairs of one
/// operand, `vectors` of them, before.
inline double cost_of_pairs(double cycles, std::size_t vectors) {
  // Without the instruction for it, a sum takes two.
  const double product = dots_integers(gemm_kernels().lanes) ? 1 : 1.35;
  constexpr double kVector = 2;
  constexpr double kPass = 1500;  // of going through the operand
  return product * cycles + kVector * static_cast<double>(vectors) + kPass;
}

/// to[i] = the integers nearest to even[i] * scale, in the low half, and odd[i] * scale; 0 for a NaN, and for
/// all of `odd` where that is nullptr. Both must fit 16 bits.
void pair_integers(const float* even, const float* odd, float scale, std::size_t count, float* to);

/// The same for neighbours: to[i] = the integers nearest to values[2 * i] * scale and values[2 * i + 1] *
/// scale, for `count` values; 0 behind the last one.
void pair_neighbours(const float* values, float scale, std::size_t count, float* to);

/// 0 for no values; anything where one of them is NaN.
float largest_magnitude(const float* values, std::size_t count);

/// Whether each value times `scale` is an integer, but for `tolerance`; NaN is none. They must be below 2^22.
bool are_integers(const float* values, std::size_t count, float scale, float tolerance);

}  // namespace ir::kernels

#endif  // KERNELS_INTEGER_KERNELS_H_
