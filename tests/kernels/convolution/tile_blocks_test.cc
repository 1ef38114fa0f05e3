// What workers share of a convolution in matrix tiles: on any machine, it multiplies nothing.
#include "kernels/convolution/tile_blocks.h"

#include <cstddef>

#include "kernels/convolution/convolution_geometry.h"
#include "tests/catch.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using test_convolution::plane;

/// Blocks for 3 x 3 taps of floats in two parts.
TileBlocks blocks(std::size_t channels, std::size_t side, std::size_t workers) {
  MatrixTiles tiles;
  tiles.step_terms = MatrixTiles::kStepTerms;
  tiles.parts = 2;
  tiles.products = 3;
  ConvolutionGeometry geometry(plane(1, 1, channels, channels, side, side, 3, 1, 1));
  geometry.workers = workers;
  constexpr std::size_t kMostVectors = 64;
  const std::size_t steps = divide_up(channels, MatrixTiles::kStepTerms) * geometry.taps();
  return {geometry, kMostVectors, {tiles, steps, 1.0}};
}

TEST_CASE("Convolutions in tiles are shared where there is enough to do") {
  for (const std::size_t workers : {2, 3, 16}) {
    const TileBlocks large = blocks(256, 28, workers);
    CHECK(large.workers == workers);
    CHECK(large.tasks() >= workers);
  }
  // Rather few workers than many that have next to nothing, or one where two would be no faster.
  const TileBlocks small = blocks(32, 7, 2);
  CHECK(small.workers == 1);
  CHECK(small.tasks() == 1);
}

TEST_CASE("What is not shared is not cut") {
  const TileBlocks small = blocks(32, 10, 2);
  const TileBlocks alone = blocks(32, 10, 1);
  CHECK(small.workers == 1);
  CHECK(small.count == alone.count);
  CHECK(small.shares.parts == alone.shares.parts);
}

}  // namespace
}  // namespace ir::kernels
