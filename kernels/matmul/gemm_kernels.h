// What the blocked loops of gemm, convolution and deconvolution are made of: register tiles and packing, one
// set of function pointers per SIMD target. Internal to kernels/.
//
// A product is cut along k into blocks; within a block, the left operand is read in panels of up to
// `max_rows` rows and the right one in panels of up to `max_vectors` SIMD vectors of columns:
//   packed rows:    [depth][rows of the panel]
//   packed columns: [depth][vectors of the panel * lanes], columns past the end are zero
// Panels of an operand lie one after the other, and are balanced instead of leaving a small rest: 64 rows in
// panels of up to 6 are ten of 5 or 6.
#ifndef KERNELS_MATMUL_GEMM_KERNELS_H_
#define KERNELS_MATMUL_GEMM_KERNELS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/base/divide.h"

namespace ir::kernels {

/// About as many rows make a task: enough to hide the packing of the columns, few enough to feed many
/// threads.
inline constexpr std::size_t kBlockRows = 64;

/// `total` things in as few parts as `most` allows, as equal as can be.
struct Split {
  std::size_t total = 0;
  std::size_t parts = 0;

  Split() = default;
  Split(std::size_t total_things, std::size_t most) : total(total_things), parts(divide_up(total, most)) {}
  [[nodiscard]] std::size_t begin(std::size_t part) const { return divide(total * part, parts); }
  [[nodiscard]] std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }
  [[nodiscard]] std::size_t largest() const { return parts == 0 ? 0 : divide_up(total, parts); }
  /// Which part a thing is in.
  [[nodiscard]] std::size_t part_of(std::size_t thing) const {
    return divide((thing + 1) * parts - 1, total);
  }

  struct Sizes {
    std::size_t size = 0;
    std::size_t parts = 0;
  };
  /// How many parts have which size: there are two sizes at most.
  [[nodiscard]] std::array<Sizes, 2> sizes() const {
    const std::size_t least = parts == 0 ? 0 : divide(total, parts);
    const std::size_t larger = total - least * parts;
    return {Sizes{least, parts - larger}, Sizes{least + 1, larger}};
  }
};

/// The parts of a split in turn, from one of them on. Inner loops go through hundreds, and a division takes
/// as long as a quarter of a small tile.
class PartWalk {
 public:
  explicit PartWalk(const Split& split, std::size_t part = 0)
      : parts_(std::max<std::size_t>(split.parts, 1)),
        least_(divide(split.total, parts_)),
        rest_(split.total - least_ * parts_),
        begin_(part * least_ + divide(part * rest_, parts_)),
        carry_(part * split.total - begin_ * parts_) {}
  [[nodiscard]] std::size_t begin() const { return begin_; }
  [[nodiscard]] std::size_t size() const { return least_ + (carry_ + rest_ >= parts_ ? 1 : 0); }
  void next() {
    begin_ += size();
    carry_ += rest_;
    if (carry_ >= parts_) carry_ -= parts_;
  }

 private:
  std::size_t parts_;
  std::size_t least_;  ///< things of a part; some have one more
  std::size_t rest_;   ///< things that would be left
  std::size_t begin_;
  std::size_t carry_;  ///< of the things before begin(), in units of 1 / parts
};

/// Parts that consist of whole panels, as equal as can be.
class PanelSplit {
 public:
  PanelSplit(const Split& panels, std::size_t most_panels)
      : panels_(panels), parts_(panels.parts, std::max<std::size_t>(most_panels, 1)) {}
  [[nodiscard]] std::size_t parts() const { return parts_.parts; }
  [[nodiscard]] std::size_t begin(std::size_t part) const { return panels_.begin(parts_.begin(part)); }
  [[nodiscard]] std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }

 private:
  Split panels_;
  Split parts_;
};

