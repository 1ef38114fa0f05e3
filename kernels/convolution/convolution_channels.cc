// Convolution with vectors of output channels, for which single samples of the image are spread: where groups
// have few channels, but whole vectors of them, and vectors of positions would be cut short by the ends of
// rows, or their samples lie apart. The last step turns the results round.
#include <algorithm>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_depth.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/convolution/direct_kernels.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

/// From the first to the last sample that so many outputs see at one tap.
std::size_t span_of(const ConvolutionAxis& axis, std::size_t outputs) {
  return (outputs - 1) * axis.stride + 1;
}
/// Samples that taps add to that.
std::size_t reach_of(const ConvolutionAxis& axis) { return (axis.kernel - 1) * axis.dilation; }

/// What is staged has all samples side by side: positions step over those that a stride leaves out.
ConvolutionGeometry without_strides(ConvolutionGeometry geometry) {
  for (ConvolutionAxis* const axis : {&geometry.axes[1], &geometry.axes[2]}) {
    axis->out = span_of(*axis, axis->out);
    axis->stride = 1;
  }
  return geometry;
}

/// So many terms that the weights of a panel of channels stay in the first-level cache.
std::vector<DepthBlock> blocks_of_terms(const ConvolutionGeometry& geometry) {
  constexpr std::size_t kMostOfPanel = 4096;
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t width =
      std::min(DirectKernels::kChannelVectors * kernels.lanes, kernels.padded(geometry.out_channels));
  return depth_blocks(geometry.in_channels, geometry.taps(), kMostOfPanel / width);
}

/// Of vectors.
Split channel_panels(const ConvolutionGeometry& geometry) {
  return {divide_up(geometry.out_channels, gemm_kernels().lanes), DirectKernels::kChannelVectors};
}

/// Blocks of few enough positions that what they see stays close.
PlaneSplit split_plane(const ConvolutionGeometry& geometry, const SpreadPlanes& spread) {
  constexpr std::size_t kStagedFloats = 8192;
  constexpr std::size_t kLeastPositions = 16;
  const auto& [depth, vertical, horizontal] = geometry.axes;
  const std::size_t row = most_channels(blocks_of_terms(geometry)) * depth.kernel *
                          (span_of(horizontal, horizontal.out) + reach_of(horizontal));
  const std::size_t overlap = reach_of(vertical);
  // At least as many rows as are staged for a neighbour, too.
  const std::size_t rows = std::max(kStagedFloats / row, 2 * overlap + 1) - overlap;
  const std::size_t most = std::clamp(divide_up(rows, vertical.stride) * horizontal.out, kLeastPositions,
                                      GemmKernels::kPlaneLimit);
  return {vertical.out, horizontal.out, 1, most, spread};
}

