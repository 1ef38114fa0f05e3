#include "kernels/matmul/gemm_compressed.h"

#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/gemm_narrow.h"
#include "kernels/matmul/quantised_rows.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/integer_weights.h"
#include "kernels/weights/packed_codes.h"

namespace ir::kernels {
namespace {

/// Panels of weights become floats once, for all rows.
class BlockedCompressedGemm final : public CompressedGemm {
 public:
  BlockedCompressedGemm(std::size_t rows, const CompressedForm& form, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        form_(form),
        epilogue_(epilogue, product_of(rows, form)),
        rows_(kernels_.row_panels(rows)),
        row_blocks_(rows_.parts, divide_up(kBlockRows, kernels_.max_rows)),
        depth_blocks_(divide_up(form.terms, kDepthUnit), kernels_.block_depth / kDepthUnit),
        workers_(static_cast<std::size_t>(thread_slots())),
        column_blocks_(kernels_.column_panels(form.rows), panels_per_block()) {
    const std::size_t depth = std::min(form.terms, depth_blocks_.size(depth_blocks_.parts - 1) * kDepthUnit);
    panel_floats_ = depth * kernels_.max_vectors * kernels_.lanes;
    column_floats_ = depth * std::min(kernels_.padded(form.rows), kernels_.block_vectors * kernels_.lanes);
    workers_ = std::min(workers_, column_blocks_.parts() * row_blocks_.parts);
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * worker_floats()); }

  void run(const float* a, const CompressedRows& weights, const float* residual, float* out,
           std::byte* scratch) const override {
    float* const floats = aligned_scratch(scratch);
    const std::size_t cost = rows_.total * form_.rows * form_.terms /
                                 (column_blocks_.parts() * row_blocks_.parts) / kernels_.lanes +
                             1;
    for_each_group(column_blocks_.parts(), row_blocks_.parts, cost, workers_, [&](const GroupRange& range) {
      multiply({a, weights, epilogue_.residual() ? residual : nullptr, out}, range.group,
               {rows_, row_blocks_.begin(range.first), row_blocks_.begin(range.last), form_.terms},
               floats + range.worker * worker_floats());
    });
  }

 private:
  /// Blocks of depth end where vectors of codes do.
  static constexpr std::size_t kDepthUnit = 32;

  struct Call {
    const float* a;
    const CompressedRows& weights;
    const float* residual;
    float* out;
  };

  [[nodiscard]] std::size_t panels_per_block() const {
    const std::size_t most = kernels_.block_vectors / kernels_.max_vectors;
    const std::size_t share = divide_up(kernels_.column_panels(form_.rows).parts, workers_);
    return rows_.parts > 1 ? most : std::min(most, share);
  }
  [[nodiscard]] std::size_t worker_floats() const {
    return worker_stride(workers_, round_up_to_line(panel_floats_ + column_floats_));
  }

  /// What is decompressed after `panel`: the next columns of the block, from `column` on, or the first ones
  /// of the next terms; no rows at its end.
  [[nodiscard]] CompressedPart next_panel(const CompressedPart& panel, std::size_t column,
                                          std::size_t columns) const {
    const std::size_t width = kernels_.max_vectors * kernels_.lanes;
    const std::size_t row = panel.row + panel.rows;
    const std::size_t end = column + columns;
    if (row < end) return {row, std::min(width, end - row), panel.term, panel.terms};
    const std::size_t term = panel.term + panel.terms;
    const std::size_t terms = std::min(panel.terms, form_.terms - term);
    return {column, terms == 0 ? 0 : std::min(width, columns), term, terms};
  }

