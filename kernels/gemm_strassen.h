// Products with weights in Strassen's form. Internal to kernels/.
#ifndef KERNELS_GEMM_STRASSEN_H_
#define KERNELS_GEMM_STRASSEN_H_

#include <memory>

#include "kernels/gemm.h"

namespace ir::kernels {

/// Whether A and B are single matrices, B is known, and there is something to halve.
bool takes_strassen(const GemmParams& params);

/// About the cycles of a product that takes it.
double strassen_gemm_cost(const GemmParams& params);

/// For a product that takes it.
std::unique_ptr<Gemm> create_strassen_gemm(const GemmParams& params, const float* constant,
                                           const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_GEMM_STRASSEN_H_
