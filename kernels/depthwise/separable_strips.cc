// Chains by strips of floats.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/image_lanes.h"
#include "kernels/depthwise/blocked_product.h"
#include "kernels/depthwise/depthwise_plane.h"
#include "kernels/depthwise/separable_strips.h"
#include "kernels/depthwise/strip_plan.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

// Panels of channels that go from stage to stage together ...
constexpr std::size_t kPiecePanels = 4;
// ... and pieces of them that make a block of the projection's sums, for each channel of a lane.
constexpr std::size_t kBlockPieces = 8;
// Products with so many channels take so long that what is written and read between stages does not count.
constexpr std::size_t kManyOutputs = 192;

struct Strip {
  StripRows rows;
  std::size_t in_size = 0;  ///< positions
  std::size_t out_size = 0;
  DepthwisePlane plane;
};

/// Strip by strip.
class StripsConvolution final : public ByStrips {
 public:
  explicit StripsConvolution(const SeparableStages& stages)
      : ByStrips(stages.depthwise.params),
        pieces_(geometry_.groups, channels_of_lane(stages.projection),
                kPiecePanels * kernels_.max_rows / channels_of_lane(stages.projection)),
        epilogue_(stages.depthwise.epilogue, geometry_.groups),
        weights_(stages.depthwise.weights.floats(),
                 stages.depthwise.weights.floats() + geometry_.groups * geometry_.taps()) {
    if (stages.expansion) {
      const ChannelSplit blocks(stages.expansion->params.in_channels, channels_of_lane(stages.expansion),
                                kernels_.block_depth);
      expansion_.emplace(*stages.expansion, pieces_.borders(), blocks.borders());
      const ConvolutionParams& params = stages.expansion->params;
      if (expansion_->are_integers())
        image_.emplace(*params.integers, params.in_channels, !params.image_levels.empty());
    }
    if (stages.projection) {
      projection_.emplace(*stages.projection, Borders{0, stages.projection->params.out_channels},
                          pieces_.borders(kBlockPieces * channels_of_lane(stages.projection)));
    }
    plan();
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const floats = aligned_scratch(scratch);
    // With a projection, which sums over all channels, a strip is one task.
    const std::size_t parts = projection_ ? 1 : pieces_.parts();
    for_each_group(geometry_.batch * strips_.size(), parts, task_cost(parts), geometry_.workers,
                   [&](const GroupRange& range) {
                     const Strip& strip = strips_[range.group % strips_.size()];
                     const Call call = call_of(range.group / strips_.size(), strip, in, out);
                     float* const slot = floats + range.worker * slot_floats_;
                     if (expansion_ && !range.continues) pack_image(call, strip, slot);
                     convolve(call, strip, projection_ ? 0 : range.first,
                              projection_ ? pieces_.parts() : range.last, slot);
                   });
  }

 private:
  struct Call {
    const float* image;
    std::size_t first;      ///< in the image, the strip's first row of the first channel
    const float* residual;  ///< of the first row of results
    float* out;             ///< the same
  };

  [[nodiscard]] std::size_t in_channels() const {
    return expansion_ ? expansion_->channel_count() : geometry_.groups;
  }
  [[nodiscard]] std::size_t out_channels() const {
    return projection_ ? projection_->row_count() : geometry_.groups;
  }
  [[nodiscard]] std::size_t piece_channels() const { return pieces_.most(); }
  /// Of the projection: lanes of a block, in which channels are.
  [[nodiscard]] std::size_t block_lanes() const {
    const std::size_t channels = divide_up(pieces_.channels(), projection_->channels_together());
    return std::min(channels, kBlockPieces * piece_channels());
  }

  [[nodiscard]] std::size_t floats_in_hand(std::size_t rows) const {
    const std::size_t in = rows_seen(geometry_.axes[1], rows) * geometry_.axes[2].in;
    const std::size_t out = rows * geometry_.axes[2].out;
    std::size_t floats = piece_channels() * (in + out);
    if (expansion_) floats += in_channels() * in;
    if (projection_) floats += (block_lanes() + out_channels()) * out;
    return floats;
  }

