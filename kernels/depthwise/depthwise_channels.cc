// Depthwise convolution of planes so small that rows are shorter than vectors: vectors of channels instead.
// Some planes at a time are turned round, multiplied tap by tap, and the results turned back.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/filter_tap.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/depthwise/depthwise_direct.h"
#include "kernels/depthwise/depthwise_kernels.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

// Two vectors of so many samples stay in the first-level cache.
constexpr std::size_t kMostSamples = 256;

/// The taps of all outputs of a plane that find a sample.
PlaneTaps taps_of(const ConvolutionGeometry& geometry) {
  const std::array<ConvolutionAxis, 3>& axes = geometry.axes;
  std::vector<std::vector<PlaneTaps::Tap>> of_output(geometry.out_size());
  std::uint32_t number = 0;
  for_each_tap(geometry, [&](const FilterTap& tap) {
    for (std::size_t z = tap.outputs[0].begin; z < tap.outputs[0].end; ++z) {
      for (std::size_t y = tap.outputs[1].begin; y < tap.outputs[1].end; ++y) {
        for (std::size_t x = tap.outputs[2].begin; x < tap.outputs[2].end; ++x) {
          const std::size_t after_first =
              (z * axes[0].stride * axes[1].in + y * axes[1].stride) * axes[2].in + x * axes[2].stride;
          const auto sample =
              static_cast<std::uint32_t>(tap.first + static_cast<std::ptrdiff_t>(after_first));
          of_output[(z * axes[1].out + y) * axes[2].out + x].push_back({sample, number});
        }
      }
    }
    ++number;
  });
  PlaneTaps plane;
  for (const std::vector<PlaneTaps::Tap>& taps : of_output) {
    plane.taps.insert(plane.taps.end(), taps.begin(), taps.end());
    plane.ends.push_back(static_cast<std::uint32_t>(plane.taps.size()));
  }
  return plane;
}

/// The same for kHeldTaps taps, of which those that find none have the sample behind the last one.
PlaneWindows windows_of(const ConvolutionGeometry& geometry, const PlaneTaps& plane, std::size_t lanes) {
  PlaneWindows windows(plane.ends.size() * kHeldTaps, static_cast<std::uint32_t>(geometry.in_size() * lanes));
  std::size_t i = 0;
  for (std::size_t output = 0; output < plane.ends.size(); ++output) {
    for (; i < plane.ends[output]; ++i) {
      const auto& [sample, tap] = plane.taps[i];
      windows[output * kHeldTaps + tap] = static_cast<std::uint32_t>(sample * lanes);
    }
  }
  return windows;
}

class DepthwiseChannels final : public Convolution {
 public:
  DepthwiseChannels(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        multiply_(depthwise_channels_kernels()),
        multiply_windows_(depthwise_windows_kernels()),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups),
        plane_(taps_of(geometry)),
        vectors_(divide_up(geometry.groups, kernels_.lanes), multiply_.size()),
        sample_floats_(round_up_to_line(most_channels() * (geometry.in_size() + 1))),
        result_floats_(round_up_to_line(most_channels() * geometry.out_size())) {
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(tasks(), 1));
    if (geometry.taps() == kHeldTaps) windows_ = windows_of(geometry, plane_, kernels_.lanes);
    const PackedForm form{"depthwise_channels", {&kernels_}, {}};
    weights_ = packed_filters(geometry, weights, form, vectors_.total * kernels_.lanes * geometry.taps(),
                              [&](float* to) { pack_weights(weights, to); });
  }

  std::string_view algorithm() const override { return "depthwise_channels"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    const std::size_t cost =
        (plane_.taps.size() + 2 * (geometry_.in_size() + geometry_.out_size())) * multiply_.size() + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_task(tasks(), cost, geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t worker) {
                    float* const samples = floats + worker * slot_floats();
                    for (std::size_t task = begin; task < end; ++task) convolve(in, out, task, samples);
                  });
  }

 private:
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, sample_floats_ + result_floats_);
  }

  [[nodiscard]] std::size_t tasks() const { return geometry_.batch * vectors_.parts; }
  [[nodiscard]] std::size_t most_channels() const { return multiply_.size() * kernels_.lanes; }
  [[nodiscard]] std::size_t first_channel(std::size_t block) const {
    return vectors_.begin(block) * kernels_.lanes;
  }
  [[nodiscard]] std::size_t channels(std::size_t block) const {
    return std::min(first_channel(block + 1), geometry_.groups) - first_channel(block);
  }

  void pack_weights(const float* weights, float* to) const {
    const std::size_t taps = geometry_.taps();
    for (std::size_t block = 0; block < vectors_.parts; ++block) {
      const std::size_t first = first_channel(block) * taps;
      kernels_.pack_columns_transposed(weights + first, taps, taps, channels(block), to + first);
    }
  }

  /// A block of channels of one image.
  void convolve(const ConvolutionInputs& in, float* out, std::size_t task, float* samples) const {
    const std::size_t block = task % vectors_.parts;
    const std::size_t channel = first_channel(block);
    const std::size_t plane = task / vectors_.parts * geometry_.groups + channel;
    const std::size_t count = channels(block);
    float* const result = samples + sample_floats_;
    kernels_.pack_columns_transposed(in.image + plane * geometry_.in_size(), geometry_.in_size(),
                                     geometry_.in_size(), count, samples);
    const std::size_t vectors = vectors_.size(block);
    const float* const weights = weights_.get() + channel * geometry_.taps();
    if (windows_.empty()) {
      multiply_[vectors - 1](plane_, samples, weights, result);
    } else {
      const std::size_t width = vectors * kernels_.lanes;
      std::fill_n(samples + geometry_.in_size() * width, width, 0.0F);
      multiply_windows_[vectors - 1](windows_, samples, weights, result);
    }
    Tile tile;
    tile.out = out + plane * geometry_.out_size();
    tile.stride = tile.columns = geometry_.out_size();
    if (epilogue_.residual()) tile.residual = in.residual + plane * geometry_.out_size();
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    kernels_.finish_transposed(result, vectors * kernels_.lanes, count, tile);
    epilogue_.post_channels(tile.out, tile.stride, count, tile.columns, channel);
  }

  const GemmKernels& kernels_;
  const DepthwiseChannelsKernels& multiply_;
  const DepthwiseWindowsKernels& multiply_windows_;
  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  PlaneTaps plane_;
  PlaneWindows windows_;  ///< where they serve
  Split vectors_;         ///< of channels
  PackedFloats weights_;
  std::size_t sample_floats_;
  std::size_t result_floats_;
};

