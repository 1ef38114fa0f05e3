#include "kernels/integer_weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "kernels/gemm_kernels.h"
#include "kernels/integer_kernels.h"
#include "kernels/parallel.h"

namespace ir::kernels {
namespace {

constexpr int kMostInteger = 255;
/// Some times what f32 arithmetic on the way to weights is off by, in parts of the largest one.
constexpr float kWeightTolerance = 0x1p-20F;

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
    // In parts of the largest weight, whatever the step: small weights are many, and count together.
    const float tolerance = kWeightTolerance * static_cast<float>(integer);
    // Most wrong ones are found out by the first values.
    constexpr std::size_t kFirst = 8;
    return std::isfinite(per_unit) && are_integers(values, std::min(count, kFirst), per_unit, tolerance) &&
           are_integers(values, count, per_unit, tolerance);
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

}  // namespace

std::shared_ptr<const IntegerWeights> IntegerWeights::find(std::size_t channels, std::size_t terms,
                                                           const float* weights, const IntegerGrid& values) {
  constexpr float kMostValue = std::numeric_limits<std::int16_t>::max();
  constexpr double kMostSum = std::numeric_limits<std::int32_t>::max();
  if (gemm_pair_kernels() == nullptr || !std::isnormal(1 / values.step) || !(values.most <= kMostValue))
    return nullptr;

  auto found = std::make_shared<IntegerWeights>();
  found->per_unit_ = 1 / values.step;
  found->weights_per_unit_.resize(channels);
  std::atomic<bool> is_possible{true};
  parallel_for(channels, grain_for_cost(terms), [&](std::size_t begin, std::size_t end) {
    for (std::size_t channel = begin; channel < end && is_possible; ++channel) {
      const Integers integers = integers_of(weights + channel * terms, terms);
      const double most_sum = static_cast<double>(terms) * static_cast<double>(integers.most * values.most);
      if (!std::isnormal(values.step / integers.per_unit) || most_sum > kMostSum) is_possible = false;
      found->weights_per_unit_[channel] = integers.per_unit;
    }
  });
  if (!is_possible) return nullptr;
  for (const float per_unit : found->weights_per_unit_) found->scale_.push_back(values.step / per_unit);
  for (std::size_t channel = 0; values.offset != 0 && channel < channels; ++channel) {
    const float* const first = weights + channel * terms;
    found->shift_.push_back(static_cast<float>(std::accumulate(first, first + terms, 0.0)) * values.offset);
  }
  return found;
}

IntegerEpilogue::IntegerEpilogue(const Epilogue& epilogue, const IntegerWeights& weights)
    : epilogue_(epilogue), bias_(weights.shift()) {
  epilogue_.scale = weights.scale();
  if (bias_.empty()) return;
  for (std::size_t channel = 0; epilogue.bias != nullptr && channel < bias_.size(); ++channel)
    bias_[channel] += epilogue.bias[channel];
  epilogue_.bias = bias_.data();
}

AlignedFloats IntegerWeights::pairs(std::size_t terms, std::size_t taps, const float* weights) const {
  const std::size_t lanes = divide_up(terms, 2) * taps;
  AlignedFloats pairs(scale_.size() * lanes);
  parallel_for(scale_.size(), grain_for_cost(lanes), [&](std::size_t begin, std::size_t end) {
    for (std::size_t channel = begin; channel < end; ++channel) {
      const float per_unit = weights_per_unit_[channel];
      const float* even = weights + channel * terms * taps;
      float* to = pairs.data() + channel * lanes;
      if (taps == 1) {
        pair_neighbours(even, per_unit, terms, to);
        continue;
      }
      for (std::size_t term = 0; term < terms; term += 2, even += 2 * taps, to += taps)
        pair_integers(even, term + 1 < terms ? even + taps : nullptr, per_unit, taps, to);
    }
  });
  return pairs;
}

}  // namespace ir::kernels