/// Where a register tile goes, and what happens to it on the way.
struct Tile {
  float* out = nullptr;
  std::size_t stride = 0;   ///< between rows of out and residual
  std::size_t columns = 0;  ///< of the panel that exist
  bool accumulate =
      false;            ///< not the first block of k: add to what is there; else start with bias and residual
  bool finish = false;  ///< the last block of k: clamp
  const float* row_bias = nullptr;
  const float* column_bias = nullptr;
  const float* residual = nullptr;
  /// For integers (only): what 1 is worth in the sums of each row, and of each column; nullptr: 1.
  const float* row_scale = nullptr;
  const float* column_scale = nullptr;
  /// For quads of packed rows (only), by panels of 4 or 8 of these that have scales and biases, without
  /// residual; `low` and `high` are whole numbers from 0 to 255. Not accumulated, four rows become one of
  /// lanes with the bytes nearest to them, in the place of the first ...
  bool joins = false;
  /// ... or those of panels of 8 become bytes here, `levels_stride` apart, in the end. nullptr: not, and
  /// where panels never have as many.
  std::uint8_t* levels = nullptr;
  std::size_t levels_stride = 0;
  float low = 0;
  float high = 0;
  /// A tile of whole vectors, one row behind the other, that belongs to the sums; nullptr: none.
  const float* addend = nullptr;
  /// Not nullptr: columns are what they are minus these, one term behind the other, and are left at
  /// `difference`, which is neither.
  const float* minus = nullptr;
  float* difference = nullptr;
  /// Memory that will be read soon: `fetch_step` floats of it per term come into the second-level cache while
  /// the tile is summed. nullptr: none.
  const float* fetch = nullptr;
  std::size_t fetch_step = 0;
};

/// Where a row of a product lies, in floats from the beginnings of its left operand and of its output.
struct RowPlace {
  std::size_t from = 0;
  std::size_t to = 0;
};

/// What happens to the values of term k, one channel of an image, before they are multiplied:
/// clamp(value * scale[k] + shift[k], low, high), in which a NaN survives.
struct TermMap {
  const float* scale = nullptr;
  const float* shift = nullptr;
  float low = 0;
  float high = 0;
};

/// Part of one vector of columns: lanes from `lane` on (up to the next piece) come from `offset` + lane.
struct Piece {
  std::ptrdiff_t offset = 0;
  std::size_t lane = 0;
};

/// Rows of an image on their way to the staging of a convolution.
struct StagedRows {
  std::size_t count = 0;
  std::size_t from_stride = 0;  ///< between rows
  std::size_t to_stride = 0;
  std::size_t before = 0;
  std::size_t samples = 0;
  std::size_t after = 0;
  std::size_t stride = 1;  ///< between samples
  /// Not 0: the row is what is `before`, samples side by side and what is `after`, an even number in all.
  /// Every second of them goes to `to`, the others so far behind.
  std::size_t pair_stride = 0;
  float padding = 0;  ///< what is before and after
};

/// Channels whose rows are staged alike.
struct StagedChannels {
  std::size_t count = 0;
  std::size_t from_stride = 0;  ///< between channels
  std::size_t to_stride = 0;
};

struct GemmKernels {
  static constexpr std::size_t kRowsLimit = 12;
  static constexpr std::size_t kVectorsLimit = 4;
  /// Upper bound of `lanes`: what code outside of the targets may dimension by.
  static constexpr std::size_t kLanesLimit = 16;
  /// Positions that are turned at a time (finish_transposed).
  static constexpr std::size_t kPlaneLimit = 128;

  using Multiply = void (*)(std::size_t depth, const float* a, std::size_t stride, const float* b,
                            const Tile& tile);

  /// Adds to its output; of `tile`, `out` and what is fetched count.
  using MultiplyPlaced = void (*)(std::size_t depth, const float* a, const RowPlace* rows, const float* b,
                                  const Tile& tile);

  std::size_t lanes = 0;
  std::size_t turns = 1;  ///< that a vector takes in the units of the processor
  std::size_t max_rows = 0;
  std::size_t max_vectors = 0;
  /// Terms that are summed in registers before they go to memory. A panel of columns this deep fits the
  /// first-level cache.
  std::size_t block_depth = 0;
  /// Columns of a block: with block_depth rows of them, they fit the second-level cache.
  std::size_t block_vectors = 0;
  /// [rows - 1][vectors - 1]. `packed`: both operands are packed panels; with a stride, rows lie side by side
  /// as in one, but terms so far apart. `direct`:
  /// a is row-major with `stride` between rows. `direct_columns`: b is, and whole vectors of its rows are
  /// read. `packed` and `direct` know Tile::addend and, as subtracts() says, `packed` Tile::minus.
  Multiply packed[kRowsLimit][kVectorsLimit] = {};
  Multiply direct[kRowsLimit][kVectorsLimit] = {};
  Multiply direct_columns[kRowsLimit][kVectorsLimit] = {};
  /// b is a packed panel; rows of a lie anywhere, and so do those of the output, to which whole vectors are
  /// added.
  MultiplyPlaced placed[kRowsLimit][kVectorsLimit] = {};

