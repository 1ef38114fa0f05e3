// Keys and values are packed for register tiles of vectors.
#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/sequence/attention_products.h"

namespace ir::kernels {
namespace {

class VectorProducts final : public AttentionProducts {
 public:
  VectorProducts(const AttentionParams& params, const GemmKernels& gemm)
      : AttentionProducts(form_of(params, gemm)), gemm_(gemm), params_(params) {
    value_offset_ = key_floats(params, form().score_stride);
  }

  void pack(const KeyBlock& block, float* scratch) const override {
    if (params_.key_transposed) {
      gemm_.pack_columns(block.key, params_.key_row, params_.depth, block.keys, scratch);
    } else {
      gemm_.pack_columns_transposed(block.key, params_.key_row, params_.depth, block.keys, scratch);
    }
    float* const values = scratch + value_offset_;
    if (params_.value_transposed) {
      gemm_.pack_columns_transposed(block.value, params_.value_row, block.keys, params_.value_depth, values);
    } else {
      gemm_.pack_columns(block.value, params_.value_row, block.keys, params_.value_depth, values);
    }
  }

  void score(const MatrixRows& queries, const KeyBlock& block, float* scratch, float* scores) const override {
    Tile tile;
    tile.out = scores;
    tile.stride = form().score_stride;
    multiply(queries, {scratch, params_.depth, block.keys, block.seen}, tile);
  }

  void weigh(const float* scores, std::size_t rows, const KeyBlock& block, float* scratch,
             const WeighedValues& weighed) const override {
    Tile tile;
    tile.out = weighed.out;
    tile.stride = weighed.stride;
    tile.accumulate = weighed.add;
    multiply({scores, form().score_stride, rows, block.seen},
             {scratch + value_offset_, block.keys, params_.value_depth, params_.value_depth}, tile);
  }

 private:
  /// Packed panels of columns.
  struct Columns {
    const float* packed;
    std::size_t depth;
    std::size_t columns;
    std::size_t wanted;  ///< the first ones
  };

  static Form form_of(const AttentionParams& params, const GemmKernels& gemm) {
    Form form =
        form_in_vectors(params, gemm, PanelSplit(gemm.row_panels(params.queries), kBlockRows / gemm.max_rows),
                        std::min(params.queries, kBlockRows));
    form.scratch_floats = key_floats(params, form.score_stride) +
                          round_up_to_line(form.score_stride * gemm.padded(params.value_depth));
    form.packs = true;
    return form;
  }
  static std::size_t key_floats(const AttentionParams& params, std::size_t padded_keys) {
    return round_up_to_line(padded_keys * params.depth);
  }

  /// Rows, where they lie, by columns.
  void multiply(const MatrixRows& rows, const Columns& columns, Tile tile) const {
    const Split row_panels = gemm_.row_panels(rows.rows);
    const Split column_panels = gemm_.column_panels(columns.columns);
    const PartWalk first_rows(row_panels);
    PartWalk vectors(column_panels);
    float* const out = tile.out;
    for (std::size_t panel = 0; panel < column_panels.parts; ++panel, vectors.next()) {
      const std::size_t first = vectors.begin() * gemm_.lanes;
      if (first >= columns.wanted) break;
      tile.columns = std::min(vectors.size() * gemm_.lanes, columns.columns - first);
      PartWalk panel_rows = first_rows;
      for (std::size_t part = 0; part < row_panels.parts; ++part, panel_rows.next()) {
        const std::size_t row = panel_rows.begin();
        tile.out = out + row * tile.stride + first;
        gemm_.direct[panel_rows.size() - 1][vectors.size() - 1](rows.columns, rows.from + row * rows.stride,
                                                                rows.stride,
                                                                columns.packed + first * columns.depth, tile);
      }
    }
  }

  const GemmKernels& gemm_;
  const AttentionParams& params_;
  std::size_t value_offset_;
};

}  // namespace

AttentionProducts::Form AttentionProducts::form_in_vectors(const AttentionParams& params,
                                                           const GemmKernels& kernels,
                                                           const PanelSplit& row_blocks,
                                                           std::size_t most_rows) {
  // Panels of values are narrow, so that more keys fit the first-level cache than GemmKernels says.
  const std::size_t most_keys = 2 * kernels.block_depth;
  Form form{"tiled", row_blocks, PanelSplit(Split(params.keys, 1), most_keys)};
  form.score_stride = kernels.padded(Split(params.keys, most_keys).largest());
  form.score_floats = round_up_to_line(most_rows * form.score_stride);
  form.pair_cost = (params.depth + params.value_depth) / kernels.lanes + 4;
  return form;
}

std::unique_ptr<AttentionProducts> create_vector_products(const AttentionParams& params) {
  return std::make_unique<VectorProducts>(params, gemm_kernels());
}

}  // namespace ir::kernels
