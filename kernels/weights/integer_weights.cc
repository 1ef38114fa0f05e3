#include "kernels/weights/integer_weights.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/elementwise/convert_simd.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr int kMostInteger = 255;
constexpr float kMostByte = std::numeric_limits<std::uint8_t>::max();
/// Some times what f32 arithmetic on the way to weights is off by, in parts of the largest one.
constexpr float kWeightTolerance = 0x1p-20F;

/// How many integers there are per unit of some values, and the largest magnitude of them.
struct Integers {
  float per_unit = 0;
  float most = 0;

  /// Of those `values`.
  [[nodiscard]] bool fit_signed_bytes(const float* values, std::size_t count) const {
    if (most <= 127) return true;
    return most == 128 &&
           std::none_of(values, values + count, [this](float value) { return value * per_unit > 127.5F; });
  }
};

/// What there is to know of one channel.
struct Filter {
  float per_unit = 0;  ///< integers per unit of its weights, as lanes() reads them
  float scale = 0;     ///< what an integer is worth in a sum of products
  float most = 0;      ///< the largest magnitude of an integer, at most
  bool are_bytes = true;
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
  // Tools for quantisation let the largest weight be the largest integer of a byte.
  for (const int integer : {127, 128}) {
    if (fits(integer) && with(integer).fit_signed_bytes(values, count)) return with(integer);
  }
  for (int integer = 1; integer <= kMostInteger; ++integer) {
    if (fits(integer)) return with(integer);
  }
  return {};
}

/// Of `terms` weights; nothing where they are no integers times a step that arithmetic keeps.
std::optional<Filter> filter_of(const float* weights, std::size_t terms, float step) {
  const Integers integers = integers_of(weights, terms);
  const float scale = step / integers.per_unit;
  if (!std::isnormal(scale)) return std::nullopt;
  return Filter{integers.per_unit, scale, integers.most, integers.fit_signed_bytes(weights, terms)};
}

/// Of those from `first` on.
std::optional<Filter> filter_of(const ScaledBytes& weights, std::size_t first, std::size_t terms,
                                float step) {
  const float* const unit = weights.scale_of(first, terms);
  if (unit == nullptr || !(std::isnormal(*unit * step) || *unit == 0)) return std::nullopt;
  return Filter{1, *unit * step, -std::numeric_limits<std::int8_t>::min(), true};
}

}  // namespace

std::optional<IntegerGrid> integer_grid(const Quantization& quantization) {
  IntegerGrid grid;
  grid.step = std::abs(quantization.out_range) / quantization.steps;
  if (!std::isnormal(grid.step)) return std::nullopt;
  const float lowest = std::min(quantization.out_low, quantization.out_high) / grid.step;
  grid.low = std::nearbyint(lowest);
  grid.high = grid.low + quantization.steps;
  // Limits of half precision leave some hundredths.
  constexpr float kMostOffset = 0.25F;
  const float offset = lowest - grid.low;
  if (std::abs(offset) > kLevelTolerance) grid.offset = offset * grid.step;
  constexpr float kMost = std::numeric_limits<std::int16_t>::max();
  const bool fits = std::abs(offset) <= kMostOffset && grid.low >= -kMost && grid.high <= kMost;
  return fits ? std::optional(grid) : std::nullopt;
}

