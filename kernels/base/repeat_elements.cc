#include "kernels/base/repeat_elements.h"

#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/base/repeat_elements.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

HWY_EXPORT(RepeatElements);

void repeat_elements(std::size_t element_size, const void* from, std::size_t count, std::size_t times,
                     void* to) {
  HWY_DYNAMIC_DISPATCH(RepeatElements)
  (element_size, static_cast<const std::byte*>(from), count, times, static_cast<std::byte*>(to));
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
