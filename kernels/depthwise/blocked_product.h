// A 1x1 convolution in pieces, as a stage of a chain runs it: blocks of outputs by blocks of terms. Internal
// to kernels/.
#ifndef KERNELS_DEPTHWISE_BLOCKED_PRODUCT_H_
#define KERNELS_DEPTHWISE_BLOCKED_PRODUCT_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/depthwise/separable_convolution.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/weights/integer_weights.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {

/// Where parts of something begin, and its end.
using Borders = std::vector<std::size_t>;

/// Channels that one lane of a product's operands holds.
inline std::size_t channels_of_lane(const std::optional<ConvolutionStage>& stage) {
  return stage && stage->params.integers != nullptr ? lane_terms(stage->params.integers->form()) : 1;
}

/// Channels in parts, as equal as can be, of whole lanes.
class ChannelSplit {
 public:
  ChannelSplit(std::size_t channels, std::size_t lane, std::size_t most_lanes)
      : channels_(channels), lane_(lane), lanes_(divide_up(channels, lane), most_lanes) {}
  [[nodiscard]] std::size_t channels() const { return channels_; }
  [[nodiscard]] std::size_t parts() const { return lanes_.parts; }
  [[nodiscard]] std::size_t begin(std::size_t part) const {
    return std::min(lanes_.begin(part) * lane_, channels_);
  }
  [[nodiscard]] std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }
  [[nodiscard]] std::size_t most() const { return std::min(lanes_.largest() * lane_, channels_); }
  [[nodiscard]] Borders borders() const {
    Borders borders;
    for (std::size_t part = 0; part <= parts(); ++part) borders.push_back(begin(part));
    return borders;
  }

 private:
  std::size_t channels_;
  std::size_t lane_;
  Split lanes_;
};

/// Whether the product of a stage can leave levels, as floats, where they are to be multiplied with weights:
/// sums of bytes are rounded in registers, and the least value is 0.
inline bool can_leave_levels(const ConvolutionStage& stage) {
  const Quantization* const to = stage.quantization;
  return channels_of_lane(stage) == lane_terms(LaneForm::quads) && to != nullptr && to->in_low == 0 &&
         to->out_low == 0 && to->out_range > 0 && !stage.epilogue.residual;
}

/// What the product of a stage does to its sums. `levels`: they become those.
inline OwnedEpilogue epilogue_of(const ConvolutionStage& stage, bool levels) {
  const std::size_t channels = stage.params.out_channels;
  if (stage.params.integers == nullptr) return {stage.epilogue, channels};
  const IntegerEpilogue sums(stage.epilogue, *stage.params.integers, stage.params.in_channels, stage.weights);
  if (!levels) return {sums.get(), channels};
  Epilogue epilogue = sums.get();
  const float per_unit = stage.quantization->scale;
  const auto in_steps = [&](const float* values) {
    std::vector<float> scaled(values, values == nullptr ? nullptr : values + channels);
    for (float& value : scaled) value *= per_unit;
    return scaled;
  };
  const std::vector<float> scale = in_steps(epilogue.scale);
  const std::vector<float> bias = in_steps(epilogue.bias);
  epilogue.scale = scale.data();
  if (epilogue.bias != nullptr) epilogue.bias = bias.data();
  // Rounded as well, bounds may come after the sums are.
  epilogue.low = std::nearbyint(std::clamp(epilogue.low * per_unit, 0.0F, stage.quantization->steps));
  epilogue.high = std::nearbyint(std::clamp(epilogue.high * per_unit, 0.0F, stage.quantization->steps));
  epilogue.post = nullptr;
  return {epilogue, channels};
}

/// A 1x1 convolution of which rows and terms are cut into blocks, each with its weights packed. Terms are
/// channels, or some of them in a lane.
class BlockedProduct {
 public:
  BlockedProduct(const ConvolutionStage& stage, Borders rows, Borders channels, bool levels = false)
      : values_(stage.params.integers != nullptr ? stage.params.integers->values()
                                                 : LaneMap{LaneForm::floats, 1, 0}),
        kernels_(gemm_kernels_of(values_.form)),
        rows_(std::move(rows)),
        channels_(std::move(channels)),
        leaves_levels_(levels && channels_.size() == 2 && can_leave_levels(stage)),
        epilogue_(epilogue_of(stage, leaves_levels_)) {
    for (const std::size_t channel : channels_) terms_.push_back(divide_up(channel, channels_together()));
    AlignedFloats lanes;
    if (are_integers()) lanes = stage.params.integers->lanes(channels_.back(), 1, stage.weights);
    const float* const weights = are_integers() ? lanes.data() : stage.weights.floats();
    const std::size_t count = row_count() * term_count();
    PackedForm form{"blocked_product", {&kernels_}, rows_};
    form.numbers.insert(form.numbers.end(), terms_.begin(), terms_.end());
    weights_ = packed_once({weights, count}, std::move(form), count, [&](float* to) { pack(weights, to); });
  }

