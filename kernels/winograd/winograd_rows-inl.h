// Rows of samples and of outputs, which Winograd's transforms of planes and of lines share. Included inside a
// foreach_target file, after highway.h.
#if defined(KERNELS_WINOGRAD_WINOGRAD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_WINOGRAD_WINOGRAD_ROWS_INL_H_
#undef KERNELS_WINOGRAD_WINOGRAD_ROWS_INL_H_
#else
#define KERNELS_WINOGRAD_WINOGRAD_ROWS_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/winograd/winograd_transforms.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// kStride vectors whose lane i holds element i * kStride + vector of those given, for long vectors: of two,
/// any lanes are one at the price of one instruction.
template <std::size_t kStride>
HWY_INLINE void split_strided(const V* whole, V* v) {
  const D d;
  V halves[kStride];
  KERNELS_UNROLL for (std::size_t i = 0; i < kStride / 2; ++i) {
    halves[i] = hn::ConcatEven(d, whole[2 * i + 1], whole[2 * i]);
    halves[kStride / 2 + i] = hn::ConcatOdd(d, whole[2 * i + 1], whole[2 * i]);
  }
  if constexpr (kStride == 2) {
    v[0] = halves[0];
    v[1] = halves[1];
  } else {
    static_assert(kStride == 4);
    KERNELS_UNROLL for (std::size_t i = 0; i < 2; ++i) {
      v[i] = hn::ConcatEven(d, halves[2 * i + 1], halves[2 * i]);
      v[2 + i] = hn::ConcatOdd(d, halves[2 * i + 1], halves[2 * i]);
    }
  }
}

/// kStride vectors whose lane i holds from[i * kStride + vector]. Reads kStride whole vectors.
template <std::size_t kStride>
HWY_INLINE void load_strided(const float* from, V (&v)[kStride]) {
  const D d;
  if constexpr (kLanes > 8) {
    V whole[kStride];
    KERNELS_UNROLL for (std::size_t i = 0; i < kStride; ++i) whole[i] = hn::LoadU(d, from + i * kLanes);
    split_strided<kStride>(whole, v);
  } else if constexpr (kStride == 2) {
    hn::LoadInterleaved2(d, from, v[0], v[1]);
  } else {
    static_assert(kStride == 4);
    load_transposed(d, EvenRows{from, kStride}, v);
  }
}

/// The reverse.
template <std::size_t kStride>
HWY_INLINE void store_strided(const V (&v)[kStride], float* to) {
  const D d;
  if constexpr (kStride == 2) {
    hn::StoreInterleaved2(v[0], v[1], d, to);
  } else {
    static_assert(kStride == 4);
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, to);
  }
}

/// Adds bias and residual to a row of outputs, and clamps it.
HWY_NOINLINE inline void finish_row(const float* from, const Tile& tile, std::size_t row) {
  const D d;
  const V bias = hn::Set(d, tile.row_bias != nullptr ? *tile.row_bias : 0.0F);
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  float* const to = tile.out + row * tile.stride;
  const float* const residual = tile.residual != nullptr ? tile.residual + row * tile.stride : nullptr;
  std::size_t x = 0;
  const float* const fetched = tile.fetch != nullptr ? tile.fetch + row * tile.stride : from;
  for (; x + kLanes <= tile.columns; x += kLanes) {
    fetch_to_second_level(fetched + x);
    V v = hn::Add(hn::LoadU(d, from + x), bias);
    if (residual != nullptr) v = hn::Add(v, hn::LoadU(d, residual + x));
    hn::StoreU(clamp(low, high, v), d, to + x);
  }
  if (x < tile.columns) {
    const std::size_t rest = tile.columns - x;
    V v = hn::Add(hn::LoadU(d, from + x), bias);
    if (residual != nullptr) v = hn::Add(v, load_edge(residual + x, rest));
    store_edge(clamp(low, high, v), to + x, rest);
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_WINOGRAD_WINOGRAD_ROWS_INL_H_
