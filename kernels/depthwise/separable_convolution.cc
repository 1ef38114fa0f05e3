#include "kernels/depthwise/separable_convolution.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/processor.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/depthwise/blocked_product.h"
#include "kernels/depthwise/depthwise_plane.h"
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

/// Rows of the depthwise stage that go through all stages together.
struct Strip {
  std::size_t first_in = 0;  ///< row of the input
  std::size_t in_size = 0;   ///< positions
  std::size_t first_out = 0;
  std::size_t out_size = 0;
  DepthwisePlane plane;
};

/// Whether the bytes that the projection multiplies are the levels of the depthwise stage's quantisation.
bool projects_levels(const SeparableStages& stages) {
  if (!stages.projection || stages.depthwise.quantization == nullptr) return false;
  ConvolutionGeometry geometry(stages.projection->params);
  geometry.image_levels = stages.depthwise.quantization;
  return takes_levels(geometry);
}

/// Strip by strip.
class StripsConvolution final : public Convolution {
 public:
  explicit StripsConvolution(const SeparableStages& stages)
      : kernels_(gemm_kernels()),
        geometry_(stages.depthwise.params),
        pieces_(geometry_.groups, channels_of_lane(stages.projection),
                kPiecePanels * kernels_.max_rows / channels_of_lane(stages.projection)),
        levels_(projects_levels(stages) ? std::optional(*stages.depthwise.quantization) : std::nullopt),
        epilogue_(filter_epilogue(stages.depthwise), geometry_.groups),
        weights_(stages.depthwise.weights.floats(),
                 stages.depthwise.weights.floats() + geometry_.groups * geometry_.taps()) {
    if (stages.expansion) {
      const ChannelSplit blocks(stages.expansion->params.in_channels, channels_of_lane(stages.expansion),
                                kernels_.block_depth);
      expansion_.emplace(*stages.expansion, pieces_.borders(), blocks.borders(), true);
      if (expansion_->leaves_levels()) {
        const Quantization& levels = *stages.expansion->quantization;
        for (float& weight : weights_) weight *= levels.out_range / levels.steps;
      }
    }
    if (stages.projection) {
      const Split blocks(pieces_.parts(), kBlockPieces * channels_of_lane(stages.projection));
      Borders channels;
      for (std::size_t block = 0; block <= blocks.parts; ++block)
        channels.push_back(pieces_.begin(blocks.begin(block)));
      projection_.emplace(*stages.projection, Borders{0, stages.projection->params.out_channels}, channels);
    }
    plan_strips();
  }

  /// Whether every strip sees something, and staging makes sense.
  [[nodiscard]] bool is_feasible() const { return !strips_.empty(); }
  /// Whether this is expected to be faster than one stage after the other, on one thread: the choice, which
  /// bits depend on, must not see how many there are.
  [[nodiscard]] bool is_worthwhile() const { return is_worthwhile_; }

