#include "kernels/creation/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <type_traits>

#include "kernels/base/float16.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

using Words = std::array<std::uint32_t, 4>;

std::uint32_t low_half(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high_half(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

/// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
Words philox(std::uint64_t key, std::uint64_t counter, std::uint64_t position) {
  constexpr int kRounds = 10;
  Words x{low_half(position), high_half(position), low_half(counter), high_half(counter)};
  std::uint32_t key0 = low_half(key);
  std::uint32_t key1 = high_half(key);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * x[2];
    x = {high_half(product1) ^ x[1] ^ key0, low_half(product1), high_half(product0) ^ x[3] ^ key1,
         low_half(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return x;
}

// Numbers in [1, 2) from random mantissas, less 1.
float unit_float(std::uint32_t word) { return std::bit_cast<float>(0x3F800000U | (word & 0x7FFFFFU)) - 1.0F; }
double unit_double(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t mantissa = (std::uint64_t{high & 0xFFFFFU} << 32) | low;
  return std::bit_cast<double>(0x3FF0000000000000U | mantissa) - 1.0;
}
// Exact in the half type.
template <class Half>
float unit_half(std::uint32_t word) {
  constexpr int kMantissaBits = std::is_same_v<Half, Float16> ? 10 : 7;
  return static_cast<float>(word & ((1U << kMantissaBits) - 1)) / static_cast<float>(1U << kMantissaBits);
}

/// PyTorch's: the low bits, as many as the significand has.
template <class Real, class Word>
Real unit_bits(Word word, int digits) {
  const Word mask = (Word{1} << digits) - 1;
  return static_cast<Real>(word & mask) * (Real{1} / static_cast<Real>(std::uint64_t{1} << digits));
}

template <class Half>
float rounded(float value) {
  return static_cast<float>(Half(value));
}

/// As OpenVINO's arithmetic rounds: for bf16, up from half a step on after an odd number, always down after
/// an even one. Its expected numbers (and not TensorFlow's) show it.
template <class Half>
float rounded_by_openvino(float value) {
  if constexpr (std::is_same_v<Half, Float16>) {
    return rounded<Half>(value);
  } else {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + ((bits & 0x10000U) >> 1)) & 0xFFFF0000U);
  }
}

std::uint64_t joined(std::uint32_t high, std::uint32_t low) { return (std::uint64_t{high} << 32) | low; }

// One type of numbers: how many words each takes (`wide`: two) and what it becomes of them. `Stored` is the
// type in memory.
template <class Real>
struct RealNumbers {
  using Stored = Real;
  static constexpr bool wide = sizeof(Real) == 8;
  RandomAlignment alignment;
  Real low;
  Real high;

  Real operator()(std::uint32_t first, std::uint32_t second) const {
    Real unit;
    if constexpr (wide) {
      unit = alignment == RandomAlignment::tensorflow ? unit_double(first, second)
                                                      : unit_bits<double>(joined(first, second), 53);
    } else {
      unit = alignment == RandomAlignment::tensorflow ? unit_float(first) : unit_bits<float>(first, 24);
    }
    return unit * (high - low) + low;
  }
};

template <class Half>
struct HalfNumbers {
  using Stored = float;
  static constexpr bool wide = false;
  RandomAlignment alignment;
  float low;
  float high;

  float operator()(std::uint32_t word, std::uint32_t) const {
    if (alignment == RandomAlignment::tensorflow) {
      // Every step rounds to the type.
      const float range = rounded_by_openvino<Half>(high - low);
      const float product = rounded_by_openvino<Half>(unit_half<Half>(word) * range);
      return rounded_by_openvino<Half>(product + low);
    }
    constexpr int kDigits = std::is_same_v<Half, Float16> ? 11 : 8;
    return rounded<Half>(unit_bits<float>(word, kDigits) * rounded<Half>(high - low) + low);
  }
};

template <class Integer, bool kWide>
struct IntegerNumbers {
  using Stored = Integer;
  static constexpr bool wide = kWide;
  RandomAlignment alignment;
  Integer low;
  Integer high;

  Integer operator()(std::uint32_t first, std::uint32_t second) const {
    using Unsigned = std::make_unsigned_t<Integer>;
    const auto range = static_cast<Unsigned>(static_cast<Unsigned>(high) - static_cast<Unsigned>(low));
    Unsigned number = first;
    if constexpr (kWide) {
      number = alignment == RandomAlignment::tensorflow ? joined(second, first) : joined(first, second);
    }
    return static_cast<Integer>(static_cast<Unsigned>(number % range + static_cast<Unsigned>(low)));
  }
};

/// Numbers from [begin, end) x the numbers of one group; stops at `count`.
template <class Numbers>
void fill_groups(const RandomSource& source, const Numbers& numbers, std::size_t begin, std::size_t end,
                 std::size_t count, typename Numbers::Stored* out) {
  constexpr std::size_t kWordsEach = Numbers::wide ? 2 : 1;
  constexpr std::size_t kPerGroup = 4 / kWordsEach;
  for (std::size_t group = begin; group < end; ++group) {
    const std::uint64_t position = source.position + group;
    const std::uint64_t carry = position < source.position ? 1 : 0;
    const Words words = philox(source.key, source.counter + carry, position);
    const std::size_t first = group * kPerGroup;
    for (std::size_t i = 0; i < std::min(kPerGroup, count - first); ++i) {
      out[first + i] = numbers(words[kWordsEach * i], words[kWordsEach * i + kWordsEach - 1]);
    }
  }
}

template <class Numbers>
void fill(const RandomSource& source, const Numbers& numbers, std::size_t count,
          typename Numbers::Stored* out) {
  if (source.alignment == RandomAlignment::pytorch) {
    std::mt19937 generator(low_half(source.key));
    for (std::size_t i = 0; i < count; ++i) {
      const auto first = static_cast<std::uint32_t>(generator());
      const auto second = Numbers::wide ? static_cast<std::uint32_t>(generator()) : 0U;
      out[i] = numbers(first, second);
    }
    return;
  }
  constexpr std::size_t kPerGroup = Numbers::wide ? 2 : 4;
  constexpr std::size_t kCostOfGroup = 40;
  const std::size_t groups = count / kPerGroup + (count % kPerGroup != 0 ? 1 : 0);
  parallel_for(groups, grain_for_cost(kCostOfGroup), [&](std::size_t begin, std::size_t end) {
    fill_groups(source, numbers, begin, end, count, out);
  });
}

/// `Numbers` of limits in memory.
template <class Numbers>
void fill_between(const RandomSource& source, const void* low, const void* high, std::size_t count,
                  void* out) {
  using Stored = typename Numbers::Stored;
  const Numbers numbers{source.alignment, *static_cast<const Stored*>(low),
                        *static_cast<const Stored*>(high)};
  fill(source, numbers, count, static_cast<Stored*>(out));
}

// PyTorch takes one word where limits of 32 bits are enough.
bool pytorch_takes_one_word(const void* low, const void* high) {
  constexpr std::int64_t kMost = 0xFFFFFFFF;
  return *static_cast<const std::int64_t*>(low) <= kMost && *static_cast<const std::int64_t*>(high) <= kMost;
}

}  // namespace

std::uint64_t positions_for(UniformType type, std::size_t count) {
  const std::size_t per_group = type == UniformType::f64 || type == UniformType::i64 ? 2 : 4;
  return count / per_group + (count % per_group != 0 ? 1 : 0);
}

void random_uniform(const RandomSource& source, UniformType type, const void* low, const void* high,
                    std::size_t count, void* out) {
  switch (type) {
    case UniformType::f16:
      return fill_between<HalfNumbers<Float16>>(source, low, high, count, out);
    case UniformType::bf16:
      return fill_between<HalfNumbers<BFloat16>>(source, low, high, count, out);
    case UniformType::f32:
      return fill_between<RealNumbers<float>>(source, low, high, count, out);
    case UniformType::f64:
      return fill_between<RealNumbers<double>>(source, low, high, count, out);
    case UniformType::i32:
      return fill_between<IntegerNumbers<std::int32_t, false>>(source, low, high, count, out);
    case UniformType::i64:
      if (source.alignment == RandomAlignment::pytorch && pytorch_takes_one_word(low, high)) {
        return fill_between<IntegerNumbers<std::int64_t, false>>(source, low, high, count, out);
      }
      return fill_between<IntegerNumbers<std::int64_t, true>>(source, low, high, count, out);
  }
}

std::size_t multinomial_scratch(const MultinomialParams& params) {
  return params.batch * (params.classes + params.samples);
}

namespace {

/// Cumulated shares of the classes: cdf[i] is the chance of a class up to i.
template <class T>
void cumulate(const MultinomialParams& params, const T* probs, T* cdf) {
  T sum = 0;
  for (std::size_t i = 0; i < params.classes; ++i) {
    sum += params.log_probs ? std::exp(probs[i]) : probs[i];
    cdf[i] = sum;
  }
  for (std::size_t i = 0; i < params.classes; ++i) cdf[i] /= sum;
}

template <class T>
std::size_t draw(const T* cdf, std::size_t classes, T number) {
  for (std::size_t i = 0; i < classes; ++i) {
    if (number <= cdf[i]) return i;
  }
  std::size_t last = classes - 1;
  while (last > 0 && !(cdf[last] > cdf[last - 1])) --last;
  return last;
}

template <class T>
void take_out(T* cdf, std::size_t classes, std::size_t drawn) {
  const T share = drawn == 0 ? cdf[0] : cdf[drawn] - cdf[drawn - 1];
  const T rest = 1 - share;
  for (std::size_t i = 0; i < classes; ++i) cdf[i] = (i >= drawn ? cdf[i] - share : cdf[i]) / rest;
}

}  // namespace

template <class T, class Index>
void multinomial(const MultinomialParams& params, const RandomSource& source, const T* probs, Index* out,
                 T* scratch) {
  T* const numbers = scratch + params.batch * params.classes;
  const T zero = 0;
  const T one = 1;
  constexpr auto kType = std::is_same_v<T, float> ? UniformType::f32 : UniformType::f64;
  random_uniform(source, kType, &zero, &one, params.batch * params.samples, numbers);
  const std::size_t cost = params.classes * (params.samples * (params.with_replacement ? 1 : 4) + 8);
  parallel_for(params.batch, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      T* const cdf = scratch + row * params.classes;
      cumulate(params, probs + row * params.classes, cdf);
      for (std::size_t i = row * params.samples; i < (row + 1) * params.samples; ++i) {
        const std::size_t drawn = draw(cdf, params.classes, numbers[i]);
        out[i] = static_cast<Index>(drawn);
        if (!params.with_replacement) take_out(cdf, params.classes, drawn);
      }
    }
  });
}

template void multinomial(const MultinomialParams&, const RandomSource&, const float*, std::int32_t*, float*);
template void multinomial(const MultinomialParams&, const RandomSource&, const float*, std::int64_t*, float*);
template void multinomial(const MultinomialParams&, const RandomSource&, const double*, std::int32_t*,
                          double*);
template void multinomial(const MultinomialParams&, const RandomSource&, const double*, std::int64_t*,
                          double*);

}  // namespace ir::kernels