  /// A range of rows with one block of columns. Every panel of columns is decompressed once.
  void multiply(const Call& call, std::size_t column_block, const RowRange& rows, float* slot) const {
    const std::size_t column = column_blocks_.begin(column_block) * kernels_.lanes;
    Block block;
    block.columns = std::min(form_.rows, column_blocks_.begin(column_block + 1) * kernels_.lanes) - column;
    block.tile.out = call.out + column;
    block.tile.stride = form_.rows;
    if (call.residual != nullptr) block.tile.residual = call.residual + column;
    epilogue_.set_up(block.tile, BiasAxis::column, 0, column);
    CodesAhead ahead(form_, call.weights);
    for (std::size_t part = 0; part < depth_blocks_.parts; ++part) {
      const std::size_t k = depth_blocks_.begin(part) * kDepthUnit;
      block.depth = std::min(form_.terms, depth_blocks_.begin(part + 1) * kDepthUnit) - k;
      block.tile.accumulate = part > 0;
      block.tile.finish = part + 1 == depth_blocks_.parts;
      const bool once = visits_columns_once(kernels_, rows, block.depth);
      multiply_block(
          kernels_, rows, block, epilogue_,
          [&](const RowPanel& panel) {
            ahead.fetch_share();
            return call.a + panel.row * form_.terms + k;
          },
          [&](std::size_t first, std::size_t count, bool is_new) -> const float* {
            if (is_new) {
              ahead.start(next_panel({column + first, count, k, block.depth}, column, block.columns),
                          rows.last - rows.first);
            }
            float* const packed = slot + panel_floats_ + (once ? 0 : first * block.depth);
            if (is_new) {
              pack_code_floats(form_, call.weights, {column + first, count, k, block.depth}, slot, packed);
            }
            return packed;
          });
    }
  }

  const GemmKernels& kernels_;
  CompressedForm form_;
  OwnedEpilogue epilogue_;
  Split rows_;
  Split row_blocks_;    ///< of panels
  Split depth_blocks_;  ///< of units
  std::size_t workers_;
  PanelSplit column_blocks_;  ///< of vectors
  std::size_t panel_floats_ = 0;
  std::size_t column_floats_ = 0;
};

/// Nothing to multiply: of no terms, what remains is the epilogue.
class EmptyCompressedGemm final : public CompressedGemm {
 public:
  EmptyCompressedGemm(std::size_t rows, const CompressedForm& form, const Epilogue& epilogue)
      : gemm_(rows == 0 || form.rows == 0 ? nullptr
                                          : create_gemm(product_of(rows, form), nullptr, epilogue)) {}

  std::size_t scratch_bytes() const override { return gemm_ == nullptr ? 0 : gemm_->scratch_bytes(); }
  void run(const float* a, const CompressedRows&, const float* residual, float* out,
           std::byte* scratch) const override {
    if (gemm_ != nullptr) gemm_->run(a, nullptr, residual, out, scratch);
  }

 private:
  std::unique_ptr<Gemm> gemm_;
};

}  // namespace

std::unique_ptr<CompressedGemm> create_compressed_gemm(std::size_t rows, const CompressedForm& form,
                                                       const Epilogue& epilogue, std::size_t most_quantised,
                                                       const CompressedOperands& known) {
  if (rows == 0 || form.rows == 0 || form.terms == 0)
    return std::make_unique<EmptyCompressedGemm>(rows, form, epilogue);
  if (takes_narrow_codes(rows, form, known))
    return create_narrow_compressed_gemm(form, known.codes, epilogue);
  const std::size_t group = quantised_group(form, most_quantised);
  // What packing codes takes has to be worth it.
  constexpr std::size_t kFewestPacked = 5;
  if (group != 0 && multiplies_bytes() && rows >= kFewestPacked)
    return create_quantised_gemm(rows, form, group, epilogue);
  const std::size_t dotted = dots_nibbles(form) ? group : 0;
  if (dotted != 0 || rows <= most_arranged_rows(form))
    return create_arranged_gemm(rows, form, dotted, epilogue);
  // With fewer, to split weights into parts takes longer than it saves.
  constexpr std::size_t kFewestOfTiles = 25;
  const MatrixTiles* const tiles = known.accurate ? nullptr : matrix_tiles(known.whole_floats);
  if (tiles != nullptr && rows >= kFewestOfTiles)
    return create_tiles_compressed_gemm(rows, form, *tiles, epilogue);
  return std::make_unique<BlockedCompressedGemm>(rows, form, epilogue);
}

}  // namespace ir::kernels
