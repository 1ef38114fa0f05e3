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
HWY_EXPORT(BestOfColumns);

std::size_t find_better(TopKMode mode, const float* row, std::size_t begin, std::size_t count, float bound) {
  return HWY_DYNAMIC_DISPATCH(FindBetter)(mode, row, begin, count, bound);
}

void best_of_columns(TopKMode mode, const float* first, std::size_t step, std::size_t count,
                     std::size_t columns, std::size_t k, std::int32_t* positions) {
  HWY_DYNAMIC_DISPATCH(BestOfColumns)(mode, first, step, count, columns, k, positions);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
