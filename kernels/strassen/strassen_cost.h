// How products in Strassen's form are cut into blocks of rows. Internal to kernels/.
#ifndef KERNELS_STRASSEN_STRASSEN_COST_H_
#define KERNELS_STRASSEN_STRASSEN_COST_H_

#include <cstddef>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/strassen/strassen_shape.h"

namespace ir::kernels {

/// Left operands of a block of rows that stay in the caches, in floats. More would go to memory and come
/// back.
inline constexpr std::size_t kMostLeftOperands = 5 << 17;
std::size_t left_operands(const StrassenShape& shape, const Split& row_blocks);

/// Into how many blocks to cut the row panels at least, for workers that share those times the groups of
/// column panels.
Split shared_row_blocks(const GemmKernels& kernels, const StrassenShape& shape, const GemmParams& params,
                        std::size_t workers);

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_STRASSEN_COST_H_