std::shared_ptr<IntegerWeights> IntegerWeights::find_any(std::size_t channels, std::size_t terms,
                                                         const ConstantWeights& weights,
                                                         const IntegerGrid& values, Around around) {
  const bool takes_quads = gemm_integer_kernels(LaneForm::quads) != nullptr;
  const bool takes_pairs = gemm_integer_kernels(LaneForm::pairs) != nullptr;
  if (!(takes_quads || takes_pairs) || !std::isnormal(1 / values.step)) return nullptr;

  // Bytes begin at 0, and padding is one of them.
  const float base = values.low >= 0 && values.high <= kMostByte ? 0 : values.low;

  auto found = std::make_shared<IntegerWeights>();
  found->weights_per_unit_.resize(channels);
  found->scale_.resize(channels);
  const ScaledBytes* const bytes = weights.bytes();
  const float* const floats = bytes == nullptr ? weights.floats() : nullptr;
  std::atomic<bool> are_integers{true};
  std::atomic<bool> are_bytes{takes_quads};
  std::atomic<float> most{0};
  parallel_for(channels, grain_for_cost(terms), [&](std::size_t begin, std::size_t end) {
    for (std::size_t channel = begin; channel < end && are_integers; ++channel) {
      const std::size_t first = channel * terms;
      const std::optional<Filter> filter = bytes != nullptr ? filter_of(*bytes, first, terms, values.step)
                                                            : filter_of(floats + first, terms, values.step);
      if (!filter) {
        are_integers = false;
        return;
      }
      if (!filter->are_bytes) are_bytes = false;
      for (float seen = most; seen < filter->most && !most.compare_exchange_weak(seen, filter->most);) {
      }
      found->weights_per_unit_[channel] = filter->per_unit;
      found->scale_[channel] = filter->scale;
    }
  });
  if (!are_integers) return nullptr;

  const auto fit = [&](float most_value) {
    constexpr double kMostSum = std::numeric_limits<std::int32_t>::max();
    return static_cast<double>(terms) * static_cast<double>(most * most_value) <= kMostSum;
  };
  const float most_byte = values.high - base;
  const float magnitude = std::max(std::abs(values.low), std::abs(values.high));
  constexpr float kMostOfPair = std::numeric_limits<std::int16_t>::max();
  found->values_.per_unit = 1 / values.step;
  if (are_bytes && most_byte <= kMostByte &&
      (around == Around::nothing || std::abs(base + kMostByte / 2) <= kMostByte / 2) && fit(most_byte)) {
    found->values_.form = LaneForm::quads;
    found->values_.base = base;
  } else if (!takes_pairs || !(magnitude <= kMostOfPair) || !fit(magnitude)) {
    return nullptr;
  }
  found->offset_ = static_cast<double>(values.offset) +
                   static_cast<double>(found->values_.base) * static_cast<double>(values.step);
  return found;
}

std::shared_ptr<const IntegerWeights> IntegerWeights::find_with_border(std::size_t channels,
                                                                       std::size_t terms, std::size_t taps,
                                                                       const ConstantWeights& weights,
                                                                       const IntegerGrid& values) {
  auto found = find_any(channels, terms * taps, weights, values, Around::zeros);
  if (found == nullptr || found->form() != LaneForm::quads) return nullptr;
  constexpr double kMostSum = std::numeric_limits<std::int32_t>::max();
  constexpr int kMostWeight = std::numeric_limits<std::int8_t>::max();
  if (static_cast<double>((terms + 1) * taps) * kMostByte * (kMostWeight + 1) > kMostSum) return nullptr;
  // What a tap that finds a value adds to a sum for the offset, in integers.
  const AlignedFloats lanes = found->lanes(terms, taps, weights);
  const std::size_t lane_bytes = divide_up(terms, kMostLaneTerms) * taps * kMostLaneTerms;
  const double offset = static_cast<double>(values.offset) / static_cast<double>(values.step);
  std::vector<double> added(channels * taps);
  parallel_for(channels, grain_for_cost(lane_bytes), [&](std::size_t begin, std::size_t end) {
    for (std::size_t channel = begin; channel < end; ++channel) {
      const auto* const bytes = reinterpret_cast<const std::int8_t*>(lanes.data()) + channel * lane_bytes;
      double* const of_channel = added.data() + channel * taps;
      for (std::size_t i = 0; i < lane_bytes; ++i) of_channel[i / kMostLaneTerms % taps] += bytes[i];
      for (std::size_t tap = 0; tap < taps; ++tap) of_channel[tap] *= offset;
    }
  });
  double most = 0;
  for (const double value : added) most = std::max(most, std::abs(value));
  // The larger the value, the smaller its weights.
  const double value = std::max(std::ceil(most / kMostWeight), 1.0);
  if (!(value - static_cast<double>(found->values_.base) <= static_cast<double>(kMostByte))) return nullptr;
  found->border_value_ = static_cast<int>(value);
  found->border_.resize(added.size());
  for (std::size_t i = 0; i < added.size(); ++i)
    found->border_[i] = static_cast<std::int8_t>(std::nearbyint(added[i] / value));
  return found;
}

std::uint8_t IntegerWeights::border_byte() const {
  return static_cast<std::uint8_t>(border_value_ - static_cast<int>(values_.base));
}

