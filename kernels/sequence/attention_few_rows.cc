#include "kernels/sequence/attention_few_rows.h"

#include <algorithm>

#include "kernels/base/fetch.h"

namespace ir::kernels {
namespace {

// Keys that are gone through at a time: scores are still in the first-level cache when they are turned round.
constexpr std::size_t kKeysAtOnce = 32;
constexpr std::size_t kPanelsAhead = 3;

/// Rows that are read soon: those of one head lie too far apart for the hardware to see what comes next.
void fetch_rows(const MatrixRows& matrix, std::size_t first, std::size_t count) {
  for (std::size_t row = first; row < first + count; ++row)
    fetch_row(matrix.from + row * matrix.stride, matrix.columns);
}

}  // namespace

std::size_t few_rows_scratch(const GemmKernels& gemm, std::size_t depth) {
  return gemm.lanes * (depth + kKeysAtOnce);
}

void score_few_rows(const GemmKernels& gemm, const AttentionRowKernels& kernels, const MatrixRows& queries,
                    const MatrixRows& keys, std::size_t more, float* scratch, float* scores,
                    std::size_t stride) {
  // Keys are the rows of a product, queries its columns.
  float* const columns = scratch + gemm.lanes * kKeysAtOnce;
  gemm.pack_columns_transposed(queries.from, queries.stride, queries.columns, queries.rows, columns);
  Tile tile;
  tile.stride = tile.columns = gemm.lanes;
  const std::size_t ahead = kPanelsAhead * gemm.max_rows;
  for (std::size_t first = 0; first < keys.rows; first += kKeysAtOnce) {
    const std::size_t count = std::min(kKeysAtOnce, keys.rows - first);
    const Split panels = gemm.row_panels(count);
    PartWalk walk(panels);
    for (std::size_t panel = 0; panel < panels.parts; ++panel, walk.next()) {
      const std::size_t key = first + walk.begin();
      const std::size_t behind = keys.rows + more - key;
      if (behind > ahead) fetch_rows(keys, key + ahead, std::min(walk.size(), behind - ahead));
      tile.out = scratch + walk.begin() * gemm.lanes;
      gemm.direct[walk.size() - 1][0](keys.columns, keys.from + key * keys.stride, keys.stride, columns,
                                      tile);
    }
    kernels.transpose(scratch, gemm.lanes, count, queries.rows, scores + first, stride);
  }
}

std::size_t weigh_few_rows(const GemmKernels& gemm, const MatrixRows& weights, const MatrixRows& values,
                           std::size_t more, float* scratch, float* out, std::size_t stride, bool add) {
  const std::size_t whole = values.columns / gemm.lanes * gemm.lanes;
  const Split row_panels = gemm.row_panels(weights.rows);
  const Split column_panels = gemm.column_panels(whole);
  Tile tile;
  tile.stride = stride;
  for (std::size_t first = 0; first < values.rows; first += kKeysAtOnce) {
    const std::size_t count = std::min(kKeysAtOnce, values.rows - first);
    const std::size_t next = first + count;
    fetch_rows(values, next, std::min(count, values.rows + more - next));
    tile.accumulate = add || first > 0;
    gemm.pack_rows(weights.from + first, weights.stride, 1, count, row_panels, scratch);
    for (std::size_t panel = 0; panel < row_panels.parts; ++panel) {
      const std::size_t row = row_panels.begin(panel);
      for (std::size_t strip = 0; strip < column_panels.parts; ++strip) {
        const std::size_t column = column_panels.begin(strip) * gemm.lanes;
        const std::size_t vectors = column_panels.size(strip);
        tile.columns = vectors * gemm.lanes;
        tile.out = out + row * stride + column;
        gemm.direct_columns[row_panels.size(panel) - 1][vectors - 1](
            count, scratch + row * count, values.stride, values.from + first * values.stride + column, tile);
      }
    }
  }
  return whole;
}

}  // namespace ir::kernels
