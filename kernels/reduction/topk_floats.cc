#include "kernels/reduction/topk_floats.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/topk_floats.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using V32 = hn::Vec<F32>;
using VI32 = hn::Vec<I32>;

template <class Test>
HWY_INLINE std::size_t find_first(const float* row, std::size_t begin, std::size_t count, const Test& test) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = begin;
  for (; i + lanes <= count; i += lanes) {
    const auto found = test(hn::LoadU(d, row + i));
    if (HWY_UNLIKELY(!hn::AllFalse(d, found))) return i + hn::FindKnownFirstTrue(d, found);
  }
  if (i == count) return count;
  const auto found = hn::And(test(load_n(d, row + i, count - i)), hn::FirstN(d, count - i));
  return hn::AllFalse(d, found) ? count : i + hn::FindKnownFirstTrue(d, found);
}

std::size_t FindBetter(TopKMode mode, const float* row, std::size_t begin, std::size_t count, float bound) {
  const V32 limit = hn::Set(F32(), bound);
  const bool is_nan = std::isnan(bound);
  if (mode == TopKMode::max) {
    if (is_nan) return count;  // nothing ranks before it
    return find_first(row, begin, count, [=](V32 x) HWY_ATTR { return hn::Not(hn::Le(x, limit)); });
  }
  if (is_nan) return find_first(row, begin, count, [](V32 x) HWY_ATTR { return hn::Eq(x, x); });
  return find_first(row, begin, count, [=](V32 x) HWY_ATTR { return hn::Lt(x, limit); });
}

/// Integers of the order of floats, NaN above all, -0 as 0; turned around where the largest come first.
HWY_INLINE VI32 keys_of(V32 x, VI32 flip) {
  const I32 di;
  const VI32 largest = hn::Set(di, std::numeric_limits<std::int32_t>::max());
  const VI32 bits = hn::BitCast(di, hn::Add(x, hn::Zero(F32())));
  const VI32 ordered = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), largest));
  const auto is_number = hn::RebindMask(di, hn::Eq(x, x));
  return hn::Xor(hn::IfThenElse(is_number, ordered, largest), flip);
}

/// There are some more candidates than `k` as a rule. Where there are many, ranking each among all takes
/// long.
constexpr std::size_t enough_candidates(std::size_t k) { return 2 * k + 16; }

/// Elements of a row that may be among its best, in the order of their positions.
class Candidates {
 public:
  HWY_INLINE Candidates(VI32 flip, std::size_t k) : flip_(flip), k_(k) {}

  [[nodiscard]] HWY_INLINE bool are_enough() const { return count_ >= enough_candidates(k_); }

  HWY_INLINE void take(V32 x, hn::Mask<F32> chosen, std::size_t position) {
    const I32 di;
    const auto mask = hn::RebindMask(di, chosen);
    const VI32 positions = hn::Iota(di, static_cast<std::int32_t>(position));
    hn::StoreU(hn::Compress(positions, mask), di, positions_ + count_);
    hn::StoreU(hn::Compress(keys_of(x, flip_), mask), di, keys_ + count_);
    count_ += hn::CountTrue(di, mask);
  }

  /// Each finds its place by the number of those that come before it.
  HWY_INLINE void rank(std::uint64_t* best) {
    const hn::ScalableTag<std::int64_t> d;
    const hn::Rebind<std::int32_t, decltype(d)> half;
    const std::size_t lanes = hn::Lanes(d);
    HWY_ALIGN std::int64_t words[kRoom];
    HWY_ALIGN std::int64_t ranks[kRoom];
    hn::StoreU(hn::Zero(I32()), I32(), positions_ + count_);
    hn::StoreU(hn::Zero(I32()), I32(), keys_ + count_);
    for (std::size_t i = 0; i < count_; i += lanes) {
      const auto keys = hn::PromoteTo(d, hn::Load(half, keys_ + i));
      const auto positions = hn::PromoteTo(d, hn::Load(half, positions_ + i));
      hn::Store(hn::Or(hn::ShiftLeft<32>(keys), positions), d, words + i);
    }
    for (std::size_t i = 0; i < count_; i += lanes) {
      const auto own = hn::Load(d, words + i);
      auto before = hn::Zero(d);
      for (std::size_t j = 0; j < count_; ++j) {
        before = hn::Sub(before, hn::VecFromMask(d, hn::Lt(hn::Set(d, words[j]), own)));
      }
      hn::Store(before, d, ranks + i);
    }
    constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
    for (std::size_t i = 0; i < count_; ++i) {
      // Those that are not among the best share the place after these: that is not worth a branch.
      const std::size_t place = HWY_MIN(static_cast<std::size_t>(ranks[i]), k_);
      best[place] = static_cast<std::uint64_t>(words[i]) ^ kTop;
    }
  }