bool takes_depthwise_channels(const ConvolutionGeometry& geometry) {
  return geometry.in_channels == 1 && geometry.out_channels == 1 && geometry.lanes == LaneForm::floats &&
         geometry.groups >= gemm_kernels().lanes && geometry.out_size() != 0 &&
         geometry.out_size() <= GemmKernels::kPlaneLimit && geometry.in_size() <= kMostSamples &&
         geometry.taps() <= kMostSamples;
}

// Both in cycles of a channel, fitted to planes of 3 x 4 to 16 x 16 and windows of 3 x 3 to 7 x 7.
double cost_by_channels(const ConvolutionGeometry& geometry) {
  struct Costs {
    double held_tap, tap, sample, output;  // of a vector
    double channel;
  };
  const std::size_t lanes = gemm_kernels().lanes;
  constexpr Costs kOfLong{1.2, 1.8, 3.4, 2.2, 5.5};
  constexpr Fitted<Costs> kCosts{kOfLong, {1.05, 1.4, 1.5, 0.3, 10}, kOfLong, {1.2, 1.6, 1.75, 0.35, 11.5}};
  const Costs& costs = kCosts.here();
  const auto outputs = static_cast<double>(geometry.out_size());
  double taps = costs.held_tap * kHeldTaps * outputs;
  if (geometry.taps() != kHeldTaps) {
    std::size_t found = 0;
    for_each_tap(geometry, [&](const FilterTap& tap) { found += tap.count(); });
    taps = costs.tap * static_cast<double>(found);
  }
  const double of_vector =
      taps + costs.sample * static_cast<double>(geometry.in_size()) + costs.output * outputs;
  return of_vector / static_cast<double>(lanes) + costs.channel;
}
double cost_by_rows(const ConvolutionGeometry& geometry) {
  struct Costs {
    double channel;
    double tap;          // of the first vector of a row
    double another_tap;  // of those that overlap with it
  };
  constexpr Costs kDirect{48, 0.83, 0.5};
  constexpr Costs kStaged{115, 1.05, 0.3};
  constexpr Costs kSingleRow{115, 1.05, 1.05};
  constexpr double kStridedTap = 2;
  const auto& [depth, rows, columns] = geometry.axes;
  const Costs& costs = direct_depthwise(geometry) != nullptr ? kDirect : rows.out == 1 ? kSingleRow : kStaged;
  const auto vectors = static_cast<double>(divide_up(columns.out, gemm_kernels().lanes));
  const double of_tap =
      columns.stride == 1 ? costs.tap + costs.another_tap * (vectors - 1) : kStridedTap * vectors;
  return costs.channel + of_tap * static_cast<double>(geometry.taps() * depth.out * rows.out);
}

}  // namespace

// Nothing else is as fast as either way to convolve single channels: it is for the tuner to disagree.
double depthwise_channels_cost(const ConvolutionGeometry& geometry) {
  if (!takes_depthwise_channels(geometry)) return kCannotServe;
  return cost_by_channels(geometry) < cost_by_rows(geometry) ? 0 : 1;
}

std::unique_ptr<Convolution> create_depthwise_channels(const ConvolutionGeometry& geometry,
                                                       const float* weights, const Epilogue& epilogue) {
  if (weights == nullptr || !takes_depthwise_channels(geometry)) return nullptr;
  return std::make_unique<DepthwiseChannels>(geometry, weights, epilogue);
}

}  // namespace ir::kernels
