// Products in registers that hold whole matrices (AMX of Intel's servers, from Sapphire Rapids on): of
// bfloat16 at sixteen times the rate of multiply-adds, of bytes at eight times that of vectors of bytes.
//
// A float is a sum of parts of 8 bits each, the first ones first. Of two parts, three products (0 x 0, 0 x 1,
// 1 x 0) make one of floats: an operand is off by 2^-15.5 of its size at most, and what 1 x 1 would add is
// 2^-16 of a product at most; in practice sums are off by 5e-6 relative L2. Of three parts, which hold all
// bits, it takes six (1 x 1, 0 x 2 and 2 x 0, too) to be as near as multiply-adds are. Sums are f32. What is
// infinite or above 3.3895e38 makes NaN, and what is below 1.2e-38 counts as 0.
//
// Bytes come in lanes of integer_kernels.h, which are what the comments below call a float, a term, and its
// only part: they are moved as they are. Those that are placed are unsigned, packed ones signed, and sums are
// integers. Internal to kernels/.
#ifndef KERNELS_MATMUL_MATRIX_TILES_H_
#define KERNELS_MATMUL_MATRIX_TILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// Of gemms and convolutions.
inline constexpr std::string_view kMatrixTiles = "matrix_tiles";
/// Of products and convolutions of bytes.
inline constexpr std::string_view kIntegerTiles = "integer_tiles";

/// What a block of results sums: `steps` times step_terms terms. Sizes and strides are in floats; what they
/// count are pairs of parts, or lanes.
struct TileSum {
  std::size_t steps = 0;
  const float* packed = nullptr;  ///< a panel of the operand that is known
  /// Part 0 of the other operand's first tile at step s is at placed[offsets[s]].
  const float* placed = nullptr;
  const std::int32_t* offsets = nullptr;
  std::size_t placed_stride = 0;  ///< between rows of a tile: those of the operand, or pairs of terms
  std::size_t placed_part = 0;    ///< from a part to the next
  std::size_t placed_next = 0;    ///< to the next tile
  /// Memory that will be read soon, on its way to the second-level cache: see fetch_share.
  const float* fetch = nullptr;
  std::size_t fetch_streams = 0;
  std::size_t fetch_lines = 0;  ///< of each stream per step

  /// Has the `part`-th of `parts` shares of `floats` from `from` on fetched; nothing from nullptr. A single
  /// stream would be too slow, as hardware looks only so far ahead in each; so it becomes up to eight, side
  /// by side.
  void fetch_share(const float* from, std::size_t floats, std::size_t part, std::size_t parts) {
    constexpr std::size_t kMostStreams = 8;
    if (from == nullptr) return;
    const std::size_t share = round_up_to_line(divide_up(floats, parts));
    fetch = from + part * share;
    const std::size_t lines = divide_up(share / kFloatsPerLine, steps);
    fetch_lines = divide_up(lines, kMostStreams);
    fetch_streams = fetch_lines == 0 ? 0 : divide_up(lines, fetch_lines);
  }
};

struct MatrixTiles {
  static constexpr std::size_t kSize = 16;  ///< rows and columns of one
  static constexpr std::size_t kMost = 2;   ///< of a block, in each direction
  /// Floats that a tile sums; they are pairs: (0, 16), (1, 17), ...
  static constexpr std::size_t kStepTerms = 32;
  static constexpr std::size_t kFloats = 256;  ///< of a tile
  /// out[r * stride + c] (+)= the sum, for all rows and columns of the tiles.
  using Multiply = void (*)(const TileSum& sum, float* out, std::size_t stride, bool accumulate);

  std::size_t step_terms = 0;  ///< kStepTerms floats, or as many lanes as a tile has columns
  std::size_t parts = 0;       ///< of a float
  std::size_t products = 0;    ///< that make one of floats

  /// Of a step of a packed panel: part 0 of all tiles, then part 1, ...
  [[nodiscard]] std::size_t step_floats(std::size_t tiles) const { return parts * tiles * kFloats; }
  /// Of a column of a step that is a line.
  [[nodiscard]] std::size_t line_floats() const { return parts * kSize; }

