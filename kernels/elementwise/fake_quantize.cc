#include "kernels/elementwise/fake_quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/fake_quantize.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"
#include "kernels/elementwise/block_operand.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// The definition for a vector of elements. Kept free of fused multiply-add: every step rounds as written
/// there.
template <class V>
HWY_INLINE V quantize(V x, V in_low, V in_high, V out_low, V out_high, V steps) {
  const V position = hn::Mul(hn::Div(hn::Sub(x, in_low), hn::Sub(in_high, in_low)), steps);
  const V between =
      hn::Add(hn::Mul(hn::Div(hn::Round(position), steps), hn::Sub(out_high, out_low)), out_low);
  const V not_below = hn::IfThenElse(hn::Gt(x, hn::Max(in_low, in_high)), out_high, between);
  return hn::IfThenElse(hn::Le(x, hn::Min(in_low, in_high)), out_low, not_below);
}

/// The definition without its divisions. An offset is x - in_low, cut off at the ends of the range, where it
/// gives the first and the last level.
///
/// Position: offset / range * steps rounds twice, offset * (steps / range) at most twice, and its factor once
/// before; so they differ by at most 4.01 * 2^-24 of a position, which is at most `steps`. They round to the
/// same level unless a tie lies between them; when one is within twice that distance, vectors are divided
/// after all.
///
/// Level / steps: 1 / steps is the sum of `inverse_high`, short enough for an exact product with a level, and
/// `inverse_low`, less than 2^-13 of it; so the sum of their products is off by at most 2^-36 before it
/// rounds. Quotients of numbers below 2^10 are representable or more than 2^-35 away from a tie.
void QuantizeByProducts(const Quantization& q, const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V zero = hn::Zero(d);
  const V in_low = hn::Set(d, q.in_low);
  const V in_high = hn::Set(d, q.in_high);
  const V in_range = hn::Set(d, q.in_range);
  const V out_low = hn::Set(d, q.out_low);
  const V out_high = hn::Set(d, q.out_high);
  const V out_range = hn::Set(d, q.out_range);
  const V scale = hn::Set(d, q.scale);
  const V near_tie = hn::Set(d, q.near_tie);
  const V inverse_high = hn::Set(d, q.inverse_high);
  const V inverse_low = hn::Set(d, q.inverse_low);
  // A sum with it has no bits behind the point.
  const V rounder = hn::Set(d, 0x1.8p23F);

  const auto offset_of = [&](V x) HWY_ATTR {  // a NaN is kept
    return at_most(in_range, at_least(zero, hn::Sub(x, in_low)));
  };
  const auto level_of = [&](V offset)
                            HWY_ATTR { return hn::Sub(hn::MulAdd(offset, scale, rounder), rounder); };
  const auto from_level = [&](V offset, V level)
                              HWY_ATTR { return hn::Abs(hn::MulSub(offset, scale, level)); };
  const auto divided = [&](V offset) HWY_ATTR {
    return hn::Round(hn::Mul(hn::Div(offset, in_range), hn::Set(d, q.steps)));
  };
  const auto result_of = [&](V level, V x) HWY_ATTR {
    const V share = hn::MulAdd(level, inverse_high, hn::Mul(level, inverse_low));
    const V result = hn::Add(hn::Mul(share, out_range), out_low);
    return hn::IfThenElse(hn::Gt(x, in_high), out_high, result);
  };
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const V x0 = hn::LoadU(d, in + i);
    const V x1 = hn::LoadU(d, in + i + lanes);
    const V offset0 = offset_of(x0);
    const V offset1 = offset_of(x1);
    V level0 = level_of(offset0);
    V level1 = level_of(offset1);
    const V away = hn::Max(from_level(offset0, level0), from_level(offset1, level1));
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(away, near_tie)))) {
      level0 = divided(offset0);
      level1 = divided(offset1);
    }
    hn::StoreU(result_of(level0, x0), d, out + i);
    hn::StoreU(result_of(level1, x1), d, out + i + lanes);
  }
  map_unary(d, in + i, out + i, count - i, [&](V x) HWY_ATTR {
    const V offset = offset_of(x);
    const V level = level_of(offset);
    const bool certain = hn::AllTrue(d, hn::Lt(from_level(offset, level), near_tie));
    return result_of(certain ? level : divided(offset), x);
  });
}

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using ByteTag = hn::Rebind<std::uint8_t, FloatTag>;

