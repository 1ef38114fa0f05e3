#include "kernels/integer_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/convolution_cost.h"
#include "kernels/convolution_geometry.h"
#include "kernels/convolution_prologue.h"
#include "kernels/integer_kernels.h"

namespace ir::kernels {
namespace {

constexpr int kMostInteger = 255;

/// The step that all of `values` are multiples of, as small ones as possible; 0: there is none.
float step_of(const float* values, std::size_t count) {
  float most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, std::abs(values[i]));
  if (std::all_of(values, values + count, [](float value) { return value == 0; })) return 1;
  if (!std::isnormal(most)) return 0;
  // A wrong one is found out by one of the first values.
  for (int integer = 1; integer <= kMostInteger; ++integer) {
    const float per_unit = static_cast<float>(integer) / most;
    const bool fits = std::isfinite(per_unit) && std::all_of(values, values + count, [&](float value) {
      const float position = value * per_unit;
      return std::abs(position - std::nearbyint(position)) <= kIntegerTolerance;
    });
    if (fits) return most / static_cast<float>(integer);
  }
  return 0;
}

/// Two integers as a lane.
float lane_of(std::int16_t low, std::int16_t high) {
  const std::int16_t integers[] = {low, high};
  float lane = 0;
  std::memcpy(&lane, integers, sizeof lane);
  return lane;
}

/// The image turned into pairs, in scratch, before `convolution` gets it.
class IntegerConvolution final : public Convolution {
 public:
  IntegerConvolution(std::string_view algorithm, const ConvolutionGeometry& geometry,
                     std::unique_ptr<Convolution> convolution)
      : algorithm_(algorithm),
        channels_(geometry.in_channels),
        row_floats_(geometry.in_size()),
        groups_(geometry.batch * geometry.groups),
        per_unit_(geometry.integers->per_unit()),
        convolution_(std::move(convolution)) {}

  std::string_view algorithm() const override { return algorithm_; }
  std::size_t scratch_bytes() const override { return image_bytes() + convolution_->scratch_bytes(); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const image = aligned_scratch(scratch);
    parallel_for(groups_ * pairs(), grain_for_cost(row_floats_), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t channel = 2 * (i % pairs());
        const float* const even = in.image + (i / pairs() * channels_ + channel) * row_floats_;
        const float* const odd = channel + 1 < channels_ ? even + row_floats_ : nullptr;
        pair_integers(even, odd, per_unit_, row_floats_, image + i * row_floats_);
      }
    });
    convolution_->run({image, nullptr, in.residual}, out, scratch + image_bytes());
  }

 private:
  /// Of a group.
  [[nodiscard]] std::size_t pairs() const { return divide_up(channels_, 2); }
  [[nodiscard]] std::size_t image_bytes() const {
    return scratch_bytes_for(groups_ * pairs() * row_floats_);
  }

  std::string_view algorithm_;
  std::size_t channels_;  ///< of a group
  std::size_t row_floats_;
  std::size_t groups_;  ///< of all images
  float per_unit_;
  std::unique_ptr<Convolution> convolution_;
};

/// The geometry that the products see.
ConvolutionGeometry paired(const ConvolutionGeometry& geometry) {
  ConvolutionGeometry pairs = geometry;
  pairs.in_channels = divide_up(geometry.in_channels, 2);
  pairs.weights_stay = false;
  pairs.integers = nullptr;
  pairs.are_pairs = true;
  return pairs;
}

}  // namespace

std::shared_ptr<const IntegerFilters> IntegerFilters::find(const ConvolutionParams& params,
                                                           const float* weights, const IntegerGrid& image) {
  if (gemm_pair_kernels() == nullptr) return nullptr;
  const ConvolutionGeometry geometry(params);
  const std::size_t channels = geometry.in_channels;
  const std::size_t taps = geometry.taps();
  const std::size_t filters = geometry.groups * geometry.out_channels;
  const float per_unit = 1 / image.step;
  if (!std::isnormal(per_unit) || !(image.most <= std::numeric_limits<std::int16_t>::max())) return nullptr;

  auto found = std::make_shared<IntegerFilters>();
  found->per_unit_ = per_unit;
  std::vector<float> steps;
  for (std::size_t filter = 0; filter < filters; ++filter) {
    const float* const values = weights + filter * channels * taps;
    const float step = step_of(values, channels * taps);
    if (step == 0) return nullptr;
    double sum = 0;
    for (std::size_t i = 0; i < channels * taps; ++i) sum += std::abs(static_cast<double>(values[i]));
    const double most = sum / static_cast<double>(step) * static_cast<double>(image.most);
    if (most >= static_cast<double>(std::numeric_limits<std::int32_t>::max())) return nullptr;
    const float scale = step * image.step;
    if (!std::isnormal(scale)) return nullptr;
    steps.push_back(step);
    found->scale_.push_back(scale);
  }
  const std::size_t pairs = divide_up(channels, 2);
  found->pairs_ = AlignedFloats(filters * pairs * taps);
  for (std::size_t filter = 0; filter < filters; ++filter) {
    const float* const values = weights + filter * channels * taps;
    const auto integer = [&](std::size_t channel, std::size_t tap) {
      return channel == channels ? std::int16_t{0}
                                 : static_cast<std::int16_t>(
                                       std::lround(values[channel * taps + tap] / steps[filter]));
    };
    float* to = found->pairs_.data() + filter * pairs * taps;
    for (std::size_t channel = 0; channel < channels; channel += 2) {
      for (std::size_t tap = 0; tap < taps; ++tap)
        *to++ = lane_of(integer(channel, tap), integer(channel + 1, tap));
    }
  }
  return found;
}

double integer_convolution_cost(const ConvolutionGeometry& geometry,
                                double (*cost)(const ConvolutionGeometry& geometry)) {
  // A single output is a matter of memory.
  if (geometry.integers == nullptr || geometry.is_full()) return kCannotServe;
  constexpr double kProduct = 1.35;  // a sum takes two instructions
  constexpr double kPairing = 2;     // of a vector of pairs
  constexpr double kPass = 1500;     // of going through the image before
  const ConvolutionGeometry pairs = paired(geometry);
  const std::size_t vectors = divide_up(pairs.in_channels * geometry.in_size(), gemm_kernels().lanes);
  return kProduct * cost(pairs) + kPairing * static_cast<double>(vectors) + kPass;
}

std::size_t integer_convolution_weights(const ConvolutionGeometry& geometry) {
  const ConvolutionGeometry pairs = paired(geometry);
  return pairs.out_channels * pairs.in_channels * pairs.taps();
}

std::unique_ptr<Convolution> create_integer_convolution(
    std::string_view algorithm, const ConvolutionGeometry& geometry, const Epilogue& epilogue,
    const Prologue& prologue,
    std::unique_ptr<Convolution> (*create)(const ConvolutionGeometry& geometry, const float* weights,
                                           const Epilogue& epilogue, const Prologue& prologue)) {
  if (geometry.integers == nullptr || !prologue.is_empty()) return nullptr;
  Epilogue of_integers = epilogue;
  of_integers.row_scale = geometry.integers->scale();
  auto convolution = create(paired(geometry), geometry.integers->pairs(), of_integers, {});
  if (convolution == nullptr) return nullptr;
  return std::make_unique<IntegerConvolution>(algorithm, geometry, std::move(convolution));
}

}  // namespace ir::kernels