void IntegerWeights::add_border(AlignedFloats& lanes, std::size_t terms, std::size_t taps) const {
  const std::size_t lane_floats = divide_up(terms + 1, kMostLaneTerms) * taps;
  const std::size_t place = terms % kMostLaneTerms;
  for (std::size_t channel = 0; channel < scale_.size(); ++channel) {
    float* const last = lanes.data() + (channel + 1) * lane_floats - taps;
    if (place == 0) std::fill_n(last, taps, 0.0F);
    auto* const bytes = reinterpret_cast<std::int8_t*>(last);
    for (std::size_t tap = 0; tap < taps; ++tap)
      bytes[tap * kMostLaneTerms + place] = border_[channel * taps + tap];
  }
}

std::vector<float> IntegerWeights::shift(std::size_t terms, const ConstantWeights& weights) const {
  if (!shifts()) return {};
  const ScaledBytes* const bytes = weights.bytes();
  const float* const floats = bytes == nullptr ? weights.floats() : nullptr;
  const auto sum_from = [&](std::size_t first) {
    if (bytes == nullptr) return sum_of(floats + first, terms);
    return static_cast<double>(*bytes->scale_of(first, terms)) *
           static_cast<double>(sum_of(bytes->codes + first, terms));
  };
  std::vector<float> shift(scale_.size());
  parallel_for(shift.size(), grain_for_cost(terms), [&](std::size_t begin, std::size_t end) {
    for (std::size_t channel = begin; channel < end; ++channel)
      shift[channel] = static_cast<float>(sum_from(channel * terms) * offset_);
  });
  if (border_.empty()) return shift;
  // Where every tap finds a value, the border adds nothing in the end.
  const std::size_t taps = border_.size() / shift.size();
  for (std::size_t i = 0; i < border_.size(); ++i)
    shift[i / taps] -= scale_[i / taps] * static_cast<float>(border_[i] * border_byte());
  return shift;
}

float IntegerWeights::zero() const {
  constexpr std::uint32_t kEachByte = 0x01010101;
  const bool is_byte = form() == LaneForm::quads && values_.base <= 0;
  return std::bit_cast<float>(is_byte ? static_cast<std::uint32_t>(-values_.base) * kEachByte : 0);
}

bool multiplies_bytes() { return gemm_integer_kernels(LaneForm::quads) != nullptr; }

IntegerEpilogue::IntegerEpilogue(const Epilogue& epilogue, const IntegerWeights& integers, std::size_t terms,
                                 const ConstantWeights& weights, std::span<const float> steps)
    : epilogue_(epilogue), bias_(integers.shift(terms, weights)) {
  epilogue_.scale = integers.scale();
  if (!steps.empty()) {
    scale_.assign(integers.scale(), integers.scale() + integers.channels());
    for (std::size_t channel = 0; channel < scale_.size(); ++channel) {
      const float step = steps[steps.size() == 1 ? 0 : channel];
      scale_[channel] *= step;
      if (!bias_.empty()) bias_[channel] *= step;
    }
    epilogue_.scale = scale_.data();
  }
  if (bias_.empty()) return;
  for (std::size_t channel = 0; epilogue.bias != nullptr && channel < bias_.size(); ++channel)
    bias_[channel] += epilogue.bias[channel];
  epilogue_.bias = bias_.data();
}

AlignedFloats IntegerWeights::lanes(std::size_t terms, std::size_t taps,
                                    const ConstantWeights& weights) const {
  const std::size_t together = lane_terms(form());
  const std::size_t count = divide_up(terms + more_terms(), together) * taps;
  const ScaledBytes* const bytes = weights.bytes();
  const float* const floats = bytes == nullptr ? weights.floats() : nullptr;
  AlignedFloats lanes(scale_.size() * count);
  parallel_for(scale_.size(), grain_for_cost(count), [&](std::size_t begin, std::size_t end) {
    AlignedFloats codes(bytes != nullptr ? terms * taps : 0);
    for (std::size_t channel = begin; channel < end; ++channel) {
      const LaneMap map{form(), weights_per_unit_[channel], 0};
      const std::size_t first = channel * terms * taps;
      const float* from = codes.data();
      if (bytes != nullptr) {
        convert_span(bytes->codes + first, codes.data(), terms * taps);
      } else {
        from = floats + first;
      }
      float* to = lanes.data() + channel * count;
      if (taps == 1) {
        lane_joins().neighbours(map, from, terms, to);
        continue;
      }
      for (std::size_t term = 0; term < terms; term += together, from += together * taps, to += taps)
        lane_joins().rows(map, {from, taps, std::min(together, terms - term)}, taps, to);
    }
  });
  if (more_terms() != 0) add_border(lanes, terms, taps);
  return lanes;
}

}  // namespace ir::kernels