  std::string_view algorithm() const override { return "strips"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats_); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const floats = aligned_scratch(scratch);
    // With a projection, which sums over all channels, a strip is one task.
    const std::size_t parts = projection_ ? 1 : pieces_.parts();
    for_each_group(geometry_.batch * strips_.size(), parts, task_cost(parts), geometry_.workers,
                   [&](const GroupRange& range) {
                     const Strip& strip = strips_[range.group % strips_.size()];
                     const Call call =
                         call_of(range.group / strips_.size(), strip, in.image, in.residual, out);
                     float* const slot = floats + range.worker * slot_floats_;
                     if (expansion_ && !range.continues) pack_image(call.image, strip, slot);
                     convolve(call, strip, projection_ ? 0 : range.first,
                              projection_ ? pieces_.parts() : range.last, slot);
                   });
  }

 private:
  [[nodiscard]] Epilogue filter_epilogue(const ConvolutionStage& depthwise) const {
    Epilogue epilogue = depthwise.epilogue;
    if (levels_) epilogue.post = nullptr;
    return epilogue;
  }

  struct Call {
    const float* image;     ///< the strip's first row of the first channel
    const float* residual;  ///< as out
    float* out;
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

  /// Floats that a strip of `rows` rows goes through.
  [[nodiscard]] std::size_t floats_in_hand(std::size_t rows) const {
    const ConvolutionAxis& axis = geometry_.axes[1];
    const std::size_t seen = (rows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    const std::size_t in = std::min(seen, axis.in) * geometry_.axes[2].in;
    const std::size_t out = rows * geometry_.axes[2].out;
    std::size_t floats = piece_channels() * (in + out);
    if (expansion_) floats += in_channels() * in;
    if (projection_) floats += (block_lanes() + out_channels()) * out;
    return floats;
  }

  /// Rows of a strip of which at most a quarter of what is expanded is expanded for a neighbour, too.
  [[nodiscard]] std::size_t least_rows() const {
    const ConvolutionAxis& axis = geometry_.axes[1];
    const std::size_t seen = (axis.kernel - 1) * axis.dilation + 1;
    if (!expansion_ || seen <= axis.stride) return 1;
    return divide_up(3 * (seen - axis.stride), axis.stride);
  }

  /// As few strips as fit the second-level cache, if they can; more of them to occupy all workers.
  void plan_strips() {
    const std::size_t height = geometry_.axes[1].out;
    const std::size_t most_floats = second_level_cache() / sizeof(float);
    const std::size_t most_parts = std::max<std::size_t>(height / least_rows(), 1);
    std::size_t parts = 1;
    while (parts < most_parts && floats_in_hand(divide_up(height, parts)) > most_floats) ++parts;
    strips_ = cut_rows(parts);
    if (!is_feasible()) return;
    is_worthwhile_ = are_worthwhile(strips_);
    const std::size_t tasks = divide_up(geometry_.batch * parts, geometry_.workers) * geometry_.workers;
    const std::size_t shared_parts = divide_up(tasks, geometry_.batch);
    if (projection_ && shared_parts > parts) {
      std::vector<Strip> shared = cut_rows(std::min(shared_parts, height));
      if (!shared.empty()) strips_ = std::move(shared);
    }
    geometry_.workers =
        std::min(geometry_.workers, geometry_.batch * strips_.size() * (projection_ ? 1 : pieces_.parts()));
    plan_slot();
  }

  /// All rows of the outputs in about so many strips; none if one of them cannot be.
  [[nodiscard]] std::vector<Strip> cut_rows(std::size_t parts) const {
    const std::size_t height = geometry_.axes[1].out;
    const Split rows(height, divide_up(height, parts));
    std::vector<Strip> strips;
    for (std::size_t i = 0; i < rows.parts; ++i) {
      auto strip = cut(rows.begin(i), rows.size(i));
      if (!strip) return {};
      strips.push_back(std::move(*strip));
    }
    return strips;
  }

  [[nodiscard]] bool are_worthwhile(const std::vector<Strip>& strips) const {
    if (geometry_.out_size() < kLeastStripsPlane) return false;
    if (!expansion_ && projection_ && out_channels() >= kManyOutputs) return false;
    // What strips have in common is expanded for each of them.
    std::size_t expanded = 0;
    for (const Strip& strip : strips) expanded += strip.in_size;
    return !expansion_ || 3 * expanded <= 4 * geometry_.in_size();
  }

  /// Between channels on their way to the projection: whole lines of the cache, an odd number of them, so
  /// that a column of lines spreads over all of its sets.
  [[nodiscard]] static std::size_t filtered_stride(std::size_t out_size) {
    return (divide_up(out_size, kFloatsPerLine) | 1) * kFloatsPerLine;
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
    const auto take = [&](std::size_t floats) {
      slot_floats_ += round_up_to_line(floats);
      return slot_floats_ - round_up_to_line(floats);
    };
    slot_.image = take(expansion_ ? expansion_->term_count() * kernels_.padded(in_size) : 0);
    slot_.joined = take(expansion_ && expansion_->are_integers() ? expansion_->term_count() * in_size : 0);
    slot_.expanded = take(expansion_ ? piece_channels() * in_size : 0);
    slot_.staged = take(staged);
    slot_.filtered = take(projection_ ? block_lanes() * filtered_stride(out_size) : 0);
    slot_.separate = take(projection_ && projection_->are_integers()
                              ? projection_->channels_together() * filtered_stride(out_size)
                              : 0);
    slot_.bytes = take(
        levels_ ? divide_up(projection_->channels_together() * filtered_stride(out_size), sizeof(float)) : 0);
    slot_floats_ = worker_stride(geometry_.workers, slot_floats_);
  }

  /// Rows [first_out, first_out + rows) of the outputs; empty when they see only padding, or too far.
  [[nodiscard]] std::optional<Strip> cut(std::size_t first_out, std::size_t rows) const {
    const ConvolutionAxis& axis = geometry_.axes[1];
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(first_out * axis.stride) - axis.pad;
    const std::ptrdiff_t end =
        first + static_cast<std::ptrdiff_t>((rows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
    const std::ptrdiff_t seen_first = std::max<std::ptrdiff_t>(first, 0);
    const std::ptrdiff_t seen_end = std::min(end, static_cast<std::ptrdiff_t>(axis.in));
    if (seen_first >= seen_end) return std::nullopt;
    ConvolutionGeometry geometry = geometry_;
    geometry.axes[1].in = static_cast<std::size_t>(seen_end - seen_first);
    geometry.axes[1].out = rows;
    geometry.axes[1].pad = seen_first - first;
    DepthwisePlane plane(geometry, epilogue_.residual());
    if (!plane.is_feasible()) return std::nullopt;
    return Strip{static_cast<std::size_t>(seen_first), geometry.in_size(), first_out, geometry.out_size(),
                 std::move(plane)};
  }

  [[nodiscard]] std::size_t task_cost(std::size_t parts) const {
    std::size_t terms = geometry_.taps() * geometry_.out_size();
    if (expansion_) terms += in_channels() * geometry_.in_size();
    if (projection_) terms += out_channels() * geometry_.out_size();
    return pieces_.channels() * terms / (strips_.size() * parts * kernels_.lanes) + 1;
  }

  [[nodiscard]] Call call_of(std::size_t index, const Strip& strip, const float* image, const float* residual,
                             float* out) const {
    const std::size_t from =
        index * in_channels() * geometry_.in_size() + strip.first_in * geometry_.axes[2].in;
    const std::size_t to =
        index * out_channels() * geometry_.out_size() + strip.first_out * geometry_.axes[2].out;
    const bool wanted = projection_ ? projection_->epilogue().residual() : epilogue_.residual();
    return {image + from, wanted ? residual + to : nullptr, out + to};
  }

  void pack_image(const float* image, const Strip& strip, float* slot) const {
    std::size_t stride = geometry_.in_size();
    if (expansion_->are_integers()) {
      float* const joined = slot + slot_.joined;
      expansion_->join(image, stride, in_channels(), strip.in_size, joined, strip.in_size);
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
      if (projection_ && pieces_.begin(piece + 1) == projection_->first_channel(block + 1))
        project(call, strip, block++, slot);
    }
  }

  void expand(const Strip& strip, std::size_t piece, float* slot) const {
    for (std::size_t block = 0; block < expansion_->term_blocks(); ++block) {
      const float* const packed = packed_image(strip, block, slot);
      expansion_->run(
          piece, block, {slot + slot_.expanded, nullptr, strip.in_size, strip.in_size}, 0,
          [&](std::size_t column, std::size_t, bool) { return packed + column * expansion_->depth(block); });
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
        channel.image = call.image + c * geometry_.in_size();
      }
      channel.weights = weights_.data() + c * geometry_.taps();
      channel.number = c;
      if (projection_) {
        const std::size_t stride = filtered_stride(strip.out_size);
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
    const std::size_t stride = filtered_stride(strip.out_size);
    const float* const separate = slot + slot_.separate;
    auto* const bytes = reinterpret_cast<std::uint8_t*>(slot + slot_.bytes);
    if (levels_) {
      const std::size_t first = row % together * stride;
      levels_of_span(*levels_, separate + first, bytes + first, stride);
    }
    if ((row + 1) % together != 0 && c + 1 != geometry_.groups) return;
    const std::size_t count = row % together + 1;
    float* const to = slot + slot_.filtered + row / together * stride;
    if (levels_) {
      lane_joins().bytes({bytes, stride, count}, stride, to);
    } else {
      projection_->join(separate, stride, count, stride, to, stride);
    }
  }

  void project(const Call& call, const Strip& strip, std::size_t block, float* slot) const {
    // A hook gets the sums of a few panels of columns, while they are in the first-level cache.
    constexpr std::size_t kHookVectors = 6;
    const bool hooks = block + 1 == projection_->term_blocks() && projection_->epilogue().has_post();
    const std::size_t columns =
        hooks ? kHookVectors * kernels_.lanes : std::max<std::size_t>(strip.out_size, 1);
    for (std::size_t first = 0; first < strip.out_size; first += columns) {
      const float* const filtered = slot + slot_.filtered + first;
      const std::size_t count = std::min(columns, strip.out_size - first);
      float* const out = call.out + first;
      const float* const residual = call.residual == nullptr ? nullptr : call.residual + first;
      projection_->run(0, block, {out, residual, count, geometry_.out_size()},
                       filtered_stride(strip.out_size),
                       [&](std::size_t column, std::size_t, bool) { return filtered + column; });
      if (hooks)
        projection_->epilogue().post_channels(out, geometry_.out_size(), projection_->row_count(), count, 0);
    }
  }

  const GemmKernels& kernels_;
  // Of the depthwise stage:
  ConvolutionGeometry geometry_;
  ChannelSplit pieces_;
  std::optional<Quantization> levels_;  ///< that the projection multiplies
  OwnedEpilogue epilogue_;              ///< without these
  std::vector<float> weights_;
  // The stages around it:
  std::optional<BlockedProduct> expansion_;
  std::optional<BlockedProduct> projection_;
  std::vector<Strip> strips_;
  bool is_worthwhile_ = false;
  /// Where the parts of a worker's scratch begin.
  struct {
    std::size_t image = 0;     ///< packed for the expansion
    std::size_t joined = 0;    ///< before it is packed
    std::size_t expanded = 0;  ///< one block of channels
    std::size_t staged = 0;    ///< one channel
    std::size_t filtered = 0;  ///< one block of lanes
    std::size_t separate = 0;  ///< the channels of a lane
    std::size_t bytes = 0;     ///< their levels
  } slot_;
  std::size_t slot_floats_ = 0;
};

/// One stage after the other.
class ConvolutionsInTurn final : public Convolution {
 public:
  explicit ConvolutionsInTurn(const SeparableStages& stages) {
    if (stages.expansion) append(*stages.expansion);
    append(stages.depthwise);
    if (stages.projection) append(*stages.projection);
  }

  std::string_view algorithm() const override { return "in_turn"; }
  std::size_t scratch_bytes() const override {
    return scratch_bytes_for(between_[0] + between_[1]) + stage_scratch_;
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const floats = aligned_scratch(scratch);
    std::byte* const stage_scratch = scratch + scratch_bytes_for(between_[0] + between_[1]);
    const float* image = in.image;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      float* const to = i + 1 == stages_.size() ? out : floats + (i % 2) * between_[0];
      stages_[i]->run({image, nullptr, in.residual}, to, stage_scratch);
      image = to;
    }
  }

 private:
  void append(const ConvolutionStage& stage) {
    if (!stages_.empty()) between_[(stages_.size() - 1) % 2] = round_up_to_line(out_floats_);
    stages_.push_back(create_convolution(stage.params, stage.weights, stage.epilogue));
    stage_scratch_ = std::max(stage_scratch_, stages_.back()->scratch_bytes());
    out_floats_ = stage.params.batch * stage.params.out_channels;
    for (std::size_t i = 0; i < stage.params.spatial_rank; ++i) out_floats_ *= stage.params.out_dims[i];
  }

  std::vector<std::unique_ptr<Convolution>> stages_;
  std::array<std::size_t, 2> between_{};  ///< floats of what lies between stages
  std::size_t stage_scratch_ = 0;
  std::size_t out_floats_ = 0;  ///< of the last stage
};

/// Whether a stage reads and gives anything.
bool has_work(const ConvolutionStage& stage) {
  const ConvolutionParams& params = stage.params;
  std::size_t least = std::min({params.batch, params.in_channels, params.out_channels});
  for (std::size_t i = 0; i < params.spatial_rank; ++i)
    least = std::min({least, params.in_dims[i], params.out_dims[i]});
  return least != 0;
}

bool has_work(const SeparableStages& stages) {
  return has_work(stages.depthwise) && (!stages.expansion || has_work(*stages.expansion)) &&
         (!stages.projection || has_work(*stages.projection));
}

}  // namespace

std::unique_ptr<Convolution> create_separable_convolution(const SeparableStages& stages,
                                                          SeparableAlgorithm algorithm) {
  if (algorithm != SeparableAlgorithm::in_turn && has_work(stages)) {
    auto strips = std::make_unique<StripsConvolution>(stages);
    if (algorithm == SeparableAlgorithm::strips ? strips->is_feasible() : strips->is_worthwhile())
      return strips;
  }
  return std::make_unique<ConvolutionsInTurn>(stages);
}

}  // namespace ir::kernels
