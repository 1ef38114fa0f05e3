// Chains by strips of floats.
#include <algorithm>
#include <optional>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/image_lanes.h"
#include "kernels/depthwise/blocked_product.h"
#include "kernels/depthwise/depthwise_plane.h"
#include "kernels/depthwise/float_strips.h"
#include "kernels/depthwise/separable_strips.h"
#include "kernels/depthwise/strip_plan.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {
namespace {

// Panels of channels that go from stage to stage together ...
constexpr std::size_t kPiecePanels = 4;
// ... and pieces of them that make a block of the projection's sums, for each channel of a lane.
constexpr std::size_t kBlockPieces = 8;

/// Strip by strip.
class StripsConvolution final : public FloatStrips {
 public:
  explicit StripsConvolution(const SeparableStages& stages)
      : FloatStrips(stages, pieces_of(stages), SharedChannels::yes) {
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
    plan(projection_ ? block_lanes() : 0);
    if (is_feasible()) plan_slot();
  }

  std::string_view algorithm() const override { return "strips"; }

 private:
  static ChannelSplit pieces_of(const SeparableStages& stages) {
    const std::size_t lane = channels_of_lane(stages.projection);
    return {stages.depthwise.params.in_channels, lane, kPiecePanels * gemm_kernels().max_rows / lane};
  }

  [[nodiscard]] std::size_t piece_channels() const { return pieces_.most(); }
  /// Of the projection: lanes of a block, in which channels are.
  [[nodiscard]] std::size_t block_lanes() const {
    const std::size_t channels = divide_up(pieces_.channels(), projection_->channels_together());
    return std::min(channels, kBlockPieces * piece_channels());
  }

  void plan_slot() {
    const std::size_t in_size = most_in();
    const std::size_t out_stride = spread_stride(most_out());
    slot_.image = take(expansion_ ? expansion_->term_count() * kernels_.padded(in_size) : 0);
    slot_.joined = take(image_ ? expansion_->term_count() * in_size : 0);
    slot_.expanded = take(expansion_ ? piece_channels() * in_size : 0);
    slot_.staged = take(most_staged());
    if (shares_channels()) share(projection_->term_count() * out_stride);
    slot_.filtered = take(projection_ && !shares_channels() ? block_lanes() * out_stride : 0);
    slot_.separate =
        take(projection_ && projection_->are_integers() ? projection_->channels_together() * out_stride : 0);
    settle_slot();
  }

  void prepare(const Call& call, const Strip& strip, float* slot) const override {
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

  void convolve(const Call& call, const Strip& strip, std::size_t first, std::size_t last,
                float* slot) const override {
    std::size_t block = 0;
    for (std::size_t piece = first; piece < last; ++piece) {
      if (expansion_) expand(strip, piece, slot);
      const bool in_blocks = projection_ && !shares_channels();
      const Waiting waiting{shares_channels() ? call.filtered : slot + slot_.filtered,
                            in_blocks ? projection_->first_channel(block) : 0};
      filter_piece(call, strip, piece, waiting, slot);
      if (!in_blocks || pieces_.begin(piece + 1) != projection_->first_channel(block + 1)) continue;
      project_block(block++, call, waiting.lanes, strip, 0, strip.out_size);
    }
  }

  void project(const Call& call, const Strip& strip, std::size_t first, std::size_t last) const override {
    const std::size_t stride = spread_stride(strip.out_size);
    for (std::size_t block = 0; block < projection_->term_blocks(); ++block) {
      const float* const lanes = call.filtered + projection_->first_term(block) * stride;
      project_block(block, call, lanes, strip, first, last);
    }
  }

  /// Columns [first, last) of a block of lanes.
  void project_block(std::size_t block, const Call& call, const float* lanes, const Strip& strip,
                     std::size_t first, std::size_t last) const {
    const float* const residual = call.residual == nullptr ? nullptr : call.residual + first;
    projection_->run_with_hook(block, {call.out + first, residual, last - first, geometry_.out_size()},
                               lanes + first, spread_stride(strip.out_size));
  }

  /// Lanes for the projection, `spread_stride` apart, and which channel the first of them begins with.
  struct Waiting {
    float* lanes;
    std::size_t first_channel;
  };

  void expand(const Strip& strip, std::size_t piece, float* slot) const {
    for (std::size_t block = 0; block < expansion_->term_blocks(); ++block) {
      const float* const packed = packed_image(strip, block, slot);
      expansion_->run(piece, block, {slot + slot_.expanded, nullptr, strip.in_size, strip.in_size}, packed);
    }
  }

  void filter_piece(const Call& call, const Strip& strip, std::size_t piece, const Waiting& waiting,
                    float* slot) const {
    for (std::size_t i = 0; i < pieces_.size(piece); ++i) {
      const std::size_t c = pieces_.begin(piece) + i;
      const float* const image = image_of(call, strip, c, expansion_ ? &expansion_->epilogue() : nullptr,
                                          slot + slot_.expanded + i * strip.in_size);
      // Channels of a strip are far apart: hardware does not see the next one coming.
      if (!expansion_ && c + 1 < geometry_.groups) fetch_row(image + geometry_.in_size(), strip.in_size);
      if (!projection_) {
        filter_last(strip, c, call, image, slot + slot_.staged);
        continue;
      }
      const std::size_t stride = spread_stride(strip.out_size);
      const std::size_t row = c - waiting.first_channel;
      float* const out = projection_->are_integers()
                             ? slot + slot_.separate + row % projection_->channels_together() * stride
                             : waiting.lanes + row * stride;
      // What the projection reads in vain should be no slow numbers. GCC's code for std::fill takes longer to
      // begin than this to end.
      for (float* rest = out + strip.out_size; rest != out + stride; ++rest) *rest = 0;
      filter(strip, c, {image, nullptr, out}, slot + slot_.staged);
      if (projection_->are_integers()) join_filtered(strip, c, waiting, slot);
    }
  }

  /// If channel c completes a lane, that goes to the others.
  void join_filtered(const Strip& strip, std::size_t c, const Waiting& waiting, float* slot) const {
    const std::size_t together = projection_->channels_together();
    const std::size_t row = c - waiting.first_channel;
    const std::size_t stride = spread_stride(strip.out_size);
    const float* const separate = slot + slot_.separate;
    if ((row + 1) % together != 0 && c + 1 != geometry_.groups) return;
    const std::size_t count = row % together + 1;
    float* const to = waiting.lanes + row / together * stride;
    projection_->join(separate, stride, count, stride, to);
  }

  // The stages around the depthwise one:
  std::optional<ImageLanes> image_;  ///< that an expansion of integers multiplies
  std::optional<BlockedProduct> expansion_;
  std::optional<BlockedProduct> projection_;
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

std::unique_ptr<Convolution> create_float_strips(const SeparableStages& stages, StripsIf condition) {
  const ConvolutionParams& first = stages.first().params;
  const Epilogue& last = stages.last().epilogue;
  if (!last.levels.empty()) return nullptr;
  if (!first.image_levels.empty() && !(stages.expansion && takes_levels(ConvolutionGeometry(first))))
    return nullptr;
  if (condition == StripsIf::worthwhile && prefers_tiles_in_turn(stages)) return nullptr;
  auto strips = std::make_unique<StripsConvolution>(stages);
  if (condition == StripsIf::worthwhile ? strips->is_worthwhile() : strips->is_feasible()) return strips;
  return nullptr;
}

}  // namespace ir::kernels
