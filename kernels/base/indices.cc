#include "kernels/base/indices.h"

#include <atomic>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/base/indices.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether low <= indices[i] <= high for all of `count`.
template <class T>
HWY_INLINE bool are_between(const T* indices, std::size_t count, T low, T high) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto least = hn::Set(d, high);
  auto most = hn::Set(d, low);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, indices + i);
    least = hn::Min(least, v);
    most = hn::Max(most, v);
  }
  bool good = hn::AllFalse(d, hn::Or(hn::Lt(least, hn::Set(d, low)), hn::Gt(most, hn::Set(d, high))));
  for (; i < count; ++i) good &= indices[i] >= low && indices[i] <= high;
  return good;
}

bool AreBetween32(const std::int32_t* indices, std::size_t count, std::int32_t low, std::int32_t high) {
  return are_between(indices, count, low, high);
}
bool AreBetween64(const std::int64_t* indices, std::size_t count, std::int64_t low, std::int64_t high) {
  return are_between(indices, count, low, high);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(AreBetween32);
HWY_EXPORT(AreBetween64);

bool are_indices(IndexView indices, std::size_t begin, std::size_t count, std::size_t size) {
  bool good = true;
  indices.with_elements([&](const auto& elements) {
    using Elements = std::decay_t<decltype(elements)>;
    // Of 32 bits, all there are may be good.
    if constexpr (std::is_same_v<Elements, const std::int32_t*>) {
      constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
      const auto high = static_cast<std::int32_t>(std::min(size - 1, kMost));
      const auto low = static_cast<std::int32_t>(-1 - std::int64_t{high});
      good = size != 0 && HWY_DYNAMIC_DISPATCH(AreBetween32)(elements + begin, count, low, high);
    } else if constexpr (std::is_same_v<Elements, const std::int64_t*>) {
      const auto high = static_cast<std::int64_t>(size) - 1;
      good = size != 0 && HWY_DYNAMIC_DISPATCH(AreBetween64)(elements + begin, count, -1 - high, high);
    } else {
      for (std::size_t i = begin; i < begin + count; ++i) good &= normalize_index(elements[i], size) != size;
    }
  });
  return good || count == 0;
}

IndexResult find_bad_index(IndexView indices, std::size_t count, std::size_t size) {
  std::atomic<std::size_t> first = count;
  parallel_for(count, grain_for_cost(1), [&](std::size_t begin, std::size_t end) {
    // Whole blocks, up to the first that has a bad one.
    constexpr std::size_t kBlock = 1024;
    std::size_t i = begin;
    while (i < end && are_indices(indices, i, std::min(kBlock, end - i), size))
      i += std::min(kBlock, end - i);
    while (i < end && normalize_index(indices[i], size) != size) ++i;
    std::size_t known = first;
    while (i < end && i < known && !first.compare_exchange_weak(known, i)) {
    }
  });
  return first == count ? IndexResult() : BadIndex{first, indices[first]};
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
