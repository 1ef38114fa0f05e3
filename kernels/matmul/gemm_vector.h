// A row times matrices in place. Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_VECTOR_H_
#define KERNELS_MATMUL_GEMM_VECTOR_H_

#include <memory>

#include "kernels/matmul/gemm.h"

namespace ir::kernels {

/// A row times matrices that are not known before, or stay and lie as [n, k]: each is read once, in place, so
/// packing would only cost.
std::unique_ptr<Gemm> create_vector_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_VECTOR_H_
