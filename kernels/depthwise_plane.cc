#include "kernels/depthwise_plane.h"

#include <algorithm>
#include <array>

#include "kernels/aligned_floats.h"

namespace ir::kernels {
namespace {

// A block's staging should stay in the first-level cache.
constexpr std::size_t kBlockOutputs = 6144;
constexpr std::size_t kLongestRow = 2048;
// Rows that are sooner staged as they are than thinned out by a stride of 2.
constexpr std::size_t kShortRow = 16;

std::size_t largest(const Split& split) { return split.parts == 0 ? 0 : divide_up(split.total, split.parts); }

/// The side of the window as it is staged, if its taps are a dense square; else 0.
std::size_t square_side(const std::array<ConvolutionAxis, 3>& axes, const ImageStaging& staging) {
  const std::size_t side = axes[2].kernel;
  const std::vector<std::int32_t>& offsets = staging.offsets();
  if (offsets.size() != side * side) return 0;
  for (std::size_t tap = 0; tap < offsets.size(); ++tap) {
    const std::size_t distance = tap / side * staging.row_stride() + tap % side;
    if (offsets[tap] != offsets[0] + static_cast<std::int32_t>(distance)) return 0;
  }
  return side;
}

}  // namespace

DepthwisePlane::DepthwisePlane(const ConvolutionGeometry& geometry, bool residual)
    : kernels_(gemm_kernels()),
      step_(geometry.axes[2].stride == 2 && geometry.axes[2].out <= kShortRow ? 2 : 1),
      geometry_(geometry),
      columns_(geometry.axes[2].out, kLongestRow),
      rows_(geometry.axes[1].out,
            std::max<std::size_t>(
                1, kBlockOutputs / std::clamp<std::size_t>(geometry.axes[2].out, 1, kLongestRow))),
      staging_(staged_geometry(), 1, largest(rows_), samples(largest(columns_))),
      staged_floats_(round_up_to_line(staging_.floats())),
      multiply_(depthwise_kernel(step_, square_side(geometry.axes, staging_))),
      convolve_directly_(getenv("NODIRECT")?nullptr:direct_depthwise(geometry)) {
  if (convolve_directly_ != nullptr) {
    staged_floats_ = 0;
    columns_ = Split(geometry.axes[2].out, std::max<std::size_t>(geometry.axes[2].out, 1));
    direct_.emplace(geometry, !residual);
  }
  if (!is_feasible()) return;
  for (std::size_t depth = 0; depth < geometry.axes[0].out; ++depth) {
    for (std::size_t row_block = 0; row_block < rows_.parts; ++row_block) {
      for (std::size_t column_block = 0; column_block < columns_.parts; ++column_block)
        blocks_.push_back(planned(depth, row_block, column_block));
    }
  }
}

std::size_t DepthwisePlane::block_cost() const {
  // Vectors, and the trouble of every row.
  return largest(rows_) *
         (divide_up(largest(columns_), kernels_.lanes) * (geometry_.out_channels * geometry_.taps() + 4) + 8);
}

/// Columns are staged as they lie side by side, and kernels step over those that a stride of 2 leaves out.
ConvolutionGeometry DepthwisePlane::staged_geometry() const {
  ConvolutionGeometry geometry = geometry_;
  if (step_ == 2) geometry.axes[2].stride = 1;
  return geometry;
}

/// Staged columns, besides those that taps add; rows of an even length can be summed as one run.
std::size_t DepthwisePlane::samples(std::size_t columns) const {
  const std::size_t reach = (geometry_.axes[2].kernel - 1) * geometry_.axes[2].dilation;
  return step_ == 1 ? columns : 2 * columns + reach % 2;
}

DepthwisePlane::PlannedBlock DepthwisePlane::planned(std::size_t depth, std::size_t row_block,
                                                     std::size_t column_block) const {
  const OutputBlock block{{rows_.begin(row_block), rows_.size(row_block), columns_.begin(column_block),
                           columns_.size(column_block)},
                          depth};
  const std::size_t origin =
      (depth * geometry_.axes[1].out + block.row) * geometry_.axes[2].out + block.column;
  OutputBlock staged = block;
  staged.column *= step_;
  staged.columns = samples(block.columns);
  return {block, origin, staging_.copies(staged)};
}

void DepthwisePlane::run(std::size_t block, const Channel& channel, const OwnedEpilogue& epilogue,
                         float* staged) const {
  const PlannedBlock& planned = blocks_[block];
  if (!direct_)
  for (const StagedCopy& copy : planned.copies) staging_.run(kernels_, copy, channel.image, 1, staged);
  Tile tile;
  tile.stride = geometry_.axes[2].out;
  tile.columns = planned.outputs.columns;
  tile.low = epilogue.low();
  tile.high = epilogue.high();
  for (std::size_t o = 0; o < geometry_.out_channels; ++o) {
    const std::size_t origin = o * geometry_.out_size() + planned.origin;
    tile.out = channel.out + origin;
    tile.residual = channel.residual == nullptr ? nullptr : channel.residual + origin;
    tile.row_bias = channel.bias == nullptr ? nullptr : channel.bias + o;
    if (direct_) convolve_directly_(*direct_, channel.image, channel.weights + o * geometry_.taps(), planned.outputs.row, planned.outputs.rows, tile); else
    multiply_(staging_.origin(staged), staging_.row_stride(), staging_.offsets().data(),
              channel.weights + o * geometry_.taps(), geometry_.taps(), planned.outputs.rows, tile);
    epilogue.post(tile.out, tile.stride, planned.outputs.rows, planned.outputs.columns);
  }
}

}  // namespace ir::kernels
