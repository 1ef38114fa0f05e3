// Which integers quantised values may be, for tests of what multiplies them.
#ifndef TESTS_KERNELS_MATMUL_INTEGER_GRIDS_H_
#define TESTS_KERNELS_MATMUL_INTEGER_GRIDS_H_

#include <array>

#include "kernels/matmul/integer_kernels.h"
#include "kernels/weights/integer_weights.h"

namespace ir::test {

/// Bytes with and without sign, some that begin elsewhere, and such as need 16 bits.
inline std::array<kernels::IntegerGrid, 4> integer_grids(float step) {
  return {{{step, -128, 127}, {step, 0, 255}, {step, -31, 200}, {step, -700, 900}}};
}

/// Whether the SIMD target of the moment multiplies them by signed bytes.
inline bool takes_integers(const kernels::IntegerGrid& grid) {
  using kernels::LaneForm;
  const bool are_bytes = grid.high - grid.low <= 255;
  return gemm_integer_kernels(LaneForm::pairs) != nullptr ||
         (are_bytes && gemm_integer_kernels(LaneForm::quads) != nullptr);
}

}  // namespace ir::test

#endif  // TESTS_KERNELS_MATMUL_INTEGER_GRIDS_H_
