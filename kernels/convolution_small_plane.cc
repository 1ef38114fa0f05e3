// Convolution to a plane of few positions, such as the 7 x 7 at the end of image classifiers: vectors of
// positions would be half empty. Here the product is made transposed, positions x output channels, with
// vectors of channels; the last step turns it round.
#include <algorithm>
#include <vector>

#include "kernels/aligned_floats.h"
#include "kernels/convolution_cost.h"
#include "kernels/convolution_depth.h"
#include "kernels/convolution_geometry.h"
#include "kernels/convolution_prologue.h"
#include "kernels/convolution_staging.h"
#include "kernels/gemm_block.h"
#include "kernels/gemm_kernels.h"
#include "kernels/packed_filters.h"
#include "kernels/plane_split.h"
#include "kernels/task_queue.h"

namespace ir::kernels {
namespace {

class SmallPlaneConvolution final : public Convolution {
 public:
  SmallPlaneConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue,
                        const Prologue& prologue)
      : kernels_(gemm_kernels()),
        geometry_(geometry),
        prologue_(prologue, geometry.groups * geometry.in_channels),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        positions_(kernels_.row_panels(plane())),
        channels_(kernels_.column_panels(geometry.out_channels)),
        depth_blocks_(depth_blocks(geometry.in_channels, geometry.taps(), kernels_.block_depth)),
        staging_(geometry, most_channels(depth_blocks_), geometry.axes[1].out, geometry.axes[2].out),
        staged_floats_(round_up_to_line(staging_.floats())),
        packed_floats_(round_up_to_line(most_terms(depth_blocks_) * plane() + GemmKernels::kLanesLimit)),
        result_floats_(round_up_to_line(plane() * kernels_.padded(geometry.out_channels))),
        planes_(geometry.batch * geometry.groups * geometry.axes[0].out) {
    channels_ = even_panels(channels_, planes_, geometry.workers);
    shares_ = fewest_parts(channels_.parts, planes_, geometry.workers);
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(planes_ * shares_.parts, 1));
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return "small_plane"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (planes_ * shares_.parts == 0) return;
    const Call call{in.image, in.scale, epilogue_.residual() ? in.residual : nullptr, out};
    const std::size_t cost =
        divide_up(geometry_.out_channels, shares_.parts) * plane() * terms() / kernels_.lanes + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_group(planes_, shares_.parts, cost, geometry_.workers, [&](const GroupRange& range) {
      convolve(call, range.group, shares_.begin(range.first), shares_.begin(range.last),
               floats + range.worker * slot_floats());
    });
  }

  [[nodiscard]] bool is_feasible() const { return staged_floats_ <= kStagingLimit; }

 private:
  struct Call {
    const float* image;
    const float* scale;
    const float* residual;
    float* out;
  };

  [[nodiscard]] std::size_t plane() const { return geometry_.axes[1].out * geometry_.axes[2].out; }
  [[nodiscard]] std::size_t terms() const { return geometry_.in_channels * geometry_.taps(); }
  [[nodiscard]] std::size_t padded_channels() const { return kernels_.padded(geometry_.out_channels); }
  [[nodiscard]] std::size_t slot_floats() const { return staged_floats_ + packed_floats_ + result_floats_; }

  void pack_weights(const float* weights) {
    const PackedForm form{"small_plane", {&kernels_}, {channels_.parts}};
    packed_weights_ = packed_filters(geometry_, weights, form, geometry_.groups * padded_channels() * terms(),
                                     [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* packed) const {
    parallel_for(geometry_.groups * depth_blocks_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t group = i / depth_blocks_.size();
        const DepthBlock& part = depth_blocks_[i % depth_blocks_.size()];
        const std::size_t k = part.channel * geometry_.taps() + part.tap;
        float* const to = packed + padded_channels() * (group * terms() + k);
        for (std::size_t panel = 0; panel < channels_.parts; ++panel) {
          const std::size_t channel = channels_.begin(panel) * kernels_.lanes;
          const std::size_t channel_end =
              std::min(channels_.begin(panel + 1) * kernels_.lanes, geometry_.out_channels);
          kernels_.pack_columns_transposed(weights + (group * geometry_.out_channels + channel) * terms() + k,
                                           terms(), part.depth(), channel_end - channel,
                                           to + channel * part.depth());
        }
      }
    });
  }