  void plan() {
    const StripChain chain{expansion_.has_value(), projection_.has_value()};
    const StripPlan plan =
        plan_strips(geometry_, chain, [this](std::size_t rows) { return floats_in_hand(rows); });
    for (const StripRows& rows : plan.strips) {
      ConvolutionGeometry geometry = geometry_;
      geometry.axes[1].in = rows.in;
      geometry.axes[1].out = rows.out;
      geometry.axes[1].pad = rows.padding;
      strips_.push_back(
          {rows, geometry.in_size(), geometry.out_size(), DepthwisePlane(geometry, epilogue_.residual())});
      if (!strips_.back().plane.is_feasible()) return;
    }
    is_feasible_ = !strips_.empty();
    const bool is_large = geometry_.out_size() >= kLeastStripsPlane;
    const bool is_one_product = !expansion_ && projection_ && out_channels() >= kManyOutputs;
    is_worthwhile_ = is_feasible_ && is_large && !is_one_product && plan.repeats_little;
    geometry_.workers =
        std::min(geometry_.workers, geometry_.batch * strips_.size() * (projection_ ? 1 : pieces_.parts()));
    plan_slot();
  }

  void plan_slot() {
    std::size_t in_size = 0;
    std::size_t out_size = 0;
    std::size_t staged = 0;
    for (const Strip& strip : strips_) {
      in_size = std::max(in_size, strip.in_size);
      out_size = std::max(out_size, strip.out_size);
      staged = std::max(staged, strip.plane.staged_floats());
    }
    slot_.image = take(expansion_ ? expansion_->term_count() * kernels_.padded(in_size) : 0);
    slot_.joined = take(image_ ? expansion_->term_count() * in_size : 0);
    slot_.expanded = take(expansion_ ? piece_channels() * in_size : 0);
    slot_.staged = take(staged);
    slot_.filtered = take(projection_ ? block_lanes() * spread_stride(out_size) : 0);
    slot_.separate = take(projection_ && projection_->are_integers()
                              ? projection_->channels_together() * spread_stride(out_size)
                              : 0);
    settle_slot();
  }

  [[nodiscard]] std::size_t task_cost(std::size_t parts) const {
    std::size_t terms = geometry_.taps() * geometry_.out_size();
    if (expansion_) terms += in_channels() * geometry_.in_size();
    if (projection_) terms += out_channels() * geometry_.out_size();
    return pieces_.channels() * terms / (strips_.size() * parts * kernels_.lanes) + 1;
  }

  [[nodiscard]] Call call_of(std::size_t index, const Strip& strip, const ConvolutionInputs& in,
                             float* out) const {
    const std::size_t from =
        index * in_channels() * geometry_.in_size() + strip.rows.first_in * geometry_.axes[2].in;
    const std::size_t to =
        index * out_channels() * geometry_.out_size() + strip.rows.first_out * geometry_.axes[2].out;
    const bool wanted = projection_ ? projection_->epilogue().residual() : epilogue_.residual();
    return {in.image, from, wanted ? in.residual + to : nullptr, out + to};
  }

  void pack_image(const Call& call, const Strip& strip, float* slot) const {
    const float* image = call.image + call.first;
    std::size_t stride = geometry_.in_size();
    if (image_) {
      float* const joined = slot + slot_.joined;
      image_->join(call.image, call.first, stride, 0, image_->lanes(), strip.in_size, joined, strip.in_size);
      image = joined;
      stride = strip.in_size;
    }
    for (std::size_t block = 0; block < expansion_->term_blocks(); ++block) {
      kernels_.pack_columns(image + expansion_->first_term(block) * stride, stride, expansion_->depth(block),
                            strip.in_size, packed_image(strip, block, slot));
    }
  }
  [[nodiscard]] float* packed_image(const Strip& strip, std::size_t block, float* slot) const {
    return slot + slot_.image + expansion_->first_term(block) * kernels_.padded(strip.in_size);
  }

  /// Pieces [first, last) through all stages.
  void convolve(const Call& call, const Strip& strip, std::size_t first, std::size_t last,
                float* slot) const {
    std::size_t block = 0;
    for (std::size_t piece = first; piece < last; ++piece) {
      if (expansion_) expand(strip, piece, slot);
      filter(call, strip, piece, block, slot);
      if (!projection_ || pieces_.begin(piece + 1) != projection_->first_channel(block + 1)) continue;
      projection_->run_with_hook(block++, {call.out, call.residual, strip.out_size, geometry_.out_size()},
                                 slot + slot_.filtered, spread_stride(strip.out_size));
    }
  }

