// Tests of other algorithms, which matrix tiles would take the place of where the processor has them.
#ifndef TESTS_KERNELS_MATMUL_WITHOUT_MATRIX_TILES_H_
#define TESTS_KERNELS_MATMUL_WITHOUT_MATRIX_TILES_H_

#include "kernels/matmul/matrix_tiles.h"

namespace ir::test {

/// There are none as long as it lives.
class WithoutMatrixTiles {
 public:
  WithoutMatrixTiles() { kernels::allow_matrix_tiles(false); }
  ~WithoutMatrixTiles() { kernels::allow_matrix_tiles(true); }
  WithoutMatrixTiles(const WithoutMatrixTiles&) = delete;
  WithoutMatrixTiles& operator=(const WithoutMatrixTiles&) = delete;
};

}  // namespace ir::test

#endif  // TESTS_KERNELS_MATMUL_WITHOUT_MATRIX_TILES_H_
