// Convolution with vectors of output channels, for which single samples of the image are spread: where groups
// have few channels, but whole vectors of them, and vectors of positions would be cut short by the ends of
// rows, or their samples lie apart. The last step turns the results round.
#include <algorithm>
#include <vector>

#include "kernels/aligned_floats.h"
#include "kernels/convolution_cost.h"
#include "kernels/convolution_depth.h"
#include "kernels/convolution_geometry.h"
#include "kernels/convolution_staging.h"
#include "kernels/direct_kernels.h"
#include "kernels/gemm_block.h"
#include "kernels/gemm_kernels.h"
#include "kernels/packed_filters.h"
#include "kernels/plane_split.h"
#include "kernels/task_queue.h"

namespace ir::kernels {
namespace {

/// With so many terms, the weights of a panel of channels stay in the first-level cache.
std::size_t most_depth(std::size_t out_channels) {
  constexpr std::size_t kMostOfPanel = 4096;
  const std::size_t lanes = gemm_kernels().lanes;
  return kMostOfPanel /
         std::min(DirectKernels::kChannelVectors * lanes, divide_up(out_channels, lanes) * lanes);
}

/// What is staged has all samples side by side: positions step over those that a stride leaves out.
ConvolutionGeometry without_strides(ConvolutionGeometry geometry) {
  for (ConvolutionAxis* const axis : {&geometry.axes[1], &geometry.axes[2]}) {
    axis->out = (axis->out - 1) * axis->stride + 1;
    axis->stride = 1;
  }
  return geometry;
}

std::vector<DepthBlock> blocks_of_terms(const ConvolutionGeometry& geometry) {
  return depth_blocks(geometry.in_channels, geometry.taps(), most_depth(geometry.out_channels));
}

/// Of vectors.
Split channel_panels(const ConvolutionGeometry& geometry) {
  return {divide_up(geometry.out_channels, gemm_kernels().lanes), DirectKernels::kChannelVectors};
}

/// Positions of a block: few enough that what they see stays close.
std::size_t most_positions(const ConvolutionGeometry& geometry) {
  constexpr std::size_t kStagedFloats = 8192;
  constexpr std::size_t kLeastPositions = 16;
  const auto& [depth, vertical, horizontal] = without_strides(geometry).axes;
  const std::size_t row = most_channels(blocks_of_terms(geometry)) * depth.kernel *
                          (horizontal.out + (horizontal.kernel - 1) * horizontal.dilation);
  const std::size_t overlap = (vertical.kernel - 1) * vertical.dilation;
  // At least as many rows as are staged for a neighbour, too.
  const std::size_t rows = std::max(kStagedFloats / row, 2 * overlap + 1) - overlap;
  return std::clamp(divide_up(rows, geometry.axes[1].stride) * geometry.axes[2].out, kLeastPositions,
                    GemmKernels::kPlaneLimit);
}

/// About how a plane is cut, where workers do not count.
struct BlocksOfPlane {
  double count = 1;
  std::size_t positions = 0;  ///< of one
  std::size_t staged = 0;     ///< floats of a channel for one

  explicit BlocksOfPlane(const ConvolutionGeometry& geometry) {
    const auto& [depth, vertical, horizontal] = without_strides(geometry).axes;
    const std::size_t width = geometry.axes[2].out;
    const std::size_t most = most_positions(geometry);
    const Split rows(geometry.axes[1].out, std::max<std::size_t>(most / width, 1));
    const Split columns(width, most);
    positions = rows.largest() * columns.largest();
    count = static_cast<double>(geometry.axes[1].out * width) / static_cast<double>(positions);
    const auto seen = [](const ConvolutionAxis& axis, std::size_t stride, std::size_t outputs) {
      return (outputs - 1) * stride + (axis.kernel - 1) * axis.dilation + 1;
    };
    staged = depth.kernel * seen(vertical, geometry.axes[1].stride, rows.largest()) *
             seen(horizontal, geometry.axes[2].stride, columns.largest());
  }
};

class ChannelsConvolution final : public Convolution {
 public:
  ChannelsConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        direct_(direct_kernels()),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        panels_(channel_panels(geometry)),
        depth_blocks_(blocks_of_terms(geometry)),
        plane_(geometry.axes[1].out, geometry.axes[2].out, 1, most_positions(geometry),
               {geometry.planes(), geometry.workers}),
        staging_(without_strides(geometry), most_channels(depth_blocks_), seen(1, plane_.max_rows()),
                 seen(2, plane_.max_columns())),
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
  /// From the first to the last sample that so many outputs see at one tap.
  [[nodiscard]] std::size_t seen(std::size_t axis, std::size_t outputs) const {
    return (outputs - 1) * geometry_.axes[axis].stride + 1;
  }