 private:
  /// The last vectors are taken without looking at how many there are, and stored whole.
  static constexpr std::size_t kRoom = enough_candidates(kSmallKOfRows) + 5 * hn::MaxLanes(F32());

  VI32 flip_;
  std::size_t k_;
  std::size_t count_ = 0;
  HWY_ALIGN std::int32_t keys_[kRoom];
  HWY_ALIGN std::int32_t positions_[kRoom];
};

/// A float that at least k numbers of a row, their signs changed by `sign`, are not below, or minus infinity.
/// It is the k-th of the largest of some groups, and NaN belongs to none.
HWY_INLINE float lower_bound_of_best(const float* row, std::size_t count, V32 sign, std::size_t k) {
  const F32 d;
  const I32 di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t block = 4 * lanes;
  const std::size_t wanted = 2 * k;
  const std::size_t segments = (wanted - 1) / block + 1;
  const std::size_t length = count / segments / block * block;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (length == 0) return -kInfinity;
  HWY_ALIGN float largest[2 * kSmallKOfRows + 4 * hn::MaxLanes(F32())];
  for (std::size_t s = 0; s < segments; ++s) {
    const V32 lowest = hn::Set(d, -kInfinity);
    V32 a = lowest;
    V32 b = lowest;
    V32 c = lowest;
    V32 e = lowest;
    const auto larger = [=](const float* from, V32 v) HWY_ATTR {
      const V32 x = hn::Xor(hn::LoadU(d, from), sign);
      return hn::IfThenElse(hn::Gt(x, v), x, v);
    };
    const float* from = row + s * length;
    for (const float* const end = from + length; from != end; from += block) {
      a = larger(from, a);
      b = larger(from + lanes, b);
      c = larger(from + 2 * lanes, c);
      e = larger(from + 3 * lanes, e);
    }
    hn::Store(a, d, largest + s * block);
    hn::Store(b, d, largest + s * block + lanes);
    hn::Store(c, d, largest + s * block + 2 * lanes);
    hn::Store(e, d, largest + s * block + 3 * lanes);
  }
  std::size_t groups = segments * block;
  while (groups / 2 % lanes == 0 && groups / 2 >= wanted) {
    groups /= 2;
    for (std::size_t i = 0; i < groups; i += lanes) {
      hn::Store(hn::Max(hn::Load(d, largest + i), hn::Load(d, largest + groups + i)), d, largest + i);
    }
  }
  V32 bound = hn::Set(d, kInfinity);  // the least of those that less than k are above
  for (std::size_t i = 0; i < groups; i += lanes) {
    const V32 own = hn::Load(d, largest + i);
    VI32 above = hn::Zero(di);
    for (std::size_t j = 0; j < groups; ++j) {
      const auto is_above = hn::RebindMask(di, hn::Gt(hn::Set(d, largest[j]), own));
      above = hn::Sub(above, hn::VecFromMask(di, is_above));
    }
    const auto is_among_best = hn::Lt(above, hn::Set(di, static_cast<std::int32_t>(k)));
    bound = hn::IfThenElse(hn::RebindMask(d, is_among_best), hn::Min(bound, own), bound);
  }
  return hn::GetLane(hn::MinOfLanes(d, bound));
}

std::size_t BestOfRow(TopKMode mode, const float* row, std::size_t count, std::size_t k,
                      std::uint64_t* best) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const bool is_max = mode == TopKMode::max;
  const V32 sign = hn::Set(d, is_max ? 0.0F : -0.0F);
  const V32 bound = hn::Set(d, lower_bound_of_best(row, count, sign, k));
  // NaN is always a candidate: where it ranks is seen when candidates are.
  const auto may_rank = [=](V32 x) HWY_ATTR { return hn::Not(hn::Lt(hn::Xor(x, sign), bound)); };
  Candidates candidates(hn::Set(I32(), is_max ? -1 : 0), k);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count && !candidates.are_enough(); i += 4 * lanes) {
    const V32 a = hn::LoadU(d, row + i);
    const V32 b = hn::LoadU(d, row + i + lanes);
    const V32 c = hn::LoadU(d, row + i + 2 * lanes);
    const V32 e = hn::LoadU(d, row + i + 3 * lanes);
    const auto ab = hn::Or(may_rank(a), may_rank(b));
    const auto ce = hn::Or(may_rank(c), may_rank(e));
    if (hn::AllFalse(d, hn::Or(ab, ce))) continue;
    candidates.take(a, may_rank(a), i);
    candidates.take(b, may_rank(b), i + lanes);
    candidates.take(c, may_rank(c), i + 2 * lanes);
    candidates.take(e, may_rank(e), i + 3 * lanes);
  }
  while (i < count && !candidates.are_enough()) {
    const std::size_t n = HWY_MIN(lanes, count - i);
    const V32 x = load_n(d, row + i, n);
    candidates.take(x, hn::And(may_rank(x), hn::FirstN(d, n)), i);
    i += n;
  }
  candidates.rank(best);
  return i;
}

