// The register tiles of a direct convolution: columns are never packed, vectors of neighbouring outputs are
// read where the image is staged, or else single samples, for vectors of output channels. Internal to
// kernels/.
#ifndef KERNELS_CONVOLUTION_DIRECT_KERNELS_H_
#define KERNELS_CONVOLUTION_DIRECT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/gemm_kernels.h"
#include "kernels/weights/integer_weights.h"

namespace ir::kernels {

/// One vector of outputs. It may go on in the next row: what its lanes find between the rows is left out when
/// it is stored.
struct OutputVector {
  std::int32_t from = 0;   ///< where its first lane begins in the staged image
  std::int32_t to = 0;     ///< in the output: `count` neighbours from here on
  std::int32_t count = 0;  ///< outputs in it, up to a vector
  std::int32_t order = 0;  ///< which table of lanes to keep it has; kAllLanes: the first ones are kept

  static constexpr std::int32_t kAllLanes = -1;
};

/// What the tiles of a panel of output channels sum.
struct DirectSum {
  std::size_t depth = 0;
  const float* weights = nullptr;         ///< [depth][rows of the panel], or its channels in whole vectors
  const std::int32_t* offsets = nullptr;  ///< [depth], from where a vector begins
  const float* image = nullptr;
  const std::int32_t* orders = nullptr;  ///< tables of lanes, [][lanes]
  /// Memory that will be read soon: `fetch_step` floats of it per term come into the second-level cache while
  /// the tile is summed.
  const float* fetch = nullptr;
  std::size_t fetch_step = 0;
};

struct DirectKernels {
  static constexpr std::size_t kRowsLimit = 8;
  static constexpr std::size_t kVectorsLimit = 8;

  /// tile.out(r, vectors[v].to + i) = clamp(sum over k of weights[k][r] * image[vectors[v].from + offsets[k]
  /// + lane of output i] + row_bias[r] + residual, low, high). tile.columns, accumulate, finish and
  /// column_bias are not looked at. May read a vector from each address, whatever its count.
  using Multiply = void (*)(const DirectSum& sum, const OutputVector* vectors, const Tile& tile);

  /// out[p * stride + c] = sum over k of image[positions[p] + offsets[k]] * weights[k][c], added to what is
  /// there if it is to `accumulate`. For the positions and the vectors of a tile; nothing is clamped.
  using MultiplyChannels = void (*)(const DirectSum& sum, const std::int32_t* positions, float* out,
                                    std::size_t stride, bool accumulate);

  /// Tiles of one vector of channels, and of two.
  static constexpr std::size_t kChannelVectors = 2;
  /// Upper bound of `positions`.
  static constexpr std::size_t kPositionsLimit = 12;

  std::size_t max_rows = 0;
  /// Vectors of a tile of so many rows, less one.
  std::size_t max_vectors[kRowsLimit] = {};
  /// [rows - 1][vectors - 1]
  Multiply multiply[kRowsLimit][kVectorsLimit] = {};
  /// [vectors - 1]; `positions` are those of a tile. nullptr: there is no such tile, as for integers.
  MultiplyChannels channels[kChannelVectors] = {};
  std::size_t positions[kChannelVectors] = {};

  [[nodiscard]] Split row_panels(std::size_t rows) const { return {rows, max_rows}; }
  /// Vectors of the tiles of these panels.
  [[nodiscard]] std::size_t tile_vectors(const Split& panels) const {
    return panels.parts == 0 ? 1 : max_vectors[panels.largest() - 1];
  }
};

/// Those of the SIMD target that dispatch picks now.
const DirectKernels& direct_kernels();
/// The same for lanes of integers that gemm_integer_kernels() knows, of which those of weights are signed:
/// Tile::row_scale counts.
const DirectKernels& direct_kernels_of(LaneForm form);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_DIRECT_KERNELS_H_