  /// [group][block of terms][panel of channels][term][channel]
  void pack_weights(const float* weights) {
    const PackedForm form{"direct_channels", {&kernels_}, {depth_blocks_.size(), panels_.parts}};
    packed_weights_ = packed_filters(geometry_, weights, form, geometry_.groups * padded_channels() * terms(),
                                     [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* to) const {
    const std::size_t parts = depth_blocks_.size();
    const std::size_t cost = most_terms(depth_blocks_) * padded_channels();
    parallel_for(geometry_.groups * parts, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const DepthBlock& part = depth_blocks_[i % parts];
        const std::size_t k = part.channel * geometry_.taps() + part.tap;
        const float* const filters = weights + i / parts * geometry_.out_channels * terms() + k;
        float* const packed = to + (i / parts * terms() + k) * padded_channels();
        for (std::size_t panel = 0; panel < panels_.parts; ++panel) {
          const std::size_t channel = panels_.begin(panel) * kernels_.lanes;
          const std::size_t end_channel =
              std::min(panels_.begin(panel + 1) * kernels_.lanes, geometry_.out_channels);
          kernels_.pack_columns_transposed(filters + channel * terms(), terms(), part.depth(),
                                           end_channel - channel, packed + channel * part.depth());
        }
      }
    });
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
    const OutputBlock seen_block{{block.row * geometry_.axes[1].stride, seen(1, block.rows),
                                  block.column * geometry_.axes[2].stride, seen(2, block.columns)},
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
        staging_.stage(kernels_, in.image + channel * geometry_.in_size(), part.channels, seen_block, slot);
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
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + first_channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
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
  if (geometry.is_empty() || geometry.are_pairs) return false;
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
  const BlocksOfPlane blocks(geometry);
  const Split panels = channel_panels(geometry);
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t sums = blocks_of_terms(geometry).size();
  double tiles = 0;
  for (const auto& [vectors, count] : panels.sizes()) {
    if (count == 0) continue;
    const std::size_t positions = direct.positions[vectors - 1];
    tiles += static_cast<double>(count * divide_up(blocks.positions, positions)) *
             (static_cast<double>(terms * kernels.tile_cost(positions, vectors)) + kTile +
              kSum * static_cast<double>(sums - 1));
  }
  const double of_block =
      tiles + staging * static_cast<double>(geometry.in_channels * blocks.staged) + kBlock;
  const double turning =
      kTurning * static_cast<double>(geometry.axes[1].out * geometry.axes[2].out * geometry.out_channels);
  // Against those of other algorithms, short vectors as in direct convolution.
  const double worth = kernels.lanes < kLongVector ? 0.92 : 1.06;
  return worth * (of_block * blocks.count + turning) + with_weights(0, terms * geometry.out_channels);
}

std::unique_ptr<Convolution> create_direct_channels(const ConvolutionGeometry& geometry, const float* weights,
                                                    const Epilogue& epilogue) {
  if (weights == nullptr || !takes_channels(geometry)) return nullptr;
  auto convolution = std::make_unique<ChannelsConvolution>(geometry, weights, epilogue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
