// Products of integers by known integers. Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_INTEGER_H_
#define KERNELS_MATMUL_GEMM_INTEGER_H_

#include <memory>
#include <string_view>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/matrix_tiles.h"

namespace ir::kernels {

inline constexpr std::string_view kInteger = "integer";

/// Whether it knows integers and is one product, B known, of several rows of A that lie as they are.
bool takes_integers(const GemmParams& params);

/// The matrix tiles for those, or nullptr: there are none.
const MatrixTiles* tiles_of_integers(const GemmParams& params);

// `tiles`: nullptr for products of vectors.

/// About the cycles that it takes.
double integer_gemm_cost(const GemmParams& params, const MatrixTiles* tiles);

/// For what takes_integers() allows; `constant` is B.
std::unique_ptr<Gemm> create_integer_gemm(const GemmParams& params, const MatrixTiles* tiles,
                                          const ConstantWeights& constant, const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_INTEGER_H_