class ChannelsConvolution final : public Convolution {
 public:
  ChannelsConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        direct_(direct_kernels()),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        panels_(channel_panels(geometry)),
        depth_blocks_(blocks_of_terms(geometry)),
        plane_(split_plane(geometry, {geometry.planes(), geometry.workers})),
        staging_(without_strides(geometry), most_channels(depth_blocks_),
                 span_of(geometry.axes[1], plane_.max_rows()),
                 span_of(geometry.axes[2], plane_.max_columns())),
        staged_floats_(round_up_to_line(staging_.floats())) {
    const std::size_t positions = plane_.max_rows() * plane_.max_columns();
    result_floats_ = round_up_to_line((positions + DirectKernels::kPositionsLimit) *
                                      kernels_.padded(geometry.out_channels));
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(tasks(), 1));
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return "direct_channels"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    const std::size_t positions = plane_.max_rows() * plane_.max_columns();
    const std::size_t cost = terms() * geometry_.out_channels * positions / kernels_.lanes + 1;
    float* const slots = aligned_scratch(scratch);
    for_each_task(tasks(), cost, geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t worker) {
                    for (std::size_t task = begin; task < end; ++task)
                      convolve(in, out, task, slots + worker * slot_floats());
                  });
  }

  /// Whether staging stays within bounds that make sense.
  [[nodiscard]] bool is_feasible() const { return staged_floats_ <= kStagingLimit; }

 private:
  [[nodiscard]] std::size_t terms() const { return geometry_.in_channels * geometry_.taps(); }
  [[nodiscard]] std::size_t tasks() const { return geometry_.planes() * plane_.parts(); }
  [[nodiscard]] std::size_t padded_channels() const { return kernels_.padded(geometry_.out_channels); }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, staged_floats_ + result_floats_);
  }

  void pack_weights(const float* weights) {
    const PackedForm form{"direct_channels", {&kernels_}, {}};
    packed_weights_ =
        packed_filters(geometry_, weights, form, geometry_.groups * padded_channels() * terms(),
                       [&](float* to) { pack_channels(geometry_, depth_blocks_, panels_, weights, to); });
  }

  /// Where the outputs of a block begin to see what is staged; of the last one some more, for a whole tile.
  void find_positions(const PlaneBlock& block, std::int32_t* positions) const {
    for (std::size_t row = 0; row < block.rows; ++row) {
      std::size_t position = row * geometry_.axes[1].stride * staging_.row_stride();
      for (std::size_t column = 0; column < block.columns; ++column, position += geometry_.axes[2].stride)
        *positions++ = static_cast<std::int32_t>(position);
    }
    std::fill_n(positions, DirectKernels::kPositionsLimit, positions[-1]);
  }

  /// One block of outputs of one group.
  void convolve(const ConvolutionInputs& in, float* out, std::size_t task, float* slot) const {
    const std::size_t slice = task / plane_.parts();
    const std::size_t index = slice / geometry_.axes[0].out;  // of the group, over all images
    const std::size_t depth = slice % geometry_.axes[0].out;
    const PlaneBlock block = plane_.block(task % plane_.parts());
    const auto& [_, vertical, horizontal] = geometry_.axes;
    const OutputBlock seen{{block.row * vertical.stride, span_of(vertical, block.rows),
                            block.column * horizontal.stride, span_of(horizontal, block.columns)},
                           depth};
    std::int32_t positions[GemmKernels::kPlaneLimit + DirectKernels::kPositionsLimit];
    find_positions(block, positions);
    float* const result = slot + staged_floats_;
    const std::size_t group = index % geometry_.groups;
    DirectSum sum;
    sum.weights = packed_weights_.get() + group * padded_channels() * terms();
    sum.image = staging_.origin(slot);
    for (const DepthBlock& part : depth_blocks_) {
      // Several stretches of one channel's taps share its staging.
      if (part.tap == 0) {
        const std::size_t channel = index * geometry_.in_channels + part.channel;
        staging_.stage(kernels_, in.image + channel * geometry_.in_size(), part.channels, seen, slot);
      }
      sum.depth = part.depth();
      sum.offsets = staging_.offsets().data() + part.tap;
      multiply(sum, positions, block.rows * block.columns, &part != &depth_blocks_.front(), result);
      sum.weights += padded_channels() * part.depth();
    }
    finish(in, out, index, depth, block, result);
  }

  void multiply(DirectSum sum, const std::int32_t* positions, std::size_t count, bool accumulate,
                float* result) const {
    for (std::size_t panel = 0; panel < panels_.parts; ++panel) {
      const std::size_t vectors = panels_.size(panel);
      const std::size_t width = vectors * kernels_.lanes;
      const float* const next = sum.weights + width * sum.depth;
      const std::size_t step = direct_.positions[vectors - 1];
      // Every tile fetches its share of the next weights, which come from far away.
      sum.fetch_step = divide_up(width, divide_up(count, step));
      sum.fetch = next;
      for (std::size_t first = 0; first < count; first += step) {
        direct_.channels[vectors - 1](sum, positions + first, result + first * padded_channels(),
                                      padded_channels(), accumulate);
        sum.fetch += sum.fetch_step * sum.depth;
      }
      sum.weights = next;
      result += width;
    }
  }

  void finish(const ConvolutionInputs& in, float* out, std::size_t index, std::size_t depth,
              const PlaneBlock& block, const float* result) const {
    const std::size_t width = geometry_.axes[2].out;
    const std::size_t channels = geometry_.out_channels;
    const std::size_t first_channel = index % geometry_.groups * channels;
    const std::size_t spans = block.columns == width ? 1 : block.rows;
    Tile tile;
    tile.stride = geometry_.out_size();
    tile.columns = block.rows / spans * block.columns;
    epilogue_.set_up(tile, BiasAxis::row, first_channel, 0);
    for (std::size_t span = 0; span < spans; ++span) {
      const std::size_t origin = index * channels * geometry_.out_size() +
                                 (depth * geometry_.axes[1].out + block.row + span) * width + block.column;
      tile.out = out + origin;
      if (epilogue_.residual()) tile.residual = in.residual + origin;
      kernels_.finish_transposed(result + span * block.columns * padded_channels(), padded_channels(),
                                 channels, tile);
      epilogue_.post_channels(tile.out, tile.stride, channels, tile.columns, first_channel);
    }
  }

  const GemmKernels& kernels_;
  const DirectKernels& direct_;
  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  Split panels_;  ///< of vectors of channels
  std::vector<DepthBlock> depth_blocks_;
  PlaneSplit plane_;
  ImageStaging staging_;
  std::size_t staged_floats_;
  std::size_t result_floats_ = 0;
  PackedFloats packed_weights_;
};

