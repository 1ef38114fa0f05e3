#include "kernels/integer_convolution.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/convolution_cost.h"
#include "kernels/convolution_geometry.h"
#include "kernels/convolution_prologue.h"
#include "kernels/integer_kernels.h"

namespace ir::kernels {
namespace {

constexpr int kMostInteger = 255;

/// How many integers there are per unit of some values, and the largest of them.
struct Integers {
  float per_unit = 0;
  float most = 0;
};

/// A `per_unit` of 0: there are none.
Integers integers_of(const float* values, std::size_t count) {
  const float most = largest_magnitude(values, count);
  if (most == 0 && are_integers(values, count, 1, 0)) return {1, 0};
  if (!std::isnormal(most)) return {};
  const auto fits = [&](int integer) {
    const float per_unit = static_cast<float>(integer) / most;
    // Most wrong ones are found out by the first values.
    constexpr std::size_t kFirst = 8;
    return std::isfinite(per_unit) &&
           are_integers(values, std::min(count, kFirst), per_unit, kIntegerTolerance) &&
           are_integers(values, count, per_unit, kIntegerTolerance);
  };
  const auto with = [&](int integer) {
    return Integers{static_cast<float>(integer) / most, static_cast<float>(integer)};
  };
  // Tools for quantisation let the largest weight be the largest integer.
  for (const int integer : {127, 128}) {
    if (fits(integer)) return with(integer);
  }
  for (int integer = 1; integer <= kMostInteger; ++integer) {
    if (fits(integer)) return with(integer);
  }
  return {};
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
  [[nodiscard]] std::size_t image_bytes() const { return scratch_bytes_for(groups_ * pairs() * row_floats_); }

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
  const ConvolutionGeometry geometry(params);
  const bool is_depthwise = geometry.in_channels == 1 && geometry.groups > 1;
  if (gemm_pair_kernels() == nullptr || is_depthwise || geometry.is_full()) return nullptr;
  constexpr float kMostImage = std::numeric_limits<std::int16_t>::max();
  constexpr double kMostSum = std::numeric_limits<std::int32_t>::max();
  if (!std::isnormal(1 / image.step) || !(image.most <= kMostImage)) return nullptr;

  const std::size_t terms = geometry.in_channels * geometry.taps();
  auto found = std::make_shared<IntegerFilters>();
  found->per_unit_ = 1 / image.step;
  found->weights_per_unit_.resize(params.out_channels);
  std::atomic<bool> is_possible{true};
  parallel_for(params.out_channels, grain_for_cost(terms), [&](std::size_t begin, std::size_t end) {
    for (std::size_t filter = begin; filter < end && is_possible; ++filter) {
      const Integers integers = integers_of(weights + filter * terms, terms);
      const double most_sum = static_cast<double>(terms) * static_cast<double>(integers.most * image.most);
      if (!std::isnormal(image.step / integers.per_unit) || most_sum > kMostSum) is_possible = false;
      found->weights_per_unit_[filter] = integers.per_unit;
    }
  });
  if (!is_possible) return nullptr;
  for (const float per_unit : found->weights_per_unit_) found->scale_.push_back(image.step / per_unit);
  return found;
}

AlignedFloats IntegerFilters::pairs(std::size_t channels, std::size_t taps, const float* weights) const {
  const std::size_t lanes = divide_up(channels, 2) * taps;
  AlignedFloats pairs(scale_.size() * lanes);
  parallel_for(scale_.size(), grain_for_cost(lanes), [&](std::size_t begin, std::size_t end) {
    for (std::size_t filter = begin; filter < end; ++filter) {
      const float per_unit = weights_per_unit_[filter];
      const float* even = weights + filter * channels * taps;
      float* to = pairs.data() + filter * lanes;
      for (std::size_t channel = 0; channel < channels; channel += 2, even += 2 * taps, to += taps) {
        pair_integers(even, channel + 1 < channels ? even + taps : nullptr, per_unit, taps, to);
      }
    }
  });
  return pairs;
}

double integer_convolution_cost(const ConvolutionGeometry& geometry,
                                double (*cost)(const ConvolutionGeometry& geometry)) {
  if (geometry.integers == nullptr) return kCannotServe;
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
    std::string_view algorithm, const ConvolutionGeometry& geometry, const float* weights,
    const Epilogue& epilogue, const Prologue& prologue,
    std::unique_ptr<Convolution> (*create)(const ConvolutionGeometry& geometry, const float* weights,
                                           const Epilogue& epilogue, const Prologue& prologue)) {
  if (geometry.integers == nullptr || !prologue.is_empty()) return nullptr;
  Epilogue of_integers = epilogue;
  of_integers.row_scale = geometry.integers->scale();
  const AlignedFloats pairs = geometry.integers->pairs(geometry.in_channels, geometry.taps(), weights);
  auto convolution = create(paired(geometry), pairs.data(), of_integers, {});
  if (convolution == nullptr) return nullptr;
  return std::make_unique<IntegerConvolution>(algorithm, geometry, std::move(convolution));
}

}  // namespace ir::kernels
