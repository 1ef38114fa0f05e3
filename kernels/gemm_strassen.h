// Products with weights in Strassen's form. Internal to kernels/.
#ifndef KERNELS_GEMM_STRASSEN_H_
#define KERNELS_GEMM_STRASSEN_H_

#include <cstddef>
#include <memory>

#include "kernels/gemm.h"

namespace ir::kernels {

// `levels`: 1, or 2 for halves of halves.

/// Whether A and B are single matrices, B is known, and there is something to halve.
bool takes_strassen(const GemmParams& params, std::size_t levels);

/// About the cycles of a product that takes it.
double strassen_gemm_cost(const GemmParams& params, std::size_t levels);

/// For a product that takes it.
std::unique_ptr<Gemm> create_strassen_gemm(const GemmParams& params, const float* constant,
                                           const Epilogue& epilogue, std::size_t levels);

}  // namespace ir::kernels

#endif  // KERNELS_GEMM_STRASSEN_H_