/// Whether there are tiles for all channels.
bool takes_channels(const ConvolutionGeometry& geometry) {
  if (geometry.is_empty() || geometry.lanes != LaneForm::floats) return false;
  return std::ranges::all_of(channel_panels(geometry).sizes(), [](const Split::Sizes& panels) {
    return panels.parts == 0 || direct_kernels().positions[panels.size - 1] != 0;
  });
}

}  // namespace

double direct_channels_cost(const ConvolutionGeometry& geometry) {
  // With a single tap, a stride leaves most of what is staged to nobody.
  if (!takes_channels(geometry) || geometry.taps() == 1) return kCannotServe;
  // In cycles; the first two of a float.
  const double staging = is_far(geometry) ? 0.75 : 0.25;
  constexpr double kTurning = 0.4;
  constexpr double kTile = 65;  // besides its terms
  constexpr double kSum = 150;  // of a tile, for each block of terms but the first
  constexpr double kBlock = 200;
  const GemmKernels& kernels = gemm_kernels();
  const DirectKernels& direct = direct_kernels();
  const auto& [depth, vertical, horizontal] = geometry.axes;
  // As one worker would cut it: the choice must not depend on how many there are.
  const PlaneSplit plane = split_plane(geometry, {});
  const std::size_t positions = plane.max_rows() * plane.max_columns();
  const std::size_t outputs = vertical.out * horizontal.out;
  const auto blocks = static_cast<double>(outputs) / static_cast<double>(positions);
  const std::size_t staged = geometry.in_channels * depth.kernel *
                             (span_of(vertical, plane.max_rows()) + reach_of(vertical)) *
                             (span_of(horizontal, plane.max_columns()) + reach_of(horizontal));
  const Split panels = channel_panels(geometry);
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t sums = blocks_of_terms(geometry).size();
  double tiles = 0;
  for (const auto& [vectors, count] : panels.sizes()) {
    if (count == 0) continue;
    const std::size_t of_tile = direct.positions[vectors - 1];
    tiles += static_cast<double>(count * divide_up(positions, of_tile)) *
             (static_cast<double>(terms * kernels.tile_cost(of_tile, vectors)) + kTile +
              kSum * static_cast<double>(sums - 1));
  }
  const double of_block = tiles + staging * static_cast<double>(staged) + kBlock;
  const double turning = kTurning * static_cast<double>(outputs * geometry.out_channels);
  // Against those of other algorithms, short vectors as in direct convolution.
  const double worth = has_short_vectors() ? 0.92 : 1.06;
  return worth * (of_block * blocks + turning) + with_weights(0, terms * geometry.out_channels);
}

std::unique_ptr<Convolution> create_direct_channels(const ConvolutionGeometry& geometry, const float* weights,
                                                    const Epilogue& epilogue) {
  if (weights == nullptr || !takes_channels(geometry)) return nullptr;
  auto convolution = std::make_unique<ChannelsConvolution>(geometry, weights, epilogue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
