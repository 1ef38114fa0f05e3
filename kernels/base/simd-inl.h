// Tails and map loops, once for every kernel. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_BASE_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_BASE_SIMD_INL_H_
#undef KERNELS_BASE_SIMD_INL_H_
#else
#define KERNELS_BASE_SIMD_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Machines of before 2013 are to be supported, not worth code for each number of rows, size of a window and
/// the like.
inline constexpr bool kOldProcessor = HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4;

/// To be called where a kernel ends that has called functions that are not inline, if these take vectors or
/// leave some registers alone: GCC then forgets that the upper halves of vectors are in use, and until they
/// are cleared, each instruction of the baseline costs Intel's cores dozens of cycles. Not between, where
/// values in registers would have to be saved. Before GCC 12 it does not know of these (its bug 82735).
HWY_INLINE void clear_upper_halves() {
#if HWY_COMPILER_GCC_ACTUAL >= 1200 && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
  __builtin_ia32_vzeroupper();
#endif
}

/// Whether masked accesses leave alone the memory of lanes that are off: those of AVX-512, and on AVX2 those
/// of 4 and 8 bytes. Highway 1.0.3 emulates the others with whole vectors (on SSE4 even aligned ones).
template <class T>
constexpr bool kMasksMemory = HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4);

/// Whether stores of parts of vectors are made of masks. AVX2 has them for 4 and 8 bytes, but some processors
/// take a dozen cycles for each.
constexpr bool kStoresMasks = HWY_TARGET == HWY_AVX3;

/// Whether parts of vectors are loaded and stored by calls, which spares the code of each: vectors of 16
/// bytes have no upper halves to be cleared after one.
constexpr bool kCallsForParts = HWY_MAX_BYTES <= 16;

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_n_here(D d, const T* HWY_RESTRICT from, std::size_t count) {
  if constexpr (kMasksMemory<T>) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  } else {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
    std::memcpy(lanes, from, count * sizeof(T));
    return hn::Load(d, lanes);
  }
}
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE hn::Vec<D> load_n_shared(D d, const T* HWY_RESTRICT from, std::size_t count) {
  return load_n_here(d, from, count);
}

/// Loads `count` <= Lanes(d) elements; the other lanes are zero. Never reads past `from + count`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_n(D d, const T* HWY_RESTRICT from, std::size_t count) {
  if constexpr (kCallsForParts) {
    return load_n_shared(d, from, count);
  } else {
    return load_n_here(d, from, count);
  }
}

/// Copies `count` <= `kMost` elements, a power of two, in one or two pieces.
template <std::size_t kMost, class T>
HWY_INLINE void copy_few(const T* from, T* to, std::size_t count) {
  if constexpr (kMost > 1) {
    constexpr std::size_t kHalf = kMost / 2;
    if (count < kHalf) return copy_few<kHalf>(from, to, count);
    std::memcpy(to, from, kHalf * sizeof(T));
    std::memcpy(to + count - kHalf, from + count - kHalf, kHalf * sizeof(T));
  } else if (count != 0) {
    *to = *from;
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_n_here(hn::Vec<D> v, D d, T* HWY_RESTRICT to, std::size_t count) {
  if constexpr (kStoresMasks) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else if (count == hn::MaxLanes(D())) {
    hn::StoreU(v, d, to);
  } else {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(v, d, lanes);
    copy_few<hn::MaxLanes(D())>(lanes, to, count);
  }
}
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE void store_n_shared(hn::Vec<D> v, D d, T* HWY_RESTRICT to, std::size_t count) {
  store_n_here(v, d, to, count);
}

/// Stores the first `count` <= Lanes(d) elements. Never writes past `to + count`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_n(hn::Vec<D> v, D d, T* HWY_RESTRICT to, std::size_t count) {
  if constexpr (kCallsForParts) {
    store_n_shared(v, d, to, count);
  } else {
    store_n_here(v, d, to, count);
  }
}

/// The same for the ends of loops, of which there are many.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_tail(hn::Vec<D> v, D d, T* HWY_RESTRICT to, std::size_t count) {
  store_n_shared(v, d, to, count);
  clear_upper_halves();
}

/// The larger and the smaller of `bound` and `v`; NaN where `v` is. Max and Min of x86 return the second
/// operand when one is NaN, those of other processors may prefer the number.
template <class V>
HWY_INLINE V at_least(V bound, V v) {
#if HWY_ARCH_X86
  return hn::Max(bound, v);
#else
  return hn::IfThenElse(hn::Lt(v, bound), bound, v);
#endif
}
template <class V>
HWY_INLINE V at_most(V bound, V v) {
#if HWY_ARCH_X86
  return hn::Min(bound, v);
#else
  return hn::IfThenElse(hn::Gt(v, bound), bound, v);
#endif
}

/// Calls each(i) for vectors of T that cover [0, count), the last of which begins early. `count`: one vector
/// or more.
template <class T, class Each>
HWY_INLINE void for_each_vector(std::size_t count, const Each& each) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const std::size_t last = count - lanes;
  for (std::size_t i = 0;; i = std::min(i + lanes, last)) {
    each(i);
    if (i == last) return;
  }
}

/// out[i] = f(in[i]); `in` and `out` may be the same. `f` sees whole vectors: the tail's spare lanes are
/// zero.
template <class D, class F, class T = hn::TFromD<D>>
HWY_INLINE void map_unary(D d, const T* in, T* out, std::size_t count, const F& f) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, in + i)), d, out + i);
  if (i < count) store_tail(f(load_n(d, in + i, count - i)), d, out + i, count - i);
}

/// out[i] = f(a[i], b[i]); `out` may be `a` or `b`.
template <class D, class F, class T = hn::TFromD<D>>
HWY_INLINE void map_binary(D d, const T* a, const T* b, T* out, std::size_t count, const F& f) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  if (i < count) {
    store_tail(f(load_n(d, a + i, count - i), load_n(d, b + i, count - i)), d, out + i, count - i);
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_BASE_SIMD_INL_H_