/// What makes the lowest bits of a float those of the nearest integer, added to it.
HWY_INLINE FloatVector rounder() { return hn::Set(FloatTag(), 0x1.8p23F); }

/// Levels by one product, plus the rounder: of what is as close to a tie as roundings are, it may be the
/// other one.
class Nearest {
 public:
  HWY_INLINE explicit Nearest(const Quantization& q)
      : in_low_(hn::Set(FloatTag(), q.in_low)),
        in_range_(hn::Set(FloatTag(), q.in_range)),
        scale_(hn::Set(FloatTag(), q.scale)) {}

  HWY_INLINE FloatVector operator()(FloatVector x) const {  // a NaN is kept
    const FloatVector offset = at_most(in_range_, at_least(hn::Zero(FloatTag()), hn::Sub(x, in_low_)));
    return hn::MulAdd(offset, scale_, rounder());
  }

 private:
  FloatVector in_low_;
  FloatVector in_range_;
  FloatVector scale_;
};

/// The same of positions among levels, which may lie outside of them.
struct NearestInteger {
  HWY_INLINE FloatVector operator()(FloatVector position) const { return hn::Add(position, rounder()); }
};

/// Of levels, off by a rounding of a step for each.
class Results {
 public:
  HWY_INLINE explicit Results(const Quantization& q)
      : step_(hn::Set(FloatTag(), q.out_range / q.steps)), low_(hn::Set(FloatTag(), q.out_low)) {}
  HWY_INLINE FloatVector operator()(FloatVector level) const { return hn::MulAdd(level, step_, low_); }

 private:
  FloatVector step_;
  FloatVector low_;
};

void QuantizeNearly(const Quantization& q, const float* in, float* out, std::size_t count) {
  const FloatTag d;
  const Nearest nearest(q);
  const Results result(q);
  map_unary(d, in, out, count,
            [&](FloatVector x) HWY_ATTR { return result(hn::Sub(nearest(x), rounder())); });
}

/// Two vectors of floats as one of levels. nearest(vector): the nearest integers plus `rounder()`, of 16
/// bits, which end at 0 and `steps`.
template <class NearestLevel>
class Narrowing {
  using Halves = hn::Repartition<std::uint16_t, FloatTag>;

 public:
  using Bytes = hn::Rebind<std::uint8_t, Halves>;

  HWY_INLINE Narrowing(const NearestLevel& nearest, float steps)
      : nearest_(nearest), last_(hn::Set(Bytes(), static_cast<std::uint8_t>(steps))) {}
  HWY_INLINE hn::Vec<Bytes> operator()(FloatVector low, FloatVector high) const {
    const Halves halves;
    const auto levels =
        hn::ConcatEven(halves, hn::BitCast(halves, nearest_(high)), hn::BitCast(halves, nearest_(low)));
    return hn::Min(hn::DemoteTo(Bytes(), hn::BitCast(hn::RebindToSigned<Halves>(), levels)), last_);
  }

 private:
  NearestLevel nearest_;
  hn::Vec<Bytes> last_;
};

/// The levels of count values: whole(i) is a vector of them from i on, part(i, n) one of the last n.
template <class Whole, class Part, class LevelsOfBoth>
HWY_INLINE void store_levels(std::uint8_t* out, std::size_t count, const Whole& whole, const Part& part,
                             const LevelsOfBoth& levels_of) {
  const FloatTag d;
  const typename LevelsOfBoth::Bytes bytes;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes)
    hn::StoreU(levels_of(whole(i), whole(i + lanes)), bytes, out + i);
  if (const std::size_t rest = count - i; rest != 0) {
    const FloatVector low = part(i, HWY_MIN(rest, lanes));
    const FloatVector high = rest > lanes ? part(i + lanes, rest - lanes) : hn::Zero(d);
    store_n(levels_of(low, high), bytes, out + i, rest);
  }
}

void LevelsOf(const Quantization& q, const FloatRows& rows, std::uint8_t* out, std::size_t out_stride) {
  const FloatTag d;
  const Narrowing<Nearest> levels_of(Nearest(q), q.steps);
  const std::size_t both = 2 * hn::Lanes(d);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const float* const from = rows.first + row * rows.stride;
    std::uint8_t* const to = out + row * out_stride;
    if (rows.columns >= both) {
      for_each_vector<std::uint16_t>(rows.columns, [&](std::size_t i) HWY_ATTR {
        hn::StoreU(levels_of(hn::LoadU(d, from + i), hn::LoadU(d, from + i + hn::Lanes(d))),
                   Narrowing<Nearest>::Bytes(), to + i);
      });
      continue;
    }
    store_levels(
        to, rows.columns, [&](std::size_t i) HWY_ATTR { return hn::LoadU(d, from + i); },
        [&](std::size_t i, std::size_t rest) HWY_ATTR { return load_n(d, from + i, rest); }, levels_of);
  }
}

