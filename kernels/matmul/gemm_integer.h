// Products of integers by known integers. Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_INTEGER_H_
#define KERNELS_MATMUL_GEMM_INTEGER_H_

#include <memory>
#include <string_view>

#include "kernels/matmul/gemm.h"

namespace ir::kernels {

inline constexpr std::string_view kInteger = "integer";

/// Whether it knows integers and is one product, B known, of several rows of A that lie as they are.
bool takes_integers(const GemmParams& params);

/// About the cycles that it takes.
double integer_gemm_cost(const GemmParams& params);

/// For what takes_integers() allows; `constant` is B.
std::unique_ptr<Gemm> create_integer_gemm(const GemmParams& params, const ConstantWeights& constant,
                                          const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_INTEGER_H_
