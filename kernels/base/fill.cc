#include "kernels/base/fill.h"

#include <bit>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/base/fill.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// Vectors that begin where lines of the cache do, between one at each end that need not.
void FillLong(std::uint64_t word, std::size_t bytes, char* out) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t size = hn::Lanes(d) * sizeof(word);
  const auto store = [&](std::size_t at) HWY_ATTR { return reinterpret_cast<std::uint64_t*>(out + at); };
  const auto ends = hn::Set(d, word);
  const std::size_t last = bytes - size;
  hn::StoreU(ends, d, store(0));
  std::size_t at = size - reinterpret_cast<std::uintptr_t>(out) % size;
  // The bytes that the first of these vectors begins with.
  const auto turned = hn::Set(d, std::rotr(word, static_cast<int>(at % sizeof(word) * 8)));
  for (; at < last; at += size) hn::Store(turned, d, store(at));
  hn::StoreU(ends, d, store(last));
}

/// By whole vectors, kOnce: one for each element. What they write behind an element's place is overwritten by
/// the next element.
template <bool kOnce, class D, class T = hn::TFromD<D>>
HWY_INLINE void repeat_by_vectors(D d, const std::byte* from, std::size_t count, std::size_t times,
                                  std::byte* to) {
  static_assert(hn::MaxLanes(D()) * sizeof(T) <= kRepeatSlack);
  const std::size_t lanes = hn::Lanes(d);
  T* next = reinterpret_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i, next += times) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    const auto values = hn::Set(d, value);
    hn::StoreU(values, d, next);
    if constexpr (kOnce) continue;
    for (std::size_t t = lanes; t < times; t += lanes) hn::StoreU(values, d, next + t);
  }
}

template <class T>
HWY_INLINE void repeat_type(const std::byte* from, std::size_t count, std::size_t times, std::byte* to) {
  const hn::CappedTag<T, 16 / sizeof(T)> few;
  if (times <= hn::Lanes(few)) return repeat_by_vectors<true>(few, from, count, times, to);
  // Not the longest vectors, of which each would lie across two cache lines.
  const hn::CappedTag<T, kRepeatSlack / sizeof(T)> many;
  if (times <= hn::Lanes(many)) return repeat_by_vectors<true>(many, from, count, times, to);
  repeat_by_vectors<false>(many, from, count, times, to);
}

void RepeatElements(std::size_t element_size, const std::byte* from, std::size_t count, std::size_t times,
                    std::byte* to) {
  switch (element_size) {
    case 1:
      return repeat_type<std::uint8_t>(from, count, times, to);
    case 2:
      return repeat_type<std::uint16_t>(from, count, times, to);
    case 4:
      return repeat_type<std::uint32_t>(from, count, times, to);
    default:
      return repeat_type<std::uint64_t>(from, count, times, to);
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(FillLong);
HWY_EXPORT(RepeatElements);

void fill_long(std::uint64_t word, std::size_t bytes, char* out) {
  HWY_DYNAMIC_DISPATCH(FillLong)(word, bytes, out);
}

void repeat_elements(std::size_t element_size, const void* from, std::size_t count, std::size_t times,
                     void* to) {
  HWY_DYNAMIC_DISPATCH(RepeatElements)
  (element_size, static_cast<const std::byte*>(from), count, times, static_cast<std::byte*>(to));
}

}  // namespace ir::kernels
#endif
