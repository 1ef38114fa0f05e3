// Queries and weights are split into parts of floats where they are multiplied, keys and values where they
// are packed. Scores keep all bits: what they are off by is what the logarithms of weights are off by,
// however large they are.
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/matmul/matrix_tiles.h"
#include "kernels/sequence/attention_products.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kSize = MatrixTiles::kSize;
constexpr std::size_t kWidth = TilePanels::kWidth;
// Keys of a block: scores of as many, and the keys and values, stay in the second-level cache.
constexpr std::size_t kMostKeys = 512;

std::size_t round_up(std::size_t count, std::size_t unit) { return divide_up(count, unit) * unit; }

/// Rows by columns, both of which are known only when they are multiplied.
class SplitProduct {
 public:
  static constexpr std::size_t kMostSteps = 128;
  static constexpr std::size_t kMostTerms = kMostSteps * MatrixTiles::kStepTerms;

  explicit SplitProduct(const MatrixTiles& tiles) : tiles_(tiles), kernels_(gemm_kernels()) {
    for (std::size_t step = 0; step < kMostSteps; ++step) {
      for (std::size_t count = 1; count <= MatrixTiles::kMost; ++count)
        offsets_[count - 1][step] = static_cast<std::int32_t>(step * tiles_.step_floats(count));
    }
  }

  /// Columns to be packed, in lines of terms `stride` apart, or as rows of their own.
  struct Columns {
    const float* from;
    std::size_t stride;
    std::size_t terms;
    std::size_t columns;
    bool are_rows;
  };
  struct PackedColumns {
    const float* packed;
    std::size_t terms;
    std::size_t columns;
    std::size_t wanted;  ///< the first ones
  };
  /// A panel of rows by a panel of columns.
  struct Pair {
    std::size_t row = 0;
    std::size_t column = 0;
    std::size_t rows = 0;
    std::size_t columns = 0;
    TileSum sum;
    MatrixTiles::Multiply product = nullptr;

    /// To out[r * stride + c], for all rows and columns of its tiles.
    void multiply(float* out, std::size_t stride, bool add) const { product(sum, out, stride, add); }
  };

  /// Of rows that are split, or packed columns.
  [[nodiscard]] std::size_t floats(std::size_t count, std::size_t terms) const {
    return divide_up(count, kSize) * steps(terms) * tiles_.step_floats(1);
  }

  /// About the cycles of a product of as many.
  [[nodiscard]] double cost(std::size_t rows, std::size_t columns, std::size_t terms) const {
    // Of a float of either: that it is split, or packed.
    constexpr double kSplitting = 0.4;
    constexpr double kPacking = 0.8;
    return tile_product_cost(tiles_, TilePanels(rows).tiles(), TilePanels(columns).tiles(), steps(terms)) +
           kSplitting * static_cast<double>(floats(rows, terms)) +
           kPacking * static_cast<double>(floats(columns, terms));
  }

  /// [panel][step]. `lines`: as MatrixTiles says.
  void pack(const Columns& columns, float* lines, float* to) const {
    const TilePanels panels(columns.columns);
    for (std::size_t panel = 0; panel < panels.count(); ++panel) {
      const std::size_t column = panel * kWidth;
      const std::size_t width = panels.size(panel);
      for (std::size_t term = 0; term < columns.terms; term += tiles_.step_terms) {
        const std::size_t terms = std::min(tiles_.step_terms, columns.terms - term);
        if (columns.are_rows) {
          split_turned_panel(tiles_, kernels_, columns.from + column * columns.stride + term, columns.stride,
                             terms, width, lines, to);
        } else {
          split_panel(tiles_, columns.from + term * columns.stride + column, columns.stride, terms, width,
                      to);
        }
        to += tiles_.step_floats(panels.tiles(panel));
      }
    }
  }

