#include "kernels/depthwise/depthwise_plane.h"

#include <algorithm>
#include <array>

#include "kernels/base/aligned_floats.h"

namespace ir::kernels {
namespace {

// A block's staging should stay in the first-level cache.
constexpr std::size_t kBlockOutputs = 6144;
constexpr std::size_t kLongestRow = 2048;
// Rows that are sooner staged as they are than thinned out by a stride of 2.
constexpr std::size_t kShortRow = 16;

/// Without offsets and weights.
DepthwiseTaps taps_of(const ImageStaging& staging, const ConvolutionGeometry& geometry) {
  const std::size_t columns = geometry.axes[2].kernel;
  const std::vector<std::int32_t>& offsets = staging.offsets();
  DepthwiseTaps taps;
  taps.count = geometry.taps();
  if (columns > 1) taps.column_step = static_cast<std::size_t>(offsets[1] - offsets[0]);
  for (std::size_t tap = 0; tap < taps.count; ++tap) {
    const std::size_t place = tap / columns * staging.row_stride() + tap % columns * taps.column_step;
    if (offsets[tap] != static_cast<std::int32_t>(place)) return taps;
  }
  taps.columns = columns;
  return taps;
}

}  // namespace

DepthwisePlane::DepthwisePlane(const ConvolutionGeometry& geometry, bool residual, DirectDepthwise direct)
    : kernels_(gemm_kernels()),
      geometry_(geometry),
      rows_(geometry.axes[1].out,
            std::max<std::size_t>(
                1, kBlockOutputs / std::clamp<std::size_t>(geometry.axes[2].out, 1, kLongestRow))),
      columns_(geometry.axes[2].out, kLongestRow),
      convolve_(direct) {
  if (convolve_ != nullptr) {
    columns_.parts = std::min<std::size_t>(columns_.total, 1);
    direct_.emplace(geometry, !residual);
  } else {
    plan_staging();
  }
  if (is_feasible()) plan_blocks();
}

void DepthwisePlane::plan_staging() {
  const ConvolutionAxis& axis = geometry_.axes[2];
  if (axis.stride == 2 && axis.out <= kShortRow) step_ = 2;
  // Columns are staged as they lie side by side, and kernels step over those that a stride of 2 leaves out.
  ConvolutionGeometry staged = geometry_;
  if (step_ == 2) staged.axes[2].stride = 1;
  staging_.emplace(staged, 1, rows_.largest(), samples(columns_.largest()));
  staged_floats_ = round_up_to_line(staging_->floats());
  multiply_ = depthwise_kernel(step_);
  taps_ = taps_of(*staging_, geometry_);
}

void DepthwisePlane::plan_blocks() {
  const std::array<ConvolutionAxis, 3>& axes = geometry_.axes;
  for (std::size_t row = 0; row < rows_.parts; ++row) {
    for (std::size_t column = 0; column < columns_.parts; ++column) {
      const PlaneBlock block{rows_.begin(row), rows_.size(row), columns_.begin(column),
                             columns_.size(column)};
      blocks_.push_back({block, block.row * axes[2].out + block.column, {}});
      if (staging_) blocks_.back().copies = staging_->copies(staged_part(block));
    }
  }
}

std::size_t DepthwisePlane::block_cost() const {
  // Vectors, and the trouble of every row.
  return rows_.largest() *
         (divide_up(columns_.largest(), kernels_.lanes) * (geometry_.out_channels * geometry_.taps() + 4) +
          8);
}

/// Staged columns, besides those that taps add; rows of an even length can be summed as one run.
std::size_t DepthwisePlane::samples(std::size_t columns) const {
  const std::size_t reach = (geometry_.axes[2].kernel - 1) * geometry_.axes[2].dilation;
  return step_ == 1 ? columns : 2 * columns + reach % 2;
}

PlaneBlock DepthwisePlane::staged_part(PlaneBlock block) const {
  block.column *= step_;
  block.columns = samples(block.columns);
  return block;
}

void DepthwisePlane::run(std::size_t block, const Channel& channel, const OwnedEpilogue& epilogue,
                         float* staged) const {
  const auto& [outputs, origin_in_plane, copies] = blocks_[block % blocks_.size()];
  const std::size_t depth = block / blocks_.size();
  const std::size_t first_output = depth * geometry_.axes[1].out * geometry_.axes[2].out + origin_in_plane;
  if (staging_) {
    staging_->stage_copies(kernels_, copies, channel.image, 1, {staged_part(outputs), depth}, staged);
  }
  for (std::size_t o = 0; o < geometry_.out_channels; ++o) {
    const std::size_t origin = o * geometry_.out_size() + first_output;
    const float* const weights = channel.weights + o * geometry_.taps();
    const DirectOutputs to{
        .out = channel.out + origin,
        .residual = channel.residual == nullptr ? nullptr : channel.residual + origin,
        .stride = geometry_.axes[2].out,
        .bias = epilogue.bias() == nullptr ? nullptr : epilogue.bias() + channel.number + o,
        .low = epilogue.low(),
        .high = epilogue.high()};
    if (direct_) {
      convolve_(*direct_, channel.image, weights, outputs.row, outputs.rows, to);
    } else {
      multiply_staged(weights, outputs, to, staged);
    }
    epilogue.post_rows(to.out, to.stride, outputs.rows, outputs.columns, channel.number + o);
  }
}

void DepthwisePlane::multiply_staged(const float* weights, const PlaneBlock& outputs, const DirectOutputs& to,
                                     const float* staged) const {
  DepthwiseTaps taps = taps_;
  taps.offsets = staging_->offsets().data();
  taps.weights = weights;
  Tile tile;
  tile.out = to.out;
  tile.stride = to.stride;
  tile.columns = outputs.columns;
  tile.residual = to.residual;
  tile.row_bias = to.bias;
  tile.low = to.low;
  tile.high = to.high;
  multiply_(staging_->origin(staged), staging_->row_stride(), taps, outputs.rows, tile);
}

}  // namespace ir::kernels
