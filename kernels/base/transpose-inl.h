// Rows of floats that become columns. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_BASE_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_BASE_TRANSPOSE_INL_H_
#undef KERNELS_BASE_TRANSPOSE_INL_H_
#else
#define KERNELS_BASE_TRANSPOSE_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Where rows begin that are `stride` apart.
struct EvenRows {
  const float* from;
  std::size_t stride;
  HWY_INLINE const float* operator()(std::size_t row) const { return from + row * stride; }
};

/// The same, where every row behind the last one is the last one again.
struct RepeatedLastRow {
  EvenRows rows;
  std::size_t last;
  HWY_INLINE const float* operator()(std::size_t row) const { return rows(std::min(row, last)); }
};

/// Four floats from rows `first`, `first` + 4, ..., Lanes(d) / 4 of them.
template <class DF, class Rows>
HWY_INLINE hn::Vec<DF> load_blocks(DF d, const Rows& rows, std::size_t first) {
  if constexpr (hn::MaxLanes(DF()) <= 4) {
    return hn::LoadU(d, rows(first));
  } else {
    const hn::Half<DF> half;
    return hn::Combine(d, load_blocks(half, rows, first + hn::MaxLanes(half)),
                       load_blocks(half, rows, first));
  }
}

/// The elements of four vectors in turn, a quarter of each block in each of `v`: its first elements in v[0].
/// Elements of `pairs` are twice as large.
template <class D, class Pairs>
HWY_INLINE void interleave_four(D d, Pairs pairs, const hn::Vec<D> (&rows)[4], hn::Vec<D> (&v)[4]) {
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  v[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

/// Four floats from each of Lanes(d) rows, transposed: lane r of v[k] is rows(r)[k].
template <class DF, class Rows>
HWY_INLINE void load_transposed(DF d, const Rows& rows, hn::Vec<DF> (&v)[4]) {
  // Block b of a vector holds rows 4 b to 4 b + 3: squares of 4 x 4 in the end.
  interleave_four(
      d, hn::Repartition<double, DF>(),
      {load_blocks(d, rows, 0), load_blocks(d, rows, 1), load_blocks(d, rows, 2), load_blocks(d, rows, 3)},
      v);
}

/// Columns `stride` apart.
template <class DF>
HWY_INLINE void store_columns(DF d, const hn::Vec<DF> (&v)[4], float* to, std::size_t stride) {
  // Not a loop, for which GCC would keep them in memory.
  hn::StoreU(v[0], d, to);
  hn::StoreU(v[1], d, to + stride);
  hn::StoreU(v[2], d, to + 2 * stride);
  hn::StoreU(v[3], d, to + 3 * stride);
}

/// Rows, one per lane of d, as columns: value (row, k) goes to to[k * width + row].
template <class DF, class Rows>
HWY_INLINE void pack_as_columns(DF d, const Rows& rows, std::size_t depth, float* to, std::size_t width) {
  const auto pack_four = [&](std::size_t k) HWY_ATTR {
    hn::Vec<DF> v[4];
    load_transposed(
        d, [&](std::size_t row) HWY_ATTR { return rows(row) + k; }, v);
    store_columns(d, v, to + k * width, width);
  };
  std::size_t k = 0;
  for (; k + 4 <= depth; k += 4) pack_four(k);
  if (k < depth && depth >= 4) return pack_four(depth - 4);  // some of them again
  for (; k < depth; ++k) {
    for (std::size_t i = 0; i < hn::MaxLanes(DF()); ++i) to[k * width + i] = rows(i)[k];
  }
}

/// Rows `stride` apart, one per lane of d, as columns.
template <class DF>
HWY_INLINE void pack_rows_as_columns(DF d, const float* rows, std::size_t stride, std::size_t depth,
                                     float* to, std::size_t width) {
  pack_as_columns(d, EvenRows{rows, stride}, depth, to, width);
}

/// The same for the last `count` rows of the columns, 1 to Lanes(d) of them: whole vectors are stored, but
/// for the last columns, so that what belongs to rows before is to be stored later.
template <class DF>
HWY_INLINE void pack_last_rows(DF d, const float* rows, std::size_t stride, std::size_t count,
                               std::size_t depth, float* to, std::size_t width) {
  constexpr std::size_t kRows = hn::MaxLanes(DF());
  const RepeatedLastRow all{{rows, stride}, count - 1};
  const float* starts[kRows];
  for (std::size_t row = 0; row < kRows; ++row) starts[row] = all(row);
  const std::size_t end = (depth - 1) * width + count;
  std::size_t k = 0;
  for (; (k + 3) * width + kRows <= end; k += 4) {
    hn::Vec<DF> v[4];
    load_transposed(
        d, [&](std::size_t row) HWY_ATTR { return starts[row] + k; }, v);
    store_columns(d, v, to + k * width, width);
  }
  for (; k < depth; ++k) {
    for (std::size_t row = 0; row < count; ++row) to[k * width + row] = rows[row * stride + k];
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_BASE_TRANSPOSE_INL_H_
