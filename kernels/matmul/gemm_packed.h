// The usual form of a product, for those that are made of it. Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_PACKED_H_
#define KERNELS_MATMUL_GEMM_PACKED_H_

#include <memory>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// Panels of both operands, packed or read in place, with tiles of `kernels`.
std::unique_ptr<Gemm> create_packed_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue, const GemmKernels& kernels);

/// Dense matrices A that meet the same B as one taller A, unless their rows have biases.
GemmParams folded_batch(GemmParams params, const Epilogue& epilogue = {});

/// About the cycles that it takes.
double packed_gemm_cost(const GemmParams& params);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_PACKED_H_
