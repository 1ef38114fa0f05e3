#include "kernels/depthwise/blocked_product.h"

#include <utility>

#include "kernels/base/aligned_floats.h"

namespace ir::kernels {
namespace {

/// What the product of a stage does to its sums. `levels`: these become levels of its quantisation.
OwnedEpilogue epilogue_of(const ConvolutionStage& stage, bool levels) {
  const std::size_t channels = stage.params.out_channels;
  if (stage.params.integers == nullptr) return {stage.epilogue, channels};
  const IntegerEpilogue sums(stage.epilogue, *stage.params.integers, stage.params.in_channels, stage.weights);
  if (!levels) return {sums.get(), channels};
  return epilogue_of_levels(sums.get(), stage.quantization, channels);
}

}  // namespace

OwnedEpilogue epilogue_of_levels(const Epilogue& sums, ChannelQuantization levels, std::size_t channels) {
  Epilogue epilogue = sums;
  epilogue.post = nullptr;
  epilogue.levels = levels;
  OwnedEpilogue owned(epilogue, channels);
  (void)owned.turn_into_steps(round_up_to_quad(channels));
  return owned;
}

BlockedProduct::BlockedProduct(const ConvolutionStage& stage, Borders rows, Borders channels, bool levels)
    : values_(stage.params.integers != nullptr ? stage.params.integers->values()
                                               : LaneMap{LaneForm::floats, 1, 0}),
      kernels_(gemm_kernels_of(values_.form)),
      rows_(std::move(rows)),
      channels_(std::move(channels)),
      joins_(levels),
      epilogue_(epilogue_of(stage, levels)) {
  for (const std::size_t channel : channels_) terms_.push_back(divide_up(channel, channels_together()));
  AlignedFloats lanes;
  if (are_integers()) lanes = stage.params.integers->lanes(channels_.back(), 1, stage.weights);
  if (levels && row_count() % kMostLaneTerms != 0) {
    AlignedFloats padded(round_up_to_quad(row_count()) * term_count());
    float* const end = std::copy_n(lanes.data(), row_count() * term_count(), padded.data());
    rows_.back() = round_up_to_quad(row_count());
    std::fill(end, padded.data() + row_count() * term_count(), 0.0F);
    lanes = std::move(padded);
  }
  stores_levels_ = !levels && values_.form == LaneForm::quads && can_store_levels(kernels_, row_count()) &&
                   epilogue_.turn_into_steps();
  const float* const weights = are_integers() ? lanes.data() : stage.weights.floats();
  const std::size_t count = row_count() * term_count();
  PackedForm form{"blocked_product", {&kernels_}, rows_};
  form.numbers.insert(form.numbers.end(), terms_.begin(), terms_.end());
  form.numbers.push_back(joins_ ? 1 : 0);
  weights_ = packed_once({weights, count}, std::move(form), count, [&](float* to) { pack(weights, to); });
}

void BlockedProduct::run(std::size_t row, std::size_t term, const Target& target, const float* columns,
                         std::size_t column_stride) const {
  const Split panels = row_panels(rows_[row + 1] - rows_[row]);
  Block block;
  block.depth = depth(term);
  block.columns = target.columns;
  block.column_stride = column_stride;
  block.tile.out = target.out;
  block.tile.stride = target.stride;
  block.tile.residual = target.residual;
  block.tile.accumulate = term != 0;
  block.tile.finish = term + 1 == term_blocks();
  block.tile.joins = joins_;
  if (stores_levels_ && block.tile.finish) {
    block.tile.levels = target.levels;
    block.tile.levels_stride = target.levels_stride;
  }
  block.tile.low = epilogue_.low();
  block.tile.high = epilogue_.high();
  if (epilogue_.bias() != nullptr) block.tile.row_bias = epilogue_.bias() + rows_[row];
  if (epilogue_.scale() != nullptr) block.tile.row_scale = epilogue_.scale() + rows_[row];
  const float* const weights = weights_.get() + offset(row, term);
  const std::size_t step = column_stride == 0 ? block.depth : 1;
  multiply_block(
      kernels_, RowRange{panels, 0, panels.parts}, block, no_hook_,
      [&](const RowPanel& panel) { return weights + panel.row * block.depth; },
      [&](std::size_t column, std::size_t, bool) { return columns + column * step; });
}

void BlockedProduct::run_with_hook(std::size_t term, const Target& target, const float* columns,
                                   std::size_t column_stride) const {
  constexpr std::size_t kHookVectors = 6;
  const bool hooks = term + 1 == term_blocks() && epilogue_.has_post();
  const std::size_t most = hooks ? kHookVectors * kernels_.lanes : std::max<std::size_t>(target.columns, 1);
  for (std::size_t first = 0; first < target.columns; first += most) {
    const std::size_t count = std::min(most, target.columns - first);
    float* const out = target.out + first;
    const float* const residual = target.residual == nullptr ? nullptr : target.residual + first;
    std::uint8_t* const levels = target.levels == nullptr ? nullptr : target.levels + first;
    run(0, term, {out, residual, count, target.stride, levels, target.levels_stride}, columns + first,
        column_stride);
    if (hooks) epilogue_.post_channels(out, target.stride, row_count(), count, 0);
  }
}

void BlockedProduct::pack(const float* weights, float* to) const {
  for (std::size_t row = 0; row + 1 < rows_.size(); ++row) {
    for (std::size_t term = 0; term < term_blocks(); ++term) {
      kernels_.pack_rows(weights + rows_[row] * term_count() + terms_[term], term_count(), 1, depth(term),
                         row_panels(rows_[row + 1] - rows_[row]), to + offset(row, term));
    }
  }
}

Split BlockedProduct::row_panels(std::size_t rows) const {
  if (!joins_) return kernels_.row_panels(rows);
  constexpr std::size_t kMost = 2 * kMostLaneTerms;
  return {rows, rows % kMost == 0 && kernels_.max_rows >= kMost ? kMost : kMostLaneTerms};
}

}  // namespace ir::kernels
