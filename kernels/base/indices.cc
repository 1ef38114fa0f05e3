#include "kernels/base/indices.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/base/indices.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether indices of tuples of as many as there are dims are in [-dim, dim) of these.
template <class T>
HWY_INLINE bool are_within(const T* indices, std::size_t count, std::span<const std::size_t> dims) {
  constexpr std::size_t kMostTogether = 8;  // indices of tuples that have more are looked at one by one
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto last_of = [](std::size_t dim) {
    // Of 32 bits, all there are may be good.
    return dim == 0 ? T{-1} : static_cast<T>(std::min<std::size_t>(dim - 1, std::numeric_limits<T>::max()));
  };
  // ~index = -1 - index is how far a negative one is from the end. What is left to the last one has no sign.
  auto left = hn::Zero(d);
  std::size_t i = 0;
  if (dims.size() <= kMostTogether) {
    // After so many vectors, the same dims meet the same lanes again.
    const std::size_t period = dims.size() * lanes;
    HWY_ALIGN T last[kMostTogether * hn::MaxLanes(d)];
    for (std::size_t k = 0; k < period; k += dims.size()) {
      for (std::size_t axis = 0; axis < dims.size(); ++axis) last[k + axis] = last_of(dims[axis]);
    }
    for (; i + period <= count; i += period) {
      for (std::size_t k = 0; k < period; k += lanes) {
        const auto index = hn::LoadU(d, indices + i + k);
        const auto distance = hn::Xor(index, hn::BroadcastSignBit(index));
        left = hn::Or(left, hn::Sub(hn::Load(d, last + k), distance));
      }
    }
  }
  bool good = hn::AllFalse(d, hn::Lt(left, hn::Zero(d)));
  for (; i < count; ++i)
    good &= (indices[i] < 0 ? ~indices[i] : indices[i]) <= last_of(dims[i % dims.size()]);
  return good;
}

bool AreWithin32(const std::int32_t* indices, std::size_t count, std::span<const std::size_t> dims) {
  return are_within(indices, count, dims);
}
bool AreWithin64(const std::int64_t* indices, std::size_t count, std::span<const std::size_t> dims) {
  return are_within(indices, count, dims);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(AreWithin32);
HWY_EXPORT(AreWithin64);

bool are_indices(IndexView indices, std::size_t begin, std::size_t count, std::span<const std::size_t> dims) {
  bool good = true;
  indices.with_elements([&](const auto& elements) {
    using Elements = std::decay_t<decltype(elements)>;
    if constexpr (std::is_same_v<Elements, const std::int32_t*>) {
      good = HWY_DYNAMIC_DISPATCH(AreWithin32)(elements + begin, count, dims);
    } else if constexpr (std::is_same_v<Elements, const std::int64_t*>) {
      good = HWY_DYNAMIC_DISPATCH(AreWithin64)(elements + begin, count, dims);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t dim = dims[i % dims.size()];
        good &= normalize_index(elements[begin + i], dim) != dim;
      }
    }
  });
  return good;
}

bool are_indices(IndexView indices, std::size_t begin, std::size_t count, std::size_t size) {
  return are_indices(indices, begin, count, {&size, 1});
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