HWY_INLINE FloatVector floats_of(hn::Vec<ByteTag> levels) {
  return hn::ConvertTo(FloatTag(), hn::PromoteTo(hn::RebindToSigned<FloatTag>(), levels));
}

void LevelsOfSum(const Quantization& q, const LevelSpan& a, const LevelSpan& b, std::uint8_t* out,
                 std::size_t count) {
  const FloatTag d;
  // Where the sum lies among the levels of q.
  const FloatVector of_a = hn::Set(d, a.quantization->out_range / a.quantization->steps * q.scale);
  const FloatVector of_b = hn::Set(d, b.quantization->out_range / b.quantization->steps * q.scale);
  const FloatVector start =
      hn::Set(d, (a.quantization->out_low + b.quantization->out_low - q.in_low) * q.scale);
  const auto position = [&](std::size_t i, const auto& load) HWY_ATTR {
    return hn::MulAdd(floats_of(load(a.levels + i)), of_a,
                      hn::MulAdd(floats_of(load(b.levels + i)), of_b, start));
  };
  store_levels(
      out, count,
      [&](std::size_t i) HWY_ATTR {
        return position(i, [](const std::uint8_t* from) HWY_ATTR { return hn::LoadU(ByteTag(), from); });
      },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        return position(i,
                        [rest](const std::uint8_t* from) HWY_ATTR { return load_n(ByteTag(), from, rest); });
      },
      Narrowing<NearestInteger>({}, q.steps));
}

void ValuesOf(const Quantization& q, const std::uint8_t* in, float* out, std::size_t count) {
  const FloatTag d;
  const ByteTag bytes;
  const Results result(q);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(result(floats_of(hn::LoadU(bytes, in + i))), d, out + i);
  if (i < count) store_n(result(floats_of(load_n(bytes, in + i, count - i))), d, out + i, count - i);
}

QuantizationHalves Halves() { return {QuantizeNearly, LevelsOf, ValuesOf, LevelsOfSum}; }

void QuantizeOneRange(const Quantization& q, const float* in, float* out, std::size_t count) {
  if (q.without_divisions) return QuantizeByProducts(q, in, out, count);
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  map_unary(d, in, out, count, [&](V x) HWY_ATTR {
    return quantize(x, hn::Set(d, q.in_low), hn::Set(d, q.in_high), hn::Set(d, q.out_low),
                    hn::Set(d, q.out_high), hn::Set(d, q.steps));
  });
}

/// `operands` are x and the four limits.
void FakeQuantizeSpan(const SpanOperand* operands, std::size_t levels, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const float* x = operands[0].as<float>();
  if (operands[1].scalar && operands[2].scalar && operands[3].scalar && operands[4].scalar) {
    QuantizeOneRange({*operands[1].as<float>(), *operands[2].as<float>(), *operands[3].as<float>(),
                      *operands[4].as<float>(), levels},
                     x, out, count);
    return;
  }
  const V steps = hn::Set(d, static_cast<float>(levels - 1));
  const BlockOperand<float> in_low(operands[1], count);
  const BlockOperand<float> in_high(operands[2], count);
  const BlockOperand<float> out_low(operands[3], count);
  const BlockOperand<float> out_high(operands[4], count);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t begin = 0; begin < count; begin += kBlockSize) {
    const std::size_t size = HWY_MIN(kBlockSize, count - begin);
    const float* il = in_low.from(begin);
    const float* ih = in_high.from(begin);
    const float* ol = out_low.from(begin);
    const float* oh = out_high.from(begin);
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes) {
      const V result = quantize(hn::LoadU(d, x + begin + i), hn::LoadU(d, il + i), hn::LoadU(d, ih + i),
                                hn::LoadU(d, ol + i), hn::LoadU(d, oh + i), steps);
      hn::StoreU(result, d, out + begin + i);
    }
    if (const std::size_t rest = size - i; rest != 0) {
      const V result =
          quantize(load_n(d, x + begin + i, rest), load_n(d, il + i, rest), load_n(d, ih + i, rest),
                   load_n(d, ol + i, rest), load_n(d, oh + i, rest), steps);
      store_n(result, d, out + begin + i, rest);
    }
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(FakeQuantizeSpan);
HWY_EXPORT(QuantizeOneRange);
HWY_EXPORT(Halves);