  /// Panels [first, last) of the output channels of one depth slice of one group of one image.
  void convolve(const Call& call, std::size_t index, std::size_t first, std::size_t last, float* slot) const {
    float* const staged = slot;
    float* const packed = staged + staged_floats_;
    float* const result = packed + packed_floats_;
    const OutputBlock outputs{{0, geometry_.axes[1].out, 0, geometry_.axes[2].out},
                              index % geometry_.axes[0].out};
    index /= geometry_.axes[0].out;
    const std::size_t group = index % geometry_.groups;
    const float* weights = packed_weights_.get() + group * padded_channels() * terms();

    const std::size_t first_channel = channels_.begin(first) * kernels_.lanes;
    Tile tile;
    tile.stride = padded_channels();
    for (const DepthBlock& part : depth_blocks_) {
      if (part.tap == 0) stage(call, index, part, outputs, staged);
      const std::size_t depth = part.depth();
      for (std::size_t panel = 0; panel < positions_.parts; ++panel) {
        pack_positions(staged, part, panel, packed + positions_.begin(panel) * depth);
      }
      tile.accumulate = &part != &depth_blocks_.front();
      // Behind the last panel of this share are those of another worker.
      const float* const share_of_next_block =
          &part == &depth_blocks_.back()
              ? nullptr
              : weights + padded_channels() * depth + first_channel * (&part + 1)->depth();
      for (std::size_t channel_panel = first; channel_panel < last; ++channel_panel) {
        const std::size_t vectors = channels_.size(channel_panel);
        const std::size_t channel = channels_.begin(channel_panel) * kernels_.lanes;
        tile.columns = vectors * kernels_.lanes;
        // Every panel of positions fetches its share of the next panel of weights.
        tile.fetch_step = divide_up(tile.columns, std::max<std::size_t>(positions_.parts, 1));
        const float* const next =
            channel_panel + 1 < last ? weights + (channel + tile.columns) * depth : share_of_next_block;
        // Positions inside: the panel of weights, the larger one, comes from memory once.
        PartWalk positions(positions_);
        for (std::size_t panel = 0; panel < positions_.parts; ++panel, positions.next()) {
          tile.out = result + positions.begin() * tile.stride + channel;
          tile.fetch = next == nullptr ? nullptr : next + panel * tile.fetch_step * depth;
          kernels_.packed[positions.size() - 1][vectors - 1](depth, packed + positions.begin() * depth, 0,
                                                             weights + channel * depth, tile);
        }
      }
      weights += padded_channels() * depth;
    }
    finish(call, index, group, outputs, first, last, result);
  }

  /// The channels of one stretch of the sum, of group `index` counted over all images.
  void stage(const Call& call, std::size_t index, const DepthBlock& part, const OutputBlock& outputs,
             float* staged) const {
    const std::size_t channel = index * geometry_.in_channels + part.channel;
    const float* const from = call.image + channel * geometry_.in_size();
    if (prologue_.is_empty()) return staging_.stage(kernels_, from, part.channels, outputs, staged);
    staging_.stage_mapped(kernels_, from, part.channels, outputs, prologue_.map(call.scale, channel), staged);
  }

  /// The positions of one panel as rows of the left operand.
  void pack_positions(const float* staged, const DepthBlock& part, std::size_t panel, float* to) const {
    Piece pieces[GemmKernels::kLanesLimit];
    const std::size_t rows = positions_.size(panel);
    const std::size_t count = staging_.pieces(geometry_.axes[2].out, positions_.begin(panel), rows, pieces);
    // Vectors are longer than the rows are many: each store is cut to size by the next one.
    kernels_.pack_pieces(staging_.origin(staged), staging_.offsets().data() + part.tap, part.depth(), pieces,
                         count, rows, to, rows);
  }

  void finish(const Call& call, std::size_t index, std::size_t group, const OutputBlock& outputs,
              std::size_t first, std::size_t last, const float* result) const {
    const std::size_t channel = channels_.begin(first) * kernels_.lanes;
    const std::size_t end = std::min(geometry_.out_channels, channels_.begin(last) * kernels_.lanes);
    const std::size_t origin =
        (index * geometry_.out_channels + channel) * geometry_.out_size() + outputs.depth * plane();
    Tile tile;
    tile.out = call.out + origin;
    tile.stride = geometry_.out_size();
    tile.columns = plane();
    if (call.residual != nullptr) tile.residual = call.residual + origin;
    const std::size_t group_channel = group * geometry_.out_channels + channel;
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + group_channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    kernels_.finish_transposed(result + channel, padded_channels(), end - channel, tile);
    epilogue_.post_channels(tile.out, tile.stride, end - channel, tile.columns, group_channel);
  }

  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  OwnedPrologue prologue_;
  OwnedEpilogue epilogue_;
  Split positions_;
  Split channels_;  ///< of vectors
  Split shares_;    ///< of channel panels: all positions are packed for each
  std::vector<DepthBlock> depth_blocks_;
  ImageStaging staging_;
  std::size_t staged_floats_;
  std::size_t packed_floats_;
  std::size_t result_floats_;
  std::size_t planes_;  ///< of all images
  PackedFloats packed_weights_;
};

bool is_small_plane(const ConvolutionGeometry& geometry) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t plane = geometry.axes[1].out * geometry.axes[2].out;
  return plane != 0 && plane <= GemmKernels::kPlaneLimit && geometry.out_channels != 0 &&
         kernels.max_rows <= kernels.lanes;
}

}  // namespace

double small_plane_convolution_cost(const ConvolutionGeometry& geometry) {
  if (!is_small_plane(geometry)) return kCannotServe;
  constexpr std::size_t kPacking = 3;  // of a panel of positions
  constexpr std::size_t kTurning = 1;  // of one float of the result
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t plane = geometry.axes[1].out * geometry.axes[2].out;
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t term =
      kernels.product_cost(plane, geometry.out_channels) + kPacking * kernels.row_panels(plane).parts;
  return with_weights(terms * term + kTurning * plane * geometry.out_channels, terms * geometry.out_channels);
}

std::unique_ptr<Convolution> create_small_plane_convolution(const ConvolutionGeometry& geometry,
                                                            const float* weights, const Epilogue& epilogue,
                                                            const Prologue& prologue) {
  if (weights == nullptr || !is_small_plane(geometry)) return nullptr;
  auto convolution = std::make_unique<SmallPlaneConvolution>(geometry, weights, epilogue, prologue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
