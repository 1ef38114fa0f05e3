// Chains by strips of levels: from the image of the depthwise stage to that of the projection, a lane holds
// the bytes of four channels.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/image_lanes.h"
#include "kernels/depthwise/blocked_product.h"
#include "kernels/depthwise/depthwise_lanes.h"
#include "kernels/depthwise/separable_strips.h"
#include "kernels/depthwise/strip_plan.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kTogether = kMostLaneTerms;
// Lanes that go from stage to stage together, of whole panels of the expansion's rows ...
constexpr std::size_t kPieceLanes = 8;
// ... and pieces of them that make a block of the projection's sums.
constexpr std::size_t kBlockPieces = 8;

ImageLanes image_of(const SeparableStages& stages) {
  const ConvolutionParams& params = stages.first().params;
  const bool are_bytes = !params.image_levels.empty();
  if (stages.expansion) return {*params.integers, params.in_channels, are_bytes};
  const IntegerWindows& windows = stages.depthwise.windows;
  return {windows.weights->values(), params.in_channels, windows.steps, are_bytes};
}

/// What a depthwise stage does to the sums of its windows.
OwnedEpilogue epilogue_of_windows(const ConvolutionStage& stage, std::size_t taps) {
  const IntegerEpilogue sums(stage.epilogue, *stage.windows.weights, taps, stage.weights,
                             stage.windows.steps);
  return epilogue_of_levels(sums.get(), stage.quantization, stage.params.out_channels);
}

/// The windows of a depthwise stage as its kernels take them, lane by lane.
class LaneWindows {
 public:
  LaneWindows(const ConvolutionStage& stage, std::size_t side)
      : epilogue_(epilogue_of_windows(stage, side * side)),
        size_(side * tap_groups(side) * kTogether * kTogether),
        weights_(divide_up(stage.params.out_channels, kTogether) * size_) {
    const std::size_t taps = side * side;
    const AlignedFloats lanes = stage.windows.weights->lanes(taps, 1, stage.weights);
    const std::size_t apart = divide_up(taps, kTogether) * kTogether;
    for (std::size_t channel = 0; channel < stage.params.out_channels; ++channel) {
      const auto* const codes = reinterpret_cast<const std::int8_t*>(lanes.data()) + channel * apart;
      std::int8_t* const to = weights_.data() + channel / kTogether * size_ + channel % kTogether * kTogether;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::size_t column = tap % side;
        const std::size_t group = tap / side * tap_groups(side) + column / kTogether;
        to[group * kTogether * kTogether + column % kTogether] = codes[tap];
      }
    }
  }

  [[nodiscard]] LaneWindow of(std::size_t lane) const {
    const std::size_t channel = lane * kTogether;
    return {weights_.data() + lane * size_, epilogue_.scale() + channel, epilogue_.bias() + channel,
            epilogue_.low(), epilogue_.high()};
  }

 private:
  OwnedEpilogue epilogue_;
  std::size_t size_;  ///< of a lane
  std::vector<std::int8_t> weights_;
};

/// The kernel for a depthwise stage of such a geometry, if there is one.
DepthwiseLanesKernel kernel_for(const ConvolutionGeometry& geometry) {
  const ConvolutionAxis& axis = geometry.axes[2];
  return geometry.is_square() ? depthwise_lanes_kernel(axis.kernel, axis.stride) : nullptr;
}

bool are_quads(const ConvolutionStage& stage) {
  return channels_of_lane(stage) == kTogether && stage.params.integers->values().form == LaneForm::quads;
}

float step_of(const IntegerWindows& windows, std::size_t channel) {
  return windows.steps[windows.steps.size() == 1 ? 0 : channel];
}

/// Whether windows are for levels of such quantisations.
bool take_levels(const IntegerWindows& windows, ChannelQuantization levels) {
  if (windows.weights == nullptr || levels.empty()) return false;
  if (windows.steps.size() != 1 && levels.size() != 1 && windows.steps.size() != levels.size()) return false;
  for (std::size_t i = 0; i < std::max(windows.steps.size(), levels.size()); ++i) {
    const Quantization& of = of_channel(levels, i);
    const auto grid = of.out_range > 0 ? integer_grid(of) : std::nullopt;
    if (!grid || grid->step != step_of(windows, i) || grid->low != windows.weights->values().base)
      return false;
  }
  return true;
}