Quantization::Quantization(float low, float high, float result_low, float result_high, std::size_t levels)
    : in_low(low),
      in_high(high),
      out_low(result_low),
      out_high(result_high),
      steps(static_cast<float>(levels - 1)),
      in_range(in_high - in_low),
      out_range(out_high - out_low),
      scale(static_cast<float>(static_cast<double>(steps) / static_cast<double>(in_range))),
      near_tie(0.5F - steps * 0x1p-21F) {
  const auto bits_of = [](float number) { return std::bit_cast<std::uint32_t>(number); };
  constexpr std::uint32_t kTenBitsLess = ~std::uint32_t{0} << 10;
  const double inverse = 1.0 / static_cast<double>(steps);
  inverse_high = std::bit_cast<float>(bits_of(static_cast<float>(inverse)) & kTenBitsLess);
  inverse_low = static_cast<float>(inverse - static_cast<double>(inverse_high));
  // Neither ranges that are upside down, empty, infinite or extremely small or large, nor a number for what
  // is below the range that level 0 does not give.
  constexpr float kMostSteps = 1023;
  without_divisions = steps <= kMostSteps && in_range > 0 && std::isfinite(in_range) &&
                      std::isnormal(scale) && std::isfinite(out_range) && bits_of(out_low) != bits_of(-0.0F);
  constexpr std::array kEnds{0.0F, 1.0F, -1.0F, 3.0F, 6.0F};
  expect(kEnds);
}

void Quantization::expect(std::span<const float> numbers) {
  by_one_product = without_divisions && std::all_of(numbers.begin(), numbers.end(), [this](float x) {
                     const float offset = std::clamp(x - in_low, 0.0F, in_range);
                     const float away = std::abs(offset * scale - std::nearbyint(offset * scale));
                     return away < near_tie;
                   });
}

void fake_quantize(const BroadcastPlan& plan, const float* x, const FakeQuantizeLimits& limits,
                   std::size_t levels, float* out) {
  constexpr std::size_t kSize = sizeof(float);
  const std::array<BroadcastSource, 5> sources{{{x, kSize},
                                                {limits.in_low, kSize},
                                                {limits.in_high, kSize},
                                                {limits.out_low, kSize},
                                                {limits.out_high, kSize}}};
  const auto span_kernel = HWY_DYNAMIC_DISPATCH(FakeQuantizeSpan);
  for_each_span(plan, sources, kFakeQuantizeCost,
                [&](const SpanOperand* operands, std::size_t begin, std::size_t count) {
                  span_kernel(operands, levels, out + begin, count);
                });
}

void fake_quantize_span(const Quantization& quantization, const float* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(QuantizeOneRange)(quantization, in, out, count);
}

void quantize_nearly_span(const Quantization& quantization, const float* in, float* out, std::size_t count) {
  if (!quantization.by_one_product) return fake_quantize_span(quantization, in, out, count);
  HWY_DYNAMIC_DISPATCH(Halves)().both(quantization, in, out, count);
}

bool has_near_sums(const Quantization& quantization, const Quantization& a, const Quantization& b) {
  constexpr float kMostSteps = 32000;  // which 16 bits hold, some off by roundings
  const auto magnitude = [](const Quantization& q) {
    return std::max(std::abs(q.out_low), std::abs(q.out_low + q.out_range));
  };
  return (magnitude(a) + magnitude(b) + std::abs(quantization.in_low)) * quantization.scale <= kMostSteps;
}

bool Quantization::has_bytes() const {
  return by_one_product && steps <= std::numeric_limits<std::uint8_t>::max();
}

void levels_of_span(const Quantization& quantization, const float* in, std::uint8_t* out, std::size_t count) {
  levels_of_rows(quantization, {in, 0, 1, count}, out, 0);
}

void levels_of_rows(const Quantization& quantization, const FloatRows& rows, std::uint8_t* out,
                    std::size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(Halves)().levels_of(quantization, rows, out, out_stride);
}

void values_of_span(const Quantization& quantization, const std::uint8_t* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Halves)().values_of(quantization, in, out, count);
}

void levels_of_sum_span(const Quantization& quantization, const LevelSpan& a, const LevelSpan& b,
                        std::uint8_t* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Halves)().levels_of_sum(quantization, a, b, out, count);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