/// The ranks of a vector of columns.
class Ranks {
 public:
  HWY_INLINE Ranks(std::int32_t* keys, std::int32_t* positions) : keys_(keys), positions_(positions) {}

  /// Takes elements in where they rank before that of rank `last`, or all of them if that is yet to be
  /// filled.
  HWY_INLINE void take(VI32 key, std::int32_t row, std::size_t last, bool fills) {
    const I32 di;
    auto below = hn::Lt(key, key_of(last));
    if (fills) {
      below = hn::FirstN(di, hn::Lanes(di));
    } else if (HWY_LIKELY(hn::AllFalse(di, below))) {
      return;
    }
    const VI32 position = hn::Set(di, row);
    for (std::size_t rank = last; rank > 0; --rank) {
      // What ranks after the new element moves on; equal elements stay before it.
      const auto above = hn::Lt(key, key_of(rank - 1));
      const auto put = [&](std::int32_t* list, VI32 v) HWY_ATTR {
        const VI32 here = hn::IfThenElse(below, v, hn::Load(di, at(list, rank)));
        hn::Store(hn::IfThenElse(above, hn::Load(di, at(list, rank - 1)), here), di, at(list, rank));
      };
      put(keys_, key);
      put(positions_, position);
      below = above;
      if (!fills && hn::AllFalse(di, below)) return;
    }
    hn::Store(hn::IfThenElse(below, key, key_of(0)), di, at(keys_, 0));
    hn::Store(hn::IfThenElse(below, position, hn::Load(di, at(positions_, 0))), di, at(positions_, 0));
  }

 private:
  static HWY_INLINE std::int32_t* at(std::int32_t* list, std::size_t rank) {
    return list + rank * kTopKColumns;
  }
  HWY_INLINE VI32 key_of(std::size_t rank) const { return hn::Load(I32(), at(keys_, rank)); }

  std::int32_t* keys_;
  std::int32_t* positions_;
};

void BestOfColumns(TopKMode mode, const float* first, std::size_t step, std::size_t count,
                   std::size_t columns, std::size_t k, std::int32_t* positions) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::int32_t keys[kSmallK * kTopKColumns];
  for (std::size_t i = 0; i < k * kTopKColumns; ++i) keys[i] = positions[i] = 0;
  const VI32 flip = hn::Set(I32(), mode == TopKMode::max ? -1 : 0);
  for (std::size_t row = 0; row < count; ++row) {
    const std::size_t last = HWY_MIN(row, k - 1);
    for (std::size_t column = 0; column < columns; column += lanes) {
      const float* const from = first + row * step + column;
      const V32 x = columns - column >= lanes ? hn::LoadU(d, from) : load_n(d, from, columns - column);
      Ranks(keys + column, positions + column)
          .take(keys_of(x, flip), static_cast<std::int32_t>(row), last, row < k);
    }
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(FindBetter);
HWY_EXPORT(BestOfRow);
HWY_EXPORT(BestOfColumns);

std::size_t find_better(TopKMode mode, const float* row, std::size_t begin, std::size_t count, float bound) {
  return HWY_DYNAMIC_DISPATCH(FindBetter)(mode, row, begin, count, bound);
}

std::size_t best_of_row(TopKMode mode, const float* row, std::size_t count, std::size_t k,
                        std::uint64_t* best) {
  return HWY_DYNAMIC_DISPATCH(BestOfRow)(mode, row, count, k, best);
}

void best_of_columns(TopKMode mode, const float* first, std::size_t step, std::size_t count,
                     std::size_t columns, std::size_t k, std::int32_t* positions) {
  HWY_DYNAMIC_DISPATCH(BestOfColumns)(mode, first, step, count, columns, k, positions);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