/// Whether every stage takes the levels that the one before it leaves.
bool takes_lanes(const SeparableStages& stages) {
  const ConvolutionStage& middle = stages.depthwise;
  if (!stages.projection || middle.windows.weights == nullptr || !are_quads(*stages.projection)) return false;
  if (stages.projection->epilogue.residual && !stages.projection->epilogue.levels.empty()) return false;
  if (!takes_levels(stages.projection->params.integers.get(), middle.quantization)) return false;
  if (!stages.expansion) {
    return middle.params.image_levels.empty() || take_levels(middle.windows, middle.params.image_levels);
  }
  const ConvolutionStage& first = *stages.expansion;
  if (!first.params.image_levels.empty() && !takes_levels(ConvolutionGeometry(first.params))) return false;
  return are_quads(first) && take_levels(middle.windows, first.quantization) &&
         common_range(first.epilogue, first.quantization) &&
         divide_up(first.params.in_channels, kTogether) <= gemm_kernels().block_depth;
}

class LaneStrips final : public ByStrips {
 public:
  LaneStrips(const SeparableStages& stages, DepthwiseLanesKernel kernel)
      : ByStrips(stages.depthwise.params),
        filter_lane_(kernel),
        image_(image_of(stages)),
        windows_(stages.depthwise, geometry_.axes[2].kernel),
        zero_(stages.depthwise.windows.weights->zero()),
        pieces_(geometry_.groups, 2 * kTogether, kPieceLanes / 2),
        projection_(*stages.projection, {0, stages.projection->params.out_channels},
                    pieces_.borders(kBlockPieces)) {
    if (stages.expansion) {
      expansion_.emplace(*stages.expansion, pieces_.borders(),
                         Borders{0, stages.expansion->params.in_channels}, true);
    }
    plan();
  }

