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
    const VI32 positions = hn::Iota(di, static_cast<std::int32_t>(position));
    const VI32 keys = keys_of(x, flip_);
    const auto mask = hn::RebindMask(di, chosen);
#if HWY_TARGET == HWY_AVX2
    // Compress of whole vectors has a table that GCC makes anew each time.
    const hn::Half<I32> half;
    const VI32 lanes = hn::VecFromMask(di, mask);
    append(half, hn::LowerHalf(half, keys), hn::LowerHalf(half, positions),
           hn::MaskFromVec(hn::LowerHalf(half, lanes)));
    append(half, hn::UpperHalf(half, keys), hn::UpperHalf(half, positions),
           hn::MaskFromVec(hn::UpperHalf(half, lanes)));
#else
    append(di, keys, positions, mask);
#endif
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

  template <class D>
  HWY_INLINE void append(D d, hn::Vec<D> keys, hn::Vec<D> positions, hn::Mask<D> mask) {
    hn::StoreU(hn::Compress(keys, mask), d, keys_ + count_);
    hn::StoreU(hn::Compress(positions, mask), d, positions_ + count_);
    count_ += hn::CountTrue(d, mask);
  }

  VI32 flip_;
  std::size_t k_;
  std::size_t count_ = 0;
  HWY_ALIGN std::int32_t keys_[kRoom];
  HWY_ALIGN std::int32_t positions_[kRoom];
};

/// The largest numbers of groups of a row's elements, signs changed by `sign`, of which there are twice as
/// many as are wanted. NaN belongs to no group.
class Groups {
 public:
  HWY_INLINE Groups(const float* row, std::size_t count, V32 sign, std::size_t k) : k_(k) {
    const F32 d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t block = 4 * lanes;
    const std::size_t segments = (2 * k - 1) / block + 1;
    const std::size_t length = count / segments / block * block;
    if (length == 0) return;
    count_ = segments * block;
    for (std::size_t s = 0; s < segments; ++s) {
      V32 a = hn::Set(d, -std::numeric_limits<float>::infinity());
      V32 b = a;
      V32 c = a;
      V32 e = a;
      const float* from = row + s * length;
      for (const float* const end = from + length; from != end; from += block) {
        a = larger(from, sign, a);
        b = larger(from + lanes, sign, b);
        c = larger(from + 2 * lanes, sign, c);
        e = larger(from + 3 * lanes, sign, e);
      }
      float* const to = largest_ + s * block;
      hn::Store(a, d, to);
      hn::Store(b, d, to + lanes);
      hn::Store(c, d, to + 2 * lanes);
      hn::Store(e, d, to + 3 * lanes);
    }
    while (count_ / 2 % lanes == 0 && count_ / 2 >= 2 * k) {
      count_ /= 2;
      for (std::size_t i = 0; i < count_; i += lanes) {
        hn::Store(hn::Max(hn::Load(d, largest_ + i), hn::Load(d, largest_ + count_ + i)), d, largest_ + i);
      }
    }
  }

  /// False where the row has too few elements.
  [[nodiscard]] HWY_INLINE bool exist() const { return count_ != 0; }

  /// A number that k elements or some more reach, as at least k groups do. The least of all where too many
  /// are the same.
  [[nodiscard]] HWY_INLINE float bound() const {
    float low = least();
    if (above(low) < k_) return low;
    float high = most();
    for (int probe = 0; probe < kProbes; ++probe) {
      const float middle = low + (high - low) / 2;
      if (!(middle > low && middle < high)) break;
      const std::size_t reached = above(middle);
      (reached < k_ ? high : low) = middle;
      if (reached >= k_ && reached <= k_ + k_ / 8) break;
    }
    return low;
  }

  [[nodiscard]] HWY_INLINE float most() const {
    const F32 d;
    V32 v = hn::Load(d, largest_);
    for (std::size_t i = hn::Lanes(d); i < count_; i += hn::Lanes(d))
      v = hn::Max(v, hn::Load(d, largest_ + i));
    return hn::GetLane(hn::MaxOfLanes(d, v));
  }

  [[nodiscard]] HWY_INLINE float least() const {
    const F32 d;
    V32 v = hn::Load(d, largest_);
    for (std::size_t i = hn::Lanes(d); i < count_; i += hn::Lanes(d))
      v = hn::Min(v, hn::Load(d, largest_ + i));
    return hn::GetLane(hn::MinOfLanes(d, v));
  }

 private:
  static constexpr int kProbes = 24;

  static HWY_INLINE V32 larger(const float* from, V32 sign, V32 v) {
    const V32 x = hn::Xor(hn::LoadU(F32(), from), sign);
    return hn::IfThenElse(hn::Gt(x, v), x, v);
  }

  [[nodiscard]] HWY_INLINE std::size_t above(float bound) const {
    const F32 d;
    const V32 limit = hn::Set(d, bound);
    std::size_t found = 0;
    for (std::size_t i = 0; i < count_; i += hn::Lanes(d)) {
      found += hn::CountTrue(d, hn::Gt(hn::Load(d, largest_ + i), limit));
    }
    return found;
  }

  std::size_t k_;
  std::size_t count_ = 0;
  HWY_ALIGN float largest_[2 * kSmallKOfRows + 4 * hn::MaxLanes(F32())];
};

/// Whether elements reach a bound, their signs changed. NaN always does: where it ranks is seen when
/// candidates are ranked.
struct MayRank {
  V32 sign;
  V32 bound;

  HWY_INLINE hn::Mask<F32> operator()(V32 x) const { return hn::Not(hn::Lt(hn::Xor(x, sign), bound)); }
};

std::size_t BestOfRow(TopKMode mode, const float* row, std::size_t count, std::size_t k,
                      std::uint64_t* best) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const bool is_max = mode == TopKMode::max;
  const V32 sign = hn::Set(d, is_max ? 0.0F : -0.0F);
  const Groups groups(row, count, sign, k);
  float bound = -std::numeric_limits<float>::infinity();
  if (groups.exist()) {
    bound = groups.bound();
    if (bound == groups.least()) return 0;
  }
  const MayRank may_rank{sign, hn::Set(d, bound)};
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