  void expand(const Strip& strip, std::size_t piece, float* slot) const {
    for (std::size_t block = 0; block < expansion_->term_blocks(); ++block) {
      const float* const packed = packed_image(strip, block, slot);
      expansion_->run(piece, block, {slot + slot_.expanded, nullptr, strip.in_size, strip.in_size}, packed);
    }
  }

  void filter(const Call& call, const Strip& strip, std::size_t piece, std::size_t block, float* slot) const {
    for (std::size_t i = 0; i < pieces_.size(piece); ++i) {
      const std::size_t c = pieces_.begin(piece) + i;
      DepthwisePlane::Channel channel;
      if (expansion_) {
        float* const expanded = slot + slot_.expanded + i * strip.in_size;
        expansion_->epilogue().post_rows(expanded, strip.in_size, 1, strip.in_size, c);
        channel.image = expanded;
      } else {
        channel.image = call.image + call.first + c * geometry_.in_size();
      }
      channel.weights = weights_.data() + c * geometry_.taps();
      channel.number = c;
      if (projection_) {
        const std::size_t stride = spread_stride(strip.out_size);
        const std::size_t row = c - projection_->first_channel(block);
        channel.out = slot + (projection_->are_integers()
                                  ? slot_.separate + row % projection_->channels_together() * stride
                                  : slot_.filtered + row * stride);
        // What the projection reads in vain should be no slow numbers.
        std::fill(channel.out + strip.out_size, channel.out + stride, 0.0F);
      } else {
        channel.out = call.out + c * geometry_.out_size();
        if (call.residual != nullptr) channel.residual = call.residual + c * geometry_.out_size();
      }
      for (std::size_t part = 0; part < strip.plane.blocks(); ++part)
        strip.plane.run(part, channel, epilogue_, slot + slot_.staged);
      if (projection_ && projection_->are_integers()) join_filtered(strip, c, block, slot);
    }
  }

  /// If channel c completes a lane, that goes to the others of the block.
  void join_filtered(const Strip& strip, std::size_t c, std::size_t block, float* slot) const {
    const std::size_t together = projection_->channels_together();
    const std::size_t row = c - projection_->first_channel(block);
    const std::size_t stride = spread_stride(strip.out_size);
    const float* const separate = slot + slot_.separate;
    if ((row + 1) % together != 0 && c + 1 != geometry_.groups) return;
    const std::size_t count = row % together + 1;
    float* const to = slot + slot_.filtered + row / together * stride;
    projection_->join(separate, stride, count, stride, to);
  }

  // Of the depthwise stage:
  ChannelSplit pieces_;
  OwnedEpilogue epilogue_;
  std::vector<float> weights_;
  // The stages around it:
  std::optional<ImageLanes> image_;  ///< that an expansion of integers multiplies
  std::optional<BlockedProduct> expansion_;
  std::optional<BlockedProduct> projection_;
  std::vector<Strip> strips_;
  /// Where the parts of a worker's scratch begin.
  struct {
    std::size_t image = 0;     ///< packed for the expansion
    std::size_t joined = 0;    ///< before it is packed
    std::size_t expanded = 0;  ///< one block of channels
    std::size_t staged = 0;    ///< one channel
    std::size_t filtered = 0;  ///< one block of lanes
    std::size_t separate = 0;  ///< the channels of a lane
  } slot_;
};

}  // namespace

std::unique_ptr<Convolution> create_float_strips(const SeparableStages& stages, bool if_worthwhile) {
  const ConvolutionParams& first = (stages.expansion ? *stages.expansion : stages.depthwise).params;
  const Epilogue& last = (stages.projection ? *stages.projection : stages.depthwise).epilogue;
  if (!last.levels.empty()) return nullptr;
  if (!first.image_levels.empty() && !(stages.expansion && takes_levels(ConvolutionGeometry(first))))
    return nullptr;
  auto strips = std::make_unique<StripsConvolution>(stages);
  if (if_worthwhile ? strips->is_worthwhile() : strips->is_feasible()) return strips;
  return nullptr;
}

}  // namespace ir::kernels