  std::string_view algorithm() const override { return "strips"; }
  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const floats = aligned_scratch(scratch);
    for_each_group(
        geometry_.batch * strips_.size(), 1, task_cost(), geometry_.workers, [&](const GroupRange& range) {
          float* const slot = floats + range.worker * slot_floats_;
          convolve(range.group / strips_.size(), strips_[range.group % strips_.size()], in, out, slot);
        });
  }

 private:
  [[nodiscard]] std::size_t in_channels() const {
    return expansion_ ? expansion_->channel_count() : geometry_.groups;
  }
  [[nodiscard]] std::size_t piece_lanes() const { return divide_up(pieces_.most(), kTogether); }
  [[nodiscard]] std::size_t block_lanes() const {
    std::size_t most = 0;
    for (std::size_t block = 0; block < projection_.term_blocks(); ++block)
      most = std::max(most, projection_.depth(block));
    return most;
  }
  [[nodiscard]] std::size_t in_size(std::size_t rows) const { return rows * geometry_.axes[2].in; }
  [[nodiscard]] std::size_t out_size(std::size_t rows) const { return rows * geometry_.axes[2].out; }

  [[nodiscard]] std::size_t floats_in_hand(std::size_t rows) const {
    const std::size_t in = in_size(rows_seen(geometry_.axes[1], rows));
    std::size_t lanes = piece_lanes() * in + block_lanes() * out_size(rows);
    if (expansion_) lanes += expansion_->term_count() * in;
    return lanes + projection_.row_count() * out_size(rows);
  }

  void plan() {
    const StripPlan plan = plan_strips(geometry_, {expansion_.has_value(), true},
                                       [this](std::size_t rows) { return floats_in_hand(rows); });
    strips_ = plan.strips;
    is_feasible_ = !strips_.empty();
    is_worthwhile_ = is_feasible_ && geometry_.out_size() >= kLeastStripsPlane && plan.repeats_little;
    geometry_.workers = std::min(geometry_.workers, geometry_.batch * strips_.size());
    plan_slot();
  }

  /// Staged rows have all samples that windows see, and nothing else.
  [[nodiscard]] std::size_t staged_stride() const {
    const ConvolutionAxis& axis = geometry_.axes[2];
    return (axis.out - 1) * axis.stride + axis.kernel;
  }
  [[nodiscard]] std::size_t staged_rows(const StripRows& strip) const {
    const ConvolutionAxis& axis = geometry_.axes[1];
    return (strip.out - 1) * axis.stride + axis.kernel;
  }

  void plan_slot() {
    std::size_t in = 0;
    std::size_t out = 0;
    std::size_t staged = 0;
    for (const StripRows& strip : strips_) {
      in = std::max(in, in_size(strip.in));
      out = std::max(out, out_size(strip.out));
      staged = std::max(staged, staged_rows(strip) * staged_stride());
    }
    if (expansion_) {
      slot_.joined = take(expansion_->term_count() * in);
      slot_.image = take(expansion_->term_count() * kernels_.padded(in));
    }
    slot_.lanes = take(piece_lanes() * round_up_to_line(in));
    slot_.staged = take(staged + 2 * GemmKernels::kLanesLimit);
    slot_.filtered = take(block_lanes() * spread_stride(out));
    if (projection_.epilogue().wants_levels())
      slot_.sums = take(projection_.row_count() * round_up_to_line(out));
    settle_slot();
  }

  [[nodiscard]] std::size_t task_cost() const {
    const std::size_t lanes = divide_up(geometry_.groups, kTogether);
    std::size_t terms =
        geometry_.taps() * geometry_.out_size() + projection_.row_count() * geometry_.out_size();
    if (expansion_) terms += in_channels() * geometry_.in_size();
    return lanes * terms / (strips_.size() * kernels_.lanes) + 1;
  }

  /// All stages of one strip of one image.
  void convolve(std::size_t index, const StripRows& strip, const ConvolutionInputs& in, float* out,
                float* slot) const {
    const std::size_t first =
        index * in_channels() * geometry_.in_size() + strip.first_in * geometry_.axes[2].in;
    if (expansion_) pack_image(in.image, first, strip, slot);
    std::size_t block = 0;
    for (std::size_t piece = 0; piece < pieces_.parts(); ++piece) {
      if (expansion_) {
        expand(strip, piece, slot);
      } else {
        image_.join(in.image, first, geometry_.in_size(), pieces_.begin(piece) / kTogether,
                    divide_up(pieces_.begin(piece + 1), kTogether), in_size(strip.in), slot + slot_.lanes,
                    lanes_stride(strip));
      }
      filter(strip, piece, block, slot);
      if (pieces_.begin(piece + 1) == projection_.first_channel(block + 1))
        project(index, strip, block++, in.residual, out, slot);
    }
  }

  [[nodiscard]] std::size_t lanes_stride(const StripRows& strip) const {
    return round_up_to_line(in_size(strip.in));
  }

  void pack_image(const float* image, std::size_t first, const StripRows& strip, float* slot) const {
    const std::size_t size = in_size(strip.in);
    float* const joined = slot + slot_.joined;
    image_.join(image, first, geometry_.in_size(), 0, image_.lanes(), size, joined, size);
    kernels_.pack_columns(joined, size, expansion_->term_count(), size, slot + slot_.image);
  }

  void expand(const StripRows& strip, std::size_t piece, float* slot) const {
    // Every fourth row is one of lanes.
    const std::size_t stride = lanes_stride(strip) / kTogether;
    expansion_->run(piece, 0, {slot + slot_.lanes, nullptr, in_size(strip.in), stride}, slot + slot_.image);
  }

  void filter(const StripRows& strip, std::size_t piece, std::size_t block, float* slot) const {
    const std::size_t lanes = divide_up(pieces_.size(piece), kTogether);
    const std::size_t first = pieces_.begin(piece) / kTogether;
    const std::size_t stride = spread_stride(out_size(strip.out));
    float* const staged = slot + slot_.staged;
    for (std::size_t i = 0; i < lanes; ++i) {
      stage(slot + slot_.lanes + i * lanes_stride(strip), strip, staged);
      filter_lane_({staged, staged_stride()}, windows_.of(first + i), strip.out, geometry_.axes[2].out,
                   slot + slot_.filtered + (first + i - projection_.first_term(block)) * stride);
    }
  }

  /// Rows of a lane with what is around them.
  void stage(const float* lanes, const StripRows& strip, float* to) const {
    const ConvolutionAxis& axis = geometry_.axes[2];
    const std::size_t stride = staged_stride();
    const auto above = static_cast<std::size_t>(strip.padding);
    std::fill_n(to, above * stride, zero_);
    StagedRows rows;
    rows.count = strip.in;
    rows.from_stride = axis.in;
    rows.to_stride = stride;
    rows.before = static_cast<std::size_t>(axis.pad);
    rows.samples = std::min(axis.in, stride - rows.before);
    rows.after = stride - rows.before - rows.samples;
    rows.padding = zero_;
    kernels_.stage_rows(lanes, rows, {1, 0, 0}, to + above * stride);
    const std::size_t below = staged_rows(strip) - above - strip.in;
    std::fill_n(to + (above + strip.in) * stride, below * stride, zero_);
  }

  void project(std::size_t index, const StripRows& strip, std::size_t block, const float* residual,
               float* out, float* slot) const {
    const std::size_t size = out_size(strip.out);
    const std::size_t rows = projection_.row_count();
    const std::size_t to = index * rows * geometry_.out_size() + out_size(strip.first_out);
    const float* const filtered = slot + slot_.filtered;
    const OwnedEpilogue& epilogue = projection_.epilogue();
    if (!epilogue.wants_levels()) {
      const float* const added = epilogue.residual() ? residual + to : nullptr;
      projection_.run_with_hook(block, {out + to, added, size, geometry_.out_size()}, filtered,
                                spread_stride(size));
      return;
    }
    float* const sums = slot + slot_.sums;
    const std::size_t stride = round_up_to_line(size);
    auto* const levels = reinterpret_cast<std::uint8_t*>(out) + to;
    projection_.run_with_hook(block, {sums, nullptr, size, stride, levels, geometry_.out_size()}, filtered,
                              spread_stride(size));
    if (block + 1 == projection_.term_blocks() && !projection_.stores_levels())
      epilogue.put_levels({sums, stride, rows, size}, 0, out, to, geometry_.out_size());
  }

  // Of the depthwise stage:
  DepthwiseLanesKernel filter_lane_;
  ImageLanes image_;  ///< of the first stage
  LaneWindows windows_;
  float zero_;  ///< a lane of what is around the image
  ChannelSplit pieces_;
  // The stages around it:
  BlockedProduct projection_;
  std::optional<BlockedProduct> expansion_;
  std::vector<StripRows> strips_;
  /// Where the parts of a worker's scratch begin.
  struct {
    std::size_t joined = 0;    ///< the image
    std::size_t image = 0;     ///< packed for the expansion
    std::size_t lanes = 0;     ///< what the depthwise stage sees of one piece
    std::size_t staged = 0;    ///< of one lane
    std::size_t filtered = 0;  ///< one block of lanes
    std::size_t sums = 0;      ///< of the projection, before they are levels
  } slot_;
};

}  // namespace

