// Packing keys and values would cost more than it brings.
#include <algorithm>
#include <limits>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/sequence/attention_products.h"
#include "kernels/sequence/attention_rows.h"

namespace ir::kernels {
namespace {

// So few rows that a product with each key is the fastest.
constexpr std::size_t kRowsOfDots = 2;
// Keys that are gone through at a time: scores are still in the first-level cache when they are turned round.
constexpr std::size_t kKeysAtOnce = 32;
constexpr std::size_t kPanelsAhead = 3;

/// Rows that are read soon: those of one head lie too far apart for the hardware to see what comes next.
void fetch_rows(const MatrixRows& matrix, std::size_t first, std::size_t count) {
  for (std::size_t row = first; row < first + count; ++row)
    fetch_row(matrix.from + row * matrix.stride, matrix.columns);
}

class FewRowProducts final : public AttentionProducts {
 public:
  FewRowProducts(const AttentionParams& params, const GemmKernels& gemm)
      : AttentionProducts(form_of(params, gemm)),
        gemm_(gemm),
        rows_(attention_row_kernels()),
        params_(params) {}

  void pack(const KeyBlock&, float*) const override {}

  void score(const MatrixRows& queries, const KeyBlock& block, float* scratch, float* scores) const override {
    const MatrixRows keys{block.key, params_.key_row, block.seen, params_.depth};
    if (queries.rows > kRowsOfDots) return score_turned(queries, keys, block.behind, scratch, scores);
    Tile tile = tile_of(keys.rows);
    for (std::size_t i = 0; i < queries.rows; ++i) {
      tile.out = scores + i * form().score_stride;
      gemm_.gemv_transposed(queries.from + i * queries.stride, keys.from, keys.stride, keys.columns, tile);
    }
  }

  void weigh(const float* scores, std::size_t rows, const KeyBlock& block, float* scratch,
             const WeighedValues& weighed) const override {
    const MatrixRows weights{scores, form().score_stride, rows, block.seen};
    const MatrixRows values{block.value, params_.value_row, block.seen, params_.value_depth};
    std::size_t column = 0;
    if (rows > kRowsOfDots) column = weigh_columns(weights, values, block.behind, scratch, weighed);
    if (column == values.columns) return;
    Tile tile = tile_of(values.columns - column);
    for (std::size_t i = 0; i < rows; ++i) {
      tile.out = weighed.out + i * weighed.stride + column;
      tile.residual = weighed.add ? tile.out : nullptr;
      gemm_.gemv(weights.from + i * weights.stride, values.from + column, values.stride, values.rows, tile);
    }
  }

 private:
  static Form form_of(const AttentionParams& params, const GemmKernels& gemm) {
    Form form =
        form_in_vectors(params, gemm, PanelSplit(Split(params.queries, gemm.lanes), 1), params.queries);
    if (params.queries > kRowsOfDots)
      form.scratch_floats = round_up_to_line(gemm.lanes * (params.depth + kKeysAtOnce));
    return form;
  }

  static Tile tile_of(std::size_t columns) {
    Tile tile;
    tile.columns = columns;
    tile.low = -std::numeric_limits<float>::infinity();
    tile.high = std::numeric_limits<float>::infinity();
    return tile;
  }

  /// Keys are the rows of a product, queries its columns.
  void score_turned(const MatrixRows& queries, const MatrixRows& keys, std::size_t behind, float* scratch,
                    float* scores) const {
    float* const columns = scratch + gemm_.lanes * kKeysAtOnce;
    gemm_.pack_columns_transposed(queries.from, queries.stride, queries.columns, queries.rows, columns);
    Tile tile;
    tile.stride = tile.columns = gemm_.lanes;
    const std::size_t ahead = kPanelsAhead * gemm_.max_rows;
    for (std::size_t first = 0; first < keys.rows; first += kKeysAtOnce) {
      const std::size_t count = std::min(kKeysAtOnce, keys.rows - first);
      const Split panels = gemm_.row_panels(count);
      PartWalk walk(panels);
      for (std::size_t panel = 0; panel < panels.parts; ++panel, walk.next()) {
        const std::size_t key = first + walk.begin();
        const std::size_t left = keys.rows + behind - key;
        if (left > ahead) fetch_rows(keys, key + ahead, std::min(walk.size(), left - ahead));
        tile.out = scratch + walk.begin() * gemm_.lanes;
        gemm_.direct[walk.size() - 1][0](keys.columns, keys.from + key * keys.stride, keys.stride, columns,
                                         tile);
      }
      rows_.transpose(scratch, gemm_.lanes, count, queries.rows, scores + first, form().score_stride);
    }
  }

  /// Columns of whole vectors only; returns how many these are.
  std::size_t weigh_columns(const MatrixRows& weights, const MatrixRows& values, std::size_t behind,
                            float* scratch, const WeighedValues& weighed) const {
    const std::size_t whole = values.columns / gemm_.lanes * gemm_.lanes;
    const Split row_panels = gemm_.row_panels(weights.rows);
    const Split column_panels = gemm_.column_panels(whole);
    Tile tile;
    tile.stride = weighed.stride;
    for (std::size_t first = 0; first < values.rows; first += kKeysAtOnce) {
      const std::size_t count = std::min(kKeysAtOnce, values.rows - first);
      const std::size_t next = first + count;
      fetch_rows(values, next, std::min(count, values.rows + behind - next));
      tile.accumulate = weighed.add || first > 0;
      gemm_.pack_rows(weights.from + first, weights.stride, 1, count, row_panels, scratch);
      for (std::size_t panel = 0; panel < row_panels.parts; ++panel) {
        const std::size_t row = row_panels.begin(panel);
        for (std::size_t strip = 0; strip < column_panels.parts; ++strip) {
          const std::size_t column = column_panels.begin(strip) * gemm_.lanes;
          const std::size_t vectors = column_panels.size(strip);
          tile.columns = vectors * gemm_.lanes;
          tile.out = weighed.out + row * weighed.stride + column;
          gemm_.direct_columns[row_panels.size(panel) - 1][vectors - 1](
              count, scratch + row * count, values.stride, values.from + first * values.stride + column,
              tile);
        }
      }
    }
    return whole;
  }

  const GemmKernels& gemm_;
  const AttentionRowKernels& rows_;
  const AttentionParams& params_;
};

}  // namespace

std::unique_ptr<AttentionProducts> create_few_row_products(const AttentionParams& params) {
  const GemmKernels& gemm = gemm_kernels();
  const bool are_few = params.queries <= gemm.lanes && !params.key_transposed && !params.value_transposed;
  return are_few ? std::make_unique<FewRowProducts>(params, gemm) : nullptr;
}

}  // namespace ir::kernels
