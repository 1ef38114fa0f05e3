#include "kernels/sequence/attention_rows.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequence/attention_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/math-inl.h"
#include "kernels/base/simd-inl.h"
#include "kernels/base/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Scores [i, i + width) after the rule; `width` <= lanes.
HWY_INLINE V ruled_scores(const float* scores, std::size_t i, std::size_t width, const ScoreRule& rule) {
  const D d;
  if (rule.hides_all) return hn::Set(d, rule.hidden);
  const bool whole = width == hn::Lanes(d);
  const auto load = [&](const float* from)
                        HWY_ATTR { return whole ? hn::LoadU(d, from) : load_n(d, from, width); };
  V v = hn::MulAdd(load(scores + i), hn::Set(d, rule.scale), hn::Set(d, rule.bias));
  if (rule.added != nullptr) v = hn::Add(v, load(rule.added + i));
  if (rule.kept != nullptr) {
    const hn::Rebind<std::uint8_t, D> bytes;
    const hn::RebindToSigned<D> words;
    const auto kept = whole ? hn::LoadU(bytes, rule.kept + i) : load_n(bytes, rule.kept + i, width);
    const auto zero = hn::Eq(hn::PromoteTo(words, kept), hn::Zero(words));
    v = hn::IfThenElse(hn::RebindMask(d, zero), hn::Set(d, rule.hidden), v);
  }
  return v;
}

/// Applies the rule in place; returns the largest score.
HWY_INLINE float apply_rule(float* scores, std::size_t count, const ScoreRule& rule) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V most = hn::Set(d, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const V v = ruled_scores(scores, i, lanes, rule);
    hn::StoreU(v, d, scores + i);
    most = hn::Max(most, v);
  }
  if (const std::size_t rest = count - i; rest != 0) {
    const V v = ruled_scores(scores, i, rest, rule);
    store_n(v, d, scores + i, rest);
    most = hn::IfThenElse(hn::FirstN(d, rest), hn::Max(most, v), most);
  }
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

/// The largest of the scores.
HWY_INLINE float largest_of(const float* scores, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V most = hn::Set(d, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) most = hn::Max(most, hn::LoadU(d, scores + i));
  if (const std::size_t rest = count - i; rest != 0) {
    most = hn::IfThenElse(hn::FirstN(d, rest), hn::Max(most, load_n(d, scores + i, rest)), most);
  }
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

/// Scores become e^(score * scale - shift); returns their sum.
HWY_INLINE float exponentiate(float* scores, std::size_t count, float scale, float shift) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V scales = hn::Set(d, scale);
  const V shifts = hn::Set(d, shift);
  V sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const V e = exp_or_zero_f32(d, hn::MulSub(hn::LoadU(d, scores + i), scales, shifts));
    hn::StoreU(e, d, scores + i);
    sum = hn::Add(sum, e);
  }
  if (const std::size_t rest = count - i; rest != 0) {
    const V e = exp_or_zero_f32(d, hn::MulSub(load_n(d, scores + i, rest), scales, shifts));
    store_n(e, d, scores + i, rest);
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, rest), e));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

float AddScores(float* scores, std::size_t count, const ScoreRule& rule, RunningSoftmax& row) {
  // What only scales is done on the way.
  const bool only_scales =
      rule.bias == 0 && rule.added == nullptr && rule.kept == nullptr && !rule.hides_all && rule.scale >= 0;
  const float largest =
      only_scales ? largest_of(scores, count) * rule.scale : apply_rule(scores, count, rule);
  const float maximum = largest > row.maximum ? largest : row.maximum;
  // Where all scores are -inf so far, there is nothing to subtract; later ones may be finite.
  const float shift = maximum == -std::numeric_limits<float>::infinity() ? 0.0F : maximum;
  const float factor = std::exp(row.maximum - shift);
  row.sum = row.sum * factor + exponentiate(scores, count, only_scales ? rule.scale : 1.0F, shift);
  row.maximum = maximum;
  return factor;
}

std::size_t VisibleAdded(const float* added, std::size_t least, std::size_t count, float hidden) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V bound = hn::Set(d, hidden);
  while (count >= least + lanes && hn::AllTrue(d, hn::Le(hn::LoadU(d, added + count - lanes), bound)))
    count -= lanes;
  while (count > least && added[count - 1] <= hidden) --count;
  return count;
}

std::size_t VisibleKept(const std::uint8_t* kept, std::size_t least, std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  while (count >= least + lanes && hn::AllTrue(d, hn::Eq(hn::LoadU(d, kept + count - lanes), hn::Zero(d))))
    count -= lanes;
  while (count > least && kept[count - 1] == 0) --count;
  return count;
}

float LargestSquare(const float* from, std::size_t stride, std::size_t rows, std::size_t columns) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  float largest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const values = from + row * stride;
    V sum = hn::Zero(d);
    std::size_t i = 0;
    for (; i + lanes <= columns; i += lanes) {
      const V v = hn::LoadU(d, values + i);
      sum = hn::MulAdd(v, v, sum);
    }
    if (i < columns) {
      const V v = load_n(d, values + i, columns - i);
      sum = hn::MulAdd(v, v, sum);
    }
    const float square = hn::GetLane(hn::SumOfLanes(d, sum));
    // A NaN stays.
    if (!(square <= largest)) largest = square;
  }
  return largest;
}

void Scale(float* values, std::size_t count, float factor) {
  const D d;
  const V factors = hn::Set(d, factor);
  map_unary(d, values, values, count, [&](V v) HWY_ATTR { return hn::Mul(v, factors); });
}

void TransposeRows(const float* from, std::size_t stride, std::size_t rows, std::size_t columns, float* to,
                   std::size_t to_stride) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < rows; row += lanes) {
    const std::size_t count = std::min(lanes, rows - row);
    const RepeatedLastRow all{{from + row * stride, stride}, count - 1};
    std::size_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      V v[4];
      load_transposed(
          d, [&](std::size_t r) HWY_ATTR { return all(r) + c; }, v);
      for (std::size_t i = 0; i < 4; ++i) {
        float* const line = to + (c + i) * to_stride + row;
        if (count == lanes) {
          hn::StoreU(v[i], d, line);
        } else {
          store_n(v[i], d, line, count);
        }
      }
    }
    for (; c < columns; ++c) {
      for (std::size_t r = 0; r < count; ++r) to[c * to_stride + row + r] = all(r)[c];
    }
  }
}

}  // namespace

const AttentionRowKernels* RowKernels() {
  static constexpr AttentionRowKernels kKernels{AddScores,     VisibleAdded, VisibleKept,
                                                LargestSquare, Scale,        TransposeRows};
  return &kKernels;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(RowKernels);

const AttentionRowKernels& attention_row_kernels() { return *HWY_DYNAMIC_DISPATCH(RowKernels)(); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