  /// Packs rows [0, split.total) x [0, depth) of the left operand (value (r, k) at from[r * row_stride + k *
  /// k_stride]) in the panels of `split`.
  void (*pack_rows)(const float* from, std::size_t row_stride, std::size_t k_stride, std::size_t depth,
                    const Split& split, float* packed) = nullptr;
  /// Packs all panels of a block of `depth` x `columns` from row-major [depth, columns] with `stride` between
  /// rows...
  void (*pack_columns)(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                       float* packed) = nullptr;
  /// ... with a function of each term on the way...
  void (*pack_mapped_columns)(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                              const TermMap& map, float* packed) = nullptr;
  /// ... or from row-major [columns, depth].
  void (*pack_columns_transposed)(const float* from, std::size_t stride, std::size_t depth,
                                  std::size_t columns, float* packed) = nullptr;
  /// Packs one vector of columns for every k in [0, depth) to packed[k * packed_stride]: the lanes of each
  /// piece from from[offsets[k] + piece.offset + lane], zeros from lane `columns` on. Reads up to kLanesLimit
  /// floats before and after those.
  void (*pack_pieces)(const float* from, const std::int32_t* offsets, std::size_t depth, const Piece* pieces,
                      std::size_t piece_count, std::size_t columns, float* packed,
                      std::size_t packed_stride) = nullptr;
  /// The epilogue of a product that was made transposed: out(r, x), for r in [0, rows) and x in [0,
  /// tile.columns), comes from from[x * stride + r].
  void (*finish_transposed)(const float* from, std::size_t stride, std::size_t rows,
                            const Tile& tile) = nullptr;
  /// The function of each term, for rows `stride` apart; nothing past the ends of rows is touched.
  void (*map_rows)(const float* from, std::size_t stride, std::size_t rows, std::size_t columns,
                   const TermMap& map, float* to, std::size_t to_stride) = nullptr;
  /// For each row of each channel: `before` times the padding, from[i * stride] for i in [0, samples),
  /// `after` times the padding; or pairs.
  void (*stage_rows)(const float* from, const StagedRows& rows, const StagedChannels& channels,
                     float* to) = nullptr;

  /// out[0, n) (+)= x[0, k) times row-major B [k, n]: reads B once, in place.
  void (*gemv)(const float* x, const float* b, std::size_t stride, std::size_t k, const Tile& tile) = nullptr;
  /// The same for B stored as [n, k].
  void (*gemv_transposed)(const float* x, const float* b, std::size_t stride, std::size_t k,
                          const Tile& tile) = nullptr;

  /// Whether `packed` for tiles of this size knows Tile::minus.
  [[nodiscard]] bool subtracts(std::size_t rows, std::size_t vectors) const {
    return rows + 1 >= max_rows && vectors == max_vectors;
  }

  /// About the cycles that one term of a tile takes: two multiply-adds or loads in each, and at least the
  /// latency of a multiply-add.
  [[nodiscard]] std::size_t tile_cost(std::size_t rows, std::size_t vectors) const {
    return std::max({turns * rows * vectors, rows + turns * vectors, std::size_t{8}}) / 2;
  }
  /// The same for a whole product.
  [[nodiscard]] std::size_t product_cost(std::size_t rows, std::size_t columns) const {
    std::size_t cost = 0;
    for (const auto& [panel_rows, row_count] : row_panels(rows).sizes()) {
      for (const auto& [panel_vectors, column_count] : column_panels(columns).sizes())
        cost += row_count * column_count * tile_cost(panel_rows, panel_vectors);
    }
    return cost;
  }

  [[nodiscard]] Split row_panels(std::size_t rows) const { return {rows, max_rows}; }
  /// Counts in vectors.
  [[nodiscard]] Split column_panels(std::size_t columns) const {
    return {divide_up(columns, lanes), max_vectors};
  }
  [[nodiscard]] std::size_t padded(std::size_t columns) const { return divide_up(columns, lanes) * lanes; }
};

/// Those of the SIMD target that dispatch picks now.
const GemmKernels& gemm_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_KERNELS_H_