IntegerWindows integer_windows(const ConvolutionParams& params, const ConstantWeights& weights,
                               std::span<const IntegerGrid> image) {
  const ConvolutionGeometry geometry(params);
  if (image.empty() || kernel_for(geometry) == nullptr) return {};
  IntegerWindows windows;
  IntegerGrid common{1, image[0].low, image[0].high, 0};
  for (const IntegerGrid& grid : image) {
    // Padding is 0, and has to be a level.
    if (grid.offset != 0 || grid.low != common.low || !std::isnormal(1 / grid.step)) return {};
    common.high = std::max(common.high, grid.high);
    windows.steps.push_back(grid.step);
  }
  auto found = IntegerWeights::find(params.out_channels, geometry.taps(), weights, common, Around::zeros);
  if (found == nullptr || found->form() != LaneForm::quads) return {};
  windows.weights = std::move(found);
  return windows;
}

std::unique_ptr<Convolution> create_lane_strips(const SeparableStages& stages, StripsIf condition) {
  if (!takes_lanes(stages)) return nullptr;
  const DepthwiseLanesKernel kernel = kernel_for(ConvolutionGeometry(stages.depthwise.params));
  if (kernel == nullptr) return nullptr;
  auto strips = std::make_unique<LaneStrips>(stages, kernel);
  if (condition == StripsIf::worthwhile ? strips->is_worthwhile() : strips->is_feasible()) return strips;
  return nullptr;
}

}  // namespace ir::kernels