  /// [panel][step].
  void split(const MatrixRows& rows, float* to) const {
    const TilePanels panels(rows.rows);
    for (std::size_t panel = 0; panel < panels.count(); ++panel) {
      const float* const from = rows.from + panel * kWidth * rows.stride;
      const std::size_t tiles = panels.tiles(panel);
      for (std::size_t term = 0; term < rows.columns; term += tiles_.step_terms) {
        tiles_.split_rows(from + term, rows.stride, panels.size(panel),
                          std::min(tiles_.step_terms, rows.columns - term), tiles, to);
        to += tiles_.step_floats(tiles);
      }
    }
  }

  /// Calls body(pair) for `count` rows of `terms`, which are the first ones of the columns'.
  template <class Body>
  void for_each_pair(const float* split, std::size_t count, std::size_t terms, const PackedColumns& columns,
                     const Body& body) const {
    const TilePanels row_panels(count);
    const TilePanels column_panels(columns.columns);
    Pair pair;
    pair.sum.steps = steps(terms);
    pair.sum.placed_stride = kSize;
    pair.sum.placed_next = MatrixTiles::kFloats;
    for (std::size_t panel = 0; panel * kWidth < columns.wanted; ++panel) {
      pair.column = panel * kWidth;
      pair.columns = column_panels.size(panel);
      pair.sum.packed = columns.packed + floats(pair.column, columns.terms);
      pair.sum.placed = split;
      for (std::size_t part = 0; part < row_panels.count(); ++part) {
        const std::size_t tiles = row_panels.tiles(part);
        pair.row = part * kWidth;
        pair.rows = row_panels.size(part);
        pair.sum.offsets = offsets_[tiles - 1].data();
        pair.sum.placed_part = tiles * MatrixTiles::kFloats;
        pair.product = tiles_.multiply_placed_rows[tiles - 1][column_panels.tiles(panel) - 1];
        body(pair);
        pair.sum.placed += pair.sum.steps * tiles_.step_floats(tiles);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t steps(std::size_t terms) const { return divide_up(terms, tiles_.step_terms); }

  const MatrixTiles& tiles_;
  const GemmKernels& kernels_;
  /// Of steps of a panel of one tile, and of two.
  std::array<std::array<std::int32_t, kMostSteps>, MatrixTiles::kMost> offsets_;
};

class TileProducts final : public AttentionProducts {
 public:
  TileProducts(const AttentionParams& params, const SplitProduct& scores, const SplitProduct& values)
      : TileProducts(params, scores, values, room_of(params, scores, values)) {}

  void begin() const override { tiles_.begin(); }
  void end() const override { tiles_.end(); }

  void pack(const KeyBlock& block, float* scratch) const override {
    float* const lines = scratch + room_.lines;
    scores_.pack({block.key, params_.key_row, params_.depth, block.keys, !params_.key_transposed}, lines,
                 scratch);
    values_.pack({block.value, params_.value_row, block.keys, params_.value_depth, params_.value_transposed},
                 lines, scratch + room_.values);
  }

  void score(const MatrixRows& queries, const KeyBlock& block, float* scratch, float* scores) const override {
    float* const split = scratch + room_.split;
    scores_.split(queries, split);
    const std::size_t stride = form().score_stride;
    scores_.for_each_pair(split, queries.rows, params_.depth,
                          {scratch, params_.depth, block.keys, block.seen},
                          [&](const SplitProduct::Pair& pair) {
                            pair.multiply(scores + pair.row * stride + pair.column, stride, false);
                          });
  }

  void weigh(const float* scores, std::size_t rows, const KeyBlock& block, float* scratch,
             const WeighedValues& weighed) const override {
    float* const split = scratch + room_.split;
    float* const sums = scratch + room_.lines;
    values_.split({scores, form().score_stride, rows, block.seen}, split);
    const auto add_pair = [&](const SplitProduct::Pair& pair) {
      Tile tile;
      tile.out = weighed.out + pair.row * weighed.stride + pair.column;
      tile.stride = weighed.stride;
      tile.columns = pair.columns;
      if (pair.rows % kSize == 0 && pair.columns % kSize == 0)
        return pair.multiply(tile.out, tile.stride, weighed.add);
      pair.multiply(sums, kWidth, false);
      tile = tile_of_results(tile);
      tile.residual = weighed.add ? tile.out : nullptr;
      tiles_.move(sums, kWidth, pair.rows, tile);
    };
    values_.for_each_pair(split, rows, block.seen,
                          {scratch + room_.values, block.keys, params_.value_depth, params_.value_depth},
                          add_pair);
  }

 private:
  /// Keys of the largest block.
  static std::size_t most_keys(const AttentionParams& params) {
    return std::min(round_up(params.keys, kWidth), kMostKeys);
  }

  /// Where the parts of the scratch behind packed keys begin.
  struct Room {
    std::size_t values = 0;
    std::size_t split = 0;
    std::size_t lines = 0;  ///< and sums
    std::size_t end = 0;
  };

  TileProducts(const AttentionParams& params, const SplitProduct& scores, const SplitProduct& values,
               const Room& room)
      : AttentionProducts(form_of(params, room)),
        params_(params),
        scores_(scores),
        values_(values),
        tiles_(*matrix_tiles(params.whole_floats)),
        room_(room) {}

  static Room room_of(const AttentionParams& params, const SplitProduct& scores, const SplitProduct& values) {
    const std::size_t keys = most_keys(params);
    const std::size_t rows = std::min(params.queries, kBlockRows);
    Room room;
    room.values = scores.floats(keys, params.depth);
    room.split = room.values + values.floats(params.value_depth, keys);
    room.lines = room.split + std::max(scores.floats(rows, params.depth), values.floats(rows, keys));
    room.end = room.lines + kWidth * kWidth;
    return room;
  }

  static Form form_of(const AttentionParams& params, const Room& room) {
    const auto blocks = [](std::size_t count, std::size_t unit, std::size_t most) {
      return PanelSplit(Split(round_up(count, unit), unit), most / unit);
    };
    Form form{kMatrixTiles, blocks(params.queries, kWidth, kBlockRows),
              blocks(params.keys, kWidth, kMostKeys)};
    form.score_stride = spread_pairs(most_keys(params));
    form.score_floats = round_up(std::min(params.queries, kBlockRows), kSize) * form.score_stride;
    form.scratch_floats = room.end;
    form.pair_cost = (params.depth + params.value_depth) / 32 + 4;
    form.packs = true;
    return form;
  }

  const AttentionParams& params_;
  SplitProduct scores_;
  SplitProduct values_;
  const MatrixTiles& tiles_;  ///< of values
  Room room_;
};

/// About the cycles of both products, in vectors.
double vectors_cost(const AttentionParams& params) {
  constexpr double kMultiplying = 1.6;  // with what it waits for
  constexpr double kPacking = 0.6;      // a float
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t scores = kernels.product_cost(params.queries, params.keys) * params.depth;
  const std::size_t values = kernels.product_cost(params.queries, params.value_depth) * params.keys;
  return kMultiplying * static_cast<double>(scores + values) +
         kPacking * static_cast<double>(params.keys * (params.depth + params.value_depth));
}

}  // namespace

std::unique_ptr<AttentionProducts> create_tile_products(const AttentionParams& params) {
  const MatrixTiles* const tiles = params.accurate ? nullptr : matrix_tiles(params.whole_floats);
  if (tiles == nullptr || params.queries == 0 || params.keys == 0 || params.value_depth == 0) return nullptr;
  if (params.depth == 0 || params.depth > SplitProduct::kMostTerms) return nullptr;
  const SplitProduct scores(*matrix_tiles(true));
  const SplitProduct values(*tiles);
  const double cost = scores.cost(params.queries, params.keys, params.depth) +
                      values.cost(params.queries, params.value_depth, params.keys);
  if (cost >= vectors_cost(params)) return nullptr;
  return std::make_unique<TileProducts>(params, scores, values);
}

}  // namespace ir::kernels
