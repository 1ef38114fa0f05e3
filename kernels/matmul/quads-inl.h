// Lanes of four bytes: what multiplies them, and how values become the levels in them. Included inside a
// foreach_target file, after highway.h.
#if defined(KERNELS_MATMUL_QUADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_MATMUL_QUADS_INL_H_
#undef KERNELS_MATMUL_QUADS_INL_H_
#else
#define KERNELS_MATMUL_QUADS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

// The instruction that adds the products of four unsigned bytes (%1) by signed ones (%2) to a sum. No target
// promises it (see dots_integers).
#undef KERNELS_DOT_QUADS
#if HWY_TARGET == HWY_AVX3 && defined(__GNUC__)
#define KERNELS_DOT_QUADS "vpdpbusd %2, %1, %0"
#elif HWY_TARGET == HWY_AVX2 && defined(__GNUC__)
#define KERNELS_DOT_QUADS "%{vex%} vpdpbusd %2, %1, %0"
#endif

#ifdef KERNELS_DOT_QUADS

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// What levels end at: whole numbers from 0 to 255. A NaN becomes the lowest one. kFit: there is none, and
/// all values fit 32 bits, which takes less.
template <bool kFit = false>
class LevelBounds {
 public:
  HWY_INLINE LevelBounds(float low, float high)
      : high_(hn::Set(D(), high)),
        low_(hn::Set(Bytes(), static_cast<std::uint8_t>(low))),
        high_byte_(hn::Set(Bytes(), static_cast<std::uint8_t>(high))) {}

  /// The levels of four vectors, one byte of each lane after the other.
  HWY_INLINE V levels_of_rows(const V (&rows)[4]) const {
    alignas(16) static constexpr std::uint8_t kTurned[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                             2, 6, 10, 14, 3, 7, 11, 15};
    return hn::BitCast(D(), hn::TableLookupBytes(bytes_of(rows), hn::LoadDup128(Bytes(), kTurned)));
  }

#if HWY_TARGET == HWY_AVX3
  /// The first `count` levels of each of four vectors, to rows `stride` apart.
  HWY_INLINE void store_rows(const V (&rows)[4], std::uint8_t* to, std::size_t stride,
                             std::size_t count) const {
    alignas(64) static constexpr std::int32_t kTurned[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                             2, 6, 10, 14, 3, 7, 11, 15};
    const hn::RebindToSigned<D> lanes;
    const auto order = hn::IndicesFromVec(lanes, hn::Load(lanes, kTurned));
    const auto levels = hn::TableLookupLanes(hn::BitCast(lanes, bytes_of(rows)), order);
    store_blocks(hn::BitCast(D(), levels), to, stride, count, 4);
  }

  /// Blocks of 128 bits, `stride` apart.
  static HWY_INLINE void store_blocks(V v, std::uint8_t* to, std::size_t stride) {
    const __m512i levels = _mm512_castps_si512(v.raw);
    const auto at = [=](std::size_t i) { return reinterpret_cast<__m128i*>(to + i * stride); };
    _mm_storeu_si128(at(0), _mm512_castsi512_si128(levels));
    _mm_storeu_si128(at(1), _mm512_extracti32x4_epi32(levels, 1));
    _mm_storeu_si128(at(2), _mm512_extracti32x4_epi32(levels, 2));
    _mm_storeu_si128(at(3), _mm512_extracti32x4_epi32(levels, 3));
  }

  /// The first `count` bytes of each block of 128 bits, to as many rows, or fewer, `stride` apart.
  static HWY_INLINE void store_blocks(V v, std::uint8_t* to, std::size_t stride, std::size_t count,
                                      std::size_t rows) {
    const __m512i levels = _mm512_castps_si512(v.raw);
    const __m128i row[4] = {_mm512_castsi512_si128(levels), _mm512_extracti32x4_epi32(levels, 1),
                            _mm512_extracti32x4_epi32(levels, 2), _mm512_extracti32x4_epi32(levels, 3)};
    const hn::Full128<std::uint8_t> bytes;
    // Whole ones are stored as fast with a mask, too.
    KERNELS_UNROLL for (std::size_t i = 0; i < 4; ++i) {
      if (i < rows) store_n(hn::Vec<decltype(bytes)>{row[i]}, bytes, to + i * stride, count);
    }
  }
#endif

  /// The levels of four vectors, of which one after the other gives the next lane of every block.
  HWY_INLINE V levels_of_blocks(const V (&values)[4]) const { return hn::BitCast(D(), bytes_of(values)); }

 private:
  using Bytes = hn::Repartition<std::uint8_t, D>;

  /// Of blocks: four bytes of each vector, one vector after the other.
  HWY_INLINE hn::Vec<Bytes> bytes_of(const V (&values)[4]) const {
    // What is too low, and a NaN, is the least integer, which ends at 0.
    const hn::Repartition<std::int16_t, D> halves;
    const auto lower = hn::ReorderDemote2To(halves, nearest(values[0]), nearest(values[1]));
    const auto upper = hn::ReorderDemote2To(halves, nearest(values[2]), nearest(values[3]));
#if HWY_TARGET == HWY_AVX3
    const hn::Vec<Bytes> levels{_mm512_packus_epi16(lower.raw, upper.raw)};
#else
    const hn::Vec<Bytes> levels{_mm256_packus_epi16(lower.raw, upper.raw)};
#endif
    return hn::Max(kFit ? hn::Min(levels, high_byte_) : levels, low_);
  }

  /// The instruction itself: what Highway does about large numbers is not needed below `high_`.
  HWY_INLINE hn::Vec<hn::RebindToSigned<D>> nearest(V v) const {
    const V bounded = kFit ? v : hn::Min(high_, v);
#if HWY_TARGET == HWY_AVX3
    return {_mm512_cvtps_epi32(bounded.raw)};
#else
    return {_mm256_cvtps_epi32(bounded.raw)};
#endif
  }

  V high_;
  hn::Vec<Bytes> low_;
  hn::Vec<Bytes> high_byte_;
};

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#endif  // KERNELS_MATMUL_QUADS_INL_H_
