// Products with known weights in matrix tiles. Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_TILES_H_
#define KERNELS_MATMUL_GEMM_TILES_H_

#include <memory>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/matrix_tiles.h"

namespace ir::kernels {

/// Whether the processor has such tiles, A and B are single matrices, and B is known.
bool takes_tiles(const GemmParams& params);

/// About the cycles of a product that takes them, or of lanes of bytes.
double tiles_gemm_cost(const GemmParams& params, const MatrixTiles& tiles);

/// For a product that takes them, or one of lanes of bytes of several rows.
std::unique_ptr<Gemm> create_tiles_gemm(const GemmParams& params, const MatrixTiles& tiles,
                                        const float* constant, const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_TILES_H_
