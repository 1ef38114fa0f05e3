// A row times large known weights, which are kept in 16 or 24 bits: it takes as long as reading them does.
// Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_NARROW_H_
#define KERNELS_MATMUL_GEMM_NARROW_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "kernels/matmul/gemm.h"

namespace ir::kernels {

inline constexpr std::string_view kNarrow = "gemv_narrow";

/// Whether it is one row times one matrix B that is known, and so large that no cache keeps it.
bool takes_narrow(const GemmParams& params);

/// About the cycles of a row times weights of so many bits each.
double row_cost(const GemmParams& params, std::size_t bits);

/// For a product that takes it.
std::unique_ptr<Gemm> create_narrow_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_NARROW_H_