  /// To be called before and after products by the thread that makes them.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  /// [row tiles - 1][column tiles - 1]; rows are placed and columns packed, or, of floats only, the other way
  /// round.
  Multiply multiply_placed_rows[kMost][kMost] = {};
  Multiply multiply_placed_columns[kMost][kMost] = {};

  /// One step of a panel of `tiles` tiles of rows: `terms` of each of `rows`, row_stride apart. Zeros for
  /// what there is not.
  void (*split_rows)(const float* from, std::size_t row_stride, std::size_t rows, std::size_t terms,
                     std::size_t tiles, float* to) = nullptr;
  /// `terms` lines of `columns` floats, `stride` apart, as a step of columns: pairs `to_stride` apart, zeros
  /// up to a multiple of kSize columns, parts `to_part` apart.
  void (*split_columns)(const float* from, std::size_t stride, std::size_t terms, std::size_t columns,
                        float* to, std::size_t to_stride, std::size_t to_part) = nullptr;
  /// The same lines as rows, one for each column, of all parts. Up to kSize columns more are read and
  /// written; terms that there are not are the last one again.
  void (*split_lines)(const float* from, std::size_t stride, std::size_t terms, std::size_t columns,
                      float* to) = nullptr;
  /// Of bytes, in place of that: rows of up to kSize lanes, `to_stride` apart, and nothing but those is
  /// written.
  void (*turn_lines)(const float* from, std::size_t stride, std::size_t lanes, std::size_t columns, float* to,
                     std::size_t to_stride) = nullptr;
  /// The same for lanes of bytes that are yet to be joined, four rows to each: 4 * kSize of them, all of
  /// which are read, `columns` long.
  void (*turn_bytes)(const std::uint8_t* const* rows, std::size_t lanes, std::size_t columns, float* to,
                     std::size_t to_stride) = nullptr;
  using Finish = void (*)(const float* from, std::size_t stride, std::size_t rows, const Tile& tile);
  /// out(r, c) = clamp(from[r * stride + c] * column_scale + biases + residual) for `rows` and the columns of
  /// the tile; scales are for sums of bytes only.
  Finish finish = nullptr;
  /// The same for results, which are floats, of either: without scales.
  Finish move = nullptr;
  /// Of bytes, Tile::levels: those of sums * column_scale + column_bias, which are there and fit 32 bits
  /// (OwnedEpilogue::steps_fit). Columns are levels_stride apart, levels of rows lie one behind the other.
  Finish store_levels = nullptr;
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

/// From a pair of terms to the next, for so many positions: whole lines, an odd number, so that those of a
/// tile meet in no set of a cache.
inline std::size_t spread_pairs(std::size_t positions) {
  return (divide_up(positions, TilePanels::kWidth) * TilePanels::kWidth / kFloatsPerLine | 1) *
         kFloatsPerLine;
}

/// One step of a packed panel of columns from `terms` lines, `stride` apart.
inline void split_panel(const MatrixTiles& tiles, const float* from, std::size_t stride, std::size_t terms,
                        std::size_t columns, float* packed) {
  constexpr std::size_t kSize = MatrixTiles::kSize;
  const std::size_t part = divide_up(columns, kSize) * MatrixTiles::kFloats;
  for (std::size_t column = 0; column < columns; column += kSize, packed += MatrixTiles::kFloats)
    tiles.split_columns(from + column, stride, terms, std::min(kSize, columns - column), packed, kSize, part);
}

/// The same from `columns` rows of `terms` each, `stride` apart. `lines`: room for as much as a panel of
/// floats.
inline void split_turned_panel(const MatrixTiles& tiles, const GemmKernels& kernels, const float* from,
                               std::size_t stride, std::size_t terms, std::size_t columns, float* lines,
                               float* packed) {
  // One panel of two vectors, or of one.
  kernels.pack_columns_transposed(from, stride, terms, columns, lines);
  split_panel(tiles, lines, divide_up(columns, MatrixTiles::kSize) * MatrixTiles::kSize, terms, columns,
              packed);
}

/// A block of terms of a panel of the operand that is known.
struct TilePlace {
  std::size_t depth = 0;
  std::size_t panel = 0;
};

/// How long products go through such panels: blocks of terms are the outer loop, so that those of the other
/// operand stay in a cache, for so many panels as sums are kept of.
struct TileSchedule {
  Split depths;  ///< of steps
  std::size_t most_panels = 1;

