// Products in registers that hold whole matrices (AMX of Intel's servers, from Sapphire Rapids on): sixteen
// times the rate of multiply-adds, for bfloat16 only. A float is the sum of two of these but for the last 8
// of its 24 bits, rounded, so three products of halves (upper x upper, upper x lower, lower x upper) make one
// of floats: an operand is off by 2^-18 of its size at most and what the product of the lower halves would
// add by 2^-18, in practice 2e-6 relative L2. Sums are f32. An infinite operand makes NaN; so does one
// above 3.3895e38, and what is below 1.2e-38 counts as 0. Internal to kernels/.
#ifndef KERNELS_MATRIX_TILES_H_
#define KERNELS_MATRIX_TILES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/gemm_kernels.h"

namespace ir::kernels {

/// What a block of results sums: `steps` times kStepTerms terms. Sizes and strides are in floats; what they
/// count are pairs of halves.
struct TileSum {
  std::size_t steps = 0;
  const float* left = nullptr;            ///< a packed panel of rows
  const float* right = nullptr;           ///< columns of the step's upper halves from offsets[step] on
  const std::int32_t* offsets = nullptr;  ///< [steps]
  std::size_t right_stride = 0;           ///< between pairs of terms
  std::size_t right_lower = 0;            ///< from upper halves to lower ones
  /// Memory that will be read soon: `fetch_step` floats of it per step come into the second-level cache.
  const float* fetch = nullptr;
  std::size_t fetch_step = 0;
};

struct MatrixTiles {
  static constexpr std::size_t kSize = 16;  ///< rows and columns of one
  static constexpr std::size_t kMost = 2;   ///< of a block, in each direction
  /// Terms that a tile sums; they are pairs: (0, 16), (1, 17), ...
  static constexpr std::size_t kStepTerms = 32;
  /// Of a step of a panel of rows or columns: upper halves of all tiles, then lower ones.
  static constexpr std::size_t step_floats(std::size_t tiles) { return tiles * kSize * kStepTerms; }

  /// To be called before and after products by the thread that makes them.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  /// [row tiles - 1][column tiles - 1]: out[r * stride + c] (+)= the sum, for all rows and columns of the
  /// tiles. Neighbouring tiles of columns lie side by side.
  void (*multiply[kMost][kMost])(const TileSum& sum, float* out, std::size_t stride, bool accumulate) = {};

  /// One step of a panel of rows: `terms` of each of `rows`, row_stride apart. Zeros for what there is not.
  void (*split_rows)(const float* from, std::size_t row_stride, std::size_t rows, std::size_t terms,
                     std::size_t tiles, float* to) = nullptr;
  /// `terms` rows of `columns` floats, `stride` apart, as a step of columns: pairs `to_stride` apart, zeros
  /// up to a multiple of kSize columns, upper halves at `to`, lower ones `to_lower` behind.
  void (*split_columns)(const float* from, std::size_t stride, std::size_t terms, std::size_t columns,
                        float* to, std::size_t to_stride, std::size_t to_lower) = nullptr;
  /// out(r, c) = clamp(from[r * stride + c] + biases + residual) for `rows` and the columns of the tile.
  void (*finish)(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) = nullptr;
};

/// Panels of rows or columns: as few as hold all, of two tiles but for the last one.
class TilePanels {
 public:
  explicit TilePanels(std::size_t count) : count_(count) {}
  static constexpr std::size_t kWidth = MatrixTiles::kMost * MatrixTiles::kSize;

  [[nodiscard]] std::size_t count() const { return divide_up(count_, kWidth); }
  [[nodiscard]] std::size_t size(std::size_t panel) const {
    return std::min(kWidth, count_ - panel * kWidth);
  }
  [[nodiscard]] std::size_t tiles(std::size_t panel) const {
    return divide_up(size(panel), MatrixTiles::kSize);
  }
  /// All of them, in tiles.
  [[nodiscard]] std::size_t tiles() const { return divide_up(count_, MatrixTiles::kSize); }

 private:
  std::size_t count_;
};

/// Those of the SIMD target that dispatch picks now; nullptr: the processor has none, or the system does not
/// let the program use them.
const MatrixTiles* matrix_tiles();

/// About the cycles of a product of so many tiles of rows and columns and so many steps, without what packs
/// its operands.
double tile_product_cost(std::size_t row_tiles, std::size_t column_tiles, std::size_t steps);

}  // namespace ir::kernels

#endif  // KERNELS_MATRIX_TILES_H_
