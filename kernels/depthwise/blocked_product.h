// A 1x1 convolution in pieces, as a stage of a chain runs it: blocks of outputs by blocks of terms. Internal
// to kernels/.
#ifndef KERNELS_DEPTHWISE_BLOCKED_PRODUCT_H_
#define KERNELS_DEPTHWISE_BLOCKED_PRODUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/depthwise/separable_convolution.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/weights/integer_weights.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {

/// Where parts of something begin, and its end.
using Borders = std::vector<std::size_t>;

/// Channels that one lane of a product's operands holds.
inline std::size_t channels_of_lane(const std::optional<ConvolutionStage>& stage) {
  return stage && stage->params.integers != nullptr ? lane_terms(stage->params.integers->form()) : 1;
}

inline std::size_t round_up_to_quad(std::size_t channels) {
  return divide_up(channels, kMostLaneTerms) * kMostLaneTerms;
}

/// Channels in parts, as equal as can be, of whole lanes.
class ChannelSplit {
 public:
  ChannelSplit(std::size_t channels, std::size_t lane, std::size_t most_lanes)
      : channels_(channels), lane_(lane), lanes_(divide_up(channels, lane), most_lanes) {}
  /// More parts, where workers would get unequal shares of those of so many groups.
  void spread(std::size_t groups, std::size_t workers) { lanes_ = even_panels(lanes_, groups, workers); }
  [[nodiscard]] std::size_t channels() const { return channels_; }
  [[nodiscard]] std::size_t parts() const { return lanes_.parts; }
  [[nodiscard]] std::size_t begin(std::size_t part) const {
    return std::min(lanes_.begin(part) * lane_, channels_);
  }
  [[nodiscard]] std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }
  [[nodiscard]] std::size_t most() const { return std::min(lanes_.largest() * lane_, channels_); }
  /// Of blocks of up to so many parts.
  [[nodiscard]] Borders borders(std::size_t most_parts = 1) const {
    const Split blocks(parts(), most_parts);
    Borders borders;
    for (std::size_t block = 0; block <= blocks.parts; ++block) borders.push_back(begin(blocks.begin(block)));
    return borders;
  }

 private:
  std::size_t channels_;
  std::size_t lane_;
  Split lanes_;
};

/// What happens to sums of integers, of so many channels, that become levels with a common range: what
/// `sums`, without its hook, does to them, in steps, and nothing for those that are missing of the last four.
OwnedEpilogue epilogue_of_levels(const Epilogue& sums, ChannelQuantization levels, std::size_t channels);

/// A 1x1 convolution of which rows and terms are cut into blocks, each with its weights packed. Terms are
/// channels, or some of them in a lane. `levels`: of quads that are one block of terms, rows become the
/// levels of the stage's quantisation, four of them a lane, in the place of the first; what is missing of the
/// last four is 0.
class BlockedProduct {
 public:
  BlockedProduct(const ConvolutionStage& stage, Borders rows, Borders channels, bool levels = false);

  [[nodiscard]] std::size_t row_count() const { return rows_.back(); }
  [[nodiscard]] std::size_t term_count() const { return terms_.back(); }
  [[nodiscard]] std::size_t channel_count() const { return channels_.back(); }
  [[nodiscard]] std::size_t first_channel(std::size_t block) const { return channels_[block]; }
  [[nodiscard]] bool are_integers() const { return values_.form != LaneForm::floats; }
  /// Channels of a lane.
  [[nodiscard]] std::size_t channels_together() const { return lane_terms(values_.form); }
  /// Turns the channels of a lane, `stride` apart, into the lanes in which they are terms.
  void join(const float* from, std::size_t stride, std::size_t channels, std::size_t size, float* to) const {
    lane_joins().rows(values_, {.first = from, .stride = stride, .count = channels}, size, to);
  }
  /// Whether tiles can store the levels that results become.
  [[nodiscard]] bool stores_levels() const { return stores_levels_; }
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
    /// Of the last block of terms, where it stores_levels(): these go there instead.
    std::uint8_t* levels = nullptr;
    std::size_t levels_stride = 0;
  };
  /// Adds one block of terms to one block of rows. Columns are packed, or row-major and so far apart.
  void run(std::size_t row, std::size_t term, const Target& target, const float* columns,
           std::size_t column_stride = 0) const;
  /// The same for the only block of rows, whose hook gets the sums of a few panels of columns, while they are
  /// in the first-level cache.
  void run_with_hook(std::size_t term, const Target& target, const float* columns,
                     std::size_t column_stride) const;

 private:
  void pack(const float* weights, float* to) const;
  [[nodiscard]] Split row_panels(std::size_t rows) const;
  [[nodiscard]] std::size_t offset(std::size_t row, std::size_t term) const {
    return rows_[row] * term_count() + (rows_[row + 1] - rows_[row]) * terms_[term];
  }

  LaneMap values_;
  const GemmKernels& kernels_;
  Borders rows_;
  Borders channels_;
  Borders terms_;
  bool joins_;
  bool stores_levels_ = false;
  OwnedEpilogue epilogue_;
  OwnedEpilogue no_hook_{Epilogue(), 0};
  PackedFloats weights_;
};

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_BLOCKED_PRODUCT_H_