  /// Sums of how many of `panels` panels are kept.
  [[nodiscard]] std::size_t kept_panels(std::size_t panels) const {
    return depths.parts > 1 ? std::min(panels, most_panels) : 1;
  }

  /// Calls body(place, kept, next) for panels [begin, end): `kept` numbers the panels whose sums are kept,
  /// `next` is the place after this one, or nullptr.
  template <class Body>
  void for_each(std::size_t begin, std::size_t end, const Body& body) const {
    for (std::size_t first = begin; first < end; first += most_panels) {
      const std::size_t last = std::min(end, first + most_panels);
      for (std::size_t depth = 0; depth < depths.parts; ++depth) {
        for (std::size_t panel = first; panel < last; ++panel) {
          TilePlace next{depth, panel + 1};
          if (next.panel == last && depth + 1 < depths.parts) next = {depth + 1, first};
          if (next.panel == last) next.depth = 0;
          body(TilePlace{depth, panel}, depths.parts > 1 ? panel - first : 0,
               next.panel == end ? nullptr : &next);
        }
      }
    }
  }
  /// Where a place begins in packed panels, in steps of a tile.
  [[nodiscard]] std::size_t offset(const TilePlace& place, const TilePanels& panels) const {
    return place.panel * MatrixTiles::kMost * depths.total +
           depths.begin(place.depth) * panels.tiles(place.panel);
  }
  /// How many steps of a tile it has.
  [[nodiscard]] std::size_t size(const TilePlace& place, const TilePanels& panels) const {
    return depths.size(place.depth) * panels.tiles(place.panel);
  }
  [[nodiscard]] bool is_last(const TilePlace& place) const { return place.depth + 1 == depths.parts; }
};

/// Calls the hook of an epilogue on a whole block of sums, finished in place, where it may; then the block
/// only has to go to the output, as tile_of_results says.
inline bool post_in_place(const MatrixTiles& tiles, const OwnedEpilogue& epilogue, float* sums,
                          std::size_t rows, Tile tile) {
  if (!epilogue.has_post() || epilogue.posts_by_channel() || tile.residual != nullptr) return false;
  tile.out = sums;
  tile.stride = TilePanels::kWidth;
  tiles.finish(sums, TilePanels::kWidth, rows, tile);
  epilogue.post_rows(sums, TilePanels::kWidth, rows, TilePanels::kWidth, 0);
  return true;
}

/// The place of `tile`, for results that are finished.
inline Tile tile_of_results(const Tile& tile) {
  Tile results;
  results.out = tile.out;
  results.stride = tile.stride;
  results.columns = tile.columns;
  results.low = -std::numeric_limits<float>::infinity();
  results.high = std::numeric_limits<float>::infinity();
  return results;
}

/// Those of the SIMD target that dispatch picks now, for floats of two parts, or `whole` ones of three;
/// nullptr: the processor has none, or the system does not let the program use them.
const MatrixTiles* matrix_tiles(bool whole);

/// Those for lanes of bytes; nullptr as above.
const MatrixTiles* byte_tiles();

/// Whether the processor has them, and the system lets the program use them.
bool may_use_matrix_tiles();

/// For tests of what is done without them: whether there may be any.
void allow_matrix_tiles(bool allowed);

/// About the cycles of a product of so many tiles of rows and columns and so many steps, without what packs
/// its operands.
double tile_product_cost(const MatrixTiles& tiles, std::size_t row_tiles, std::size_t column_tiles,
                         std::size_t steps);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_MATRIX_TILES_H_