  [[nodiscard]] std::size_t row_count() const { return rows_.back(); }
  [[nodiscard]] std::size_t term_count() const { return terms_.back(); }
  [[nodiscard]] std::size_t channel_count() const { return channels_.back(); }
  [[nodiscard]] std::size_t first_channel(std::size_t block) const { return channels_[block]; }
  [[nodiscard]] bool are_integers() const { return values_.form != LaneForm::floats; }
  /// Channels of a lane.
  [[nodiscard]] std::size_t channels_together() const { return lane_terms(values_.form); }
  /// Turns `count` channels, `stride` apart, into the lanes in which they are terms.
  void join(const float* from, std::size_t stride, std::size_t count, std::size_t size, float* to,
            std::size_t to_stride) const {
    const std::size_t together = channels_together();
    for (std::size_t i = 0; i < count; i += together) {
      const JoinedRows<float> rows{from + i * stride, stride, std::min(together, count - i)};
      lane_joins().rows(values_, rows, size, to + i / together * to_stride);
    }
  }
  /// Whether results are the levels of the stage's quantisation, as floats, which the hook does not see.
  [[nodiscard]] bool leaves_levels() const { return leaves_levels_; }
  [[nodiscard]] std::size_t term_blocks() const { return terms_.size() - 1; }
  [[nodiscard]] std::size_t first_term(std::size_t block) const { return terms_[block]; }
  [[nodiscard]] std::size_t depth(std::size_t block) const { return terms_[block + 1] - terms_[block]; }
  /// Its hook is left to the caller of `run`, who knows when which rows are in the cache.
  [[nodiscard]] const OwnedEpilogue& epilogue() const { return epilogue_; }

  /// Where a block of rows goes: `columns` of them, and the distance of rows.
  struct Target {
    float* out = nullptr;
    const float* residual = nullptr;
    std::size_t columns = 0;
    std::size_t stride = 0;
  };
  /// Adds one block of terms to one block of rows. `column_panel` and `column_stride` as in multiply_block.
  template <class ColumnPanel>
  void run(std::size_t row, std::size_t term, const Target& target, std::size_t column_stride,
           const ColumnPanel& column_panel) const {
    const Split panels = kernels_.row_panels(rows_[row + 1] - rows_[row]);
    Block block;
    block.depth = depth(term);
    block.columns = target.columns;
    block.column_stride = column_stride;
    block.tile.out = target.out;
    block.tile.stride = target.stride;
    block.tile.residual = target.residual;
    block.tile.accumulate = term != 0;
    block.tile.finish = term + 1 == term_blocks();
    block.tile.rounds = leaves_levels_;
    block.tile.low = epilogue_.low();
    block.tile.high = epilogue_.high();
    if (epilogue_.bias() != nullptr) block.tile.row_bias = epilogue_.bias() + rows_[row];
    if (epilogue_.scale() != nullptr) block.tile.row_scale = epilogue_.scale() + rows_[row];
    const float* const weights = weights_.get() + offset(row, term);
    multiply_block(
        kernels_, RowRange{panels, 0, panels.parts}, block, no_hook_,
        [&](const RowPanel& panel) { return weights + panel.row * block.depth; }, column_panel);
  }

 private:
  void pack(const float* weights, float* to) const {
    for (std::size_t row = 0; row + 1 < rows_.size(); ++row) {
      for (std::size_t term = 0; term < term_blocks(); ++term) {
        kernels_.pack_rows(weights + rows_[row] * term_count() + terms_[term], term_count(), 1, depth(term),
                           kernels_.row_panels(rows_[row + 1] - rows_[row]), to + offset(row, term));
      }
    }
  }

  [[nodiscard]] std::size_t offset(std::size_t row, std::size_t term) const {
    return rows_[row] * term_count() + (rows_[row + 1] - rows_[row]) * terms_[term];
  }

  LaneMap values_;
  const GemmKernels& kernels_;
  Borders rows_;
  Borders channels_;
  Borders terms_;
  bool leaves_levels_;
  OwnedEpilogue epilogue_;
  OwnedEpilogue no_hook_{Epilogue(), 0};
  PackedFloats weights_;
};

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_BLOCKED_PRODUCT_H_
