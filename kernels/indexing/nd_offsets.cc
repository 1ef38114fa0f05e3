#include "kernels/indexing/nd_offsets.h"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/indexing/nd_offsets.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether indices of tuples of `depth` <= NdOffsets::kMostDepth are in [-dim, dim) of their dims.
template <class T>
HWY_INLINE bool are_within(const T* indices, std::size_t count, const std::size_t* dims, std::size_t depth) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  // After so many vectors, the same dims meet the same lanes again.
  HWY_ALIGN T last[NdOffsets::kMostDepth * hn::MaxLanes(d)];
  const auto last_of = [=](std::size_t k) {
    return static_cast<T>(std::min<std::size_t>(dims[k], std::numeric_limits<T>::max()) - 1);
  };
  for (std::size_t i = 0; i < depth * lanes; ++i) last[i] = last_of(i % depth);
  // ~index = -1 - index is how far a negative one is from the end.
  auto bad = hn::MaskFromVec(hn::Zero(d));
  std::size_t i = 0;
  for (; i + depth * lanes <= count; i += depth * lanes) {
    for (std::size_t k = 0; k < depth * lanes; k += lanes) {
      const auto index = hn::LoadU(d, indices + i + k);
      bad = hn::Or(bad, hn::Gt(hn::Xor(index, hn::BroadcastSignBit(index)), hn::Load(d, last + k)));
    }
  }
  bool good = hn::AllFalse(d, bad);
  for (; i < count; ++i) good &= (indices[i] < 0 ? ~indices[i] : indices[i]) <= last[i % depth];
  return good;
}

bool AreWithin32(const std::int32_t* indices, std::size_t count, const std::size_t* dims, std::size_t depth) {
  return are_within(indices, count, dims, depth);
}
bool AreWithin64(const std::int64_t* indices, std::size_t count, const std::size_t* dims, std::size_t depth) {
  return are_within(indices, count, dims, depth);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(AreWithin32);
HWY_EXPORT(AreWithin64);

void NdOffsets::find(std::size_t first, std::size_t count, std::size_t* slices) const {
  const std::size_t depth = shape_.index_dims.size();
  // A batch is one more dim before the others.
  for (std::size_t i = 0; i < count; ++i) slices[i] = shape_.batch == 1 ? 0 : (first + i) / shape_.tuples;
  indices_.with_elements([&](const auto& elements) {
    for (std::size_t k = 0; k < depth; ++k) {
      const std::size_t dim = shape_.index_dims[k];
      std::size_t at = first * depth + k;
      for (std::size_t i = 0; i < count; ++i, at += depth) {
        const std::int64_t index = elements[at];
        // Without a branch, which would be mispredicted where signs are mixed.
        const std::size_t from_end = static_cast<std::size_t>(index >> 63) & dim;
        slices[i] = slices[i] * dim + static_cast<std::size_t>(index) + from_end;
      }
    }
  });
}

bool NdOffsets::are_good() const {
  const std::size_t depth = shape_.index_dims.size();
  const std::size_t count = shape_.batch * shape_.tuples * depth;
  const std::size_t* const dims = shape_.index_dims.data();
  bool good = false;
  if (depth == 0 || depth > kMostDepth) return false;
  indices_.with_elements([&](const auto& elements) {
    using Elements = std::decay_t<decltype(elements)>;
    if constexpr (std::is_same_v<Elements, const std::int32_t*>) {
      good = HWY_DYNAMIC_DISPATCH(AreWithin32)(elements, count, dims, depth);
    } else if constexpr (std::is_same_v<Elements, const std::int64_t*>) {
      good = HWY_DYNAMIC_DISPATCH(AreWithin64)(elements, count, dims, depth);
    }
  });
  return good;
}

IndexResult NdOffsets::find_bad() const {
  if (are_good()) return {};
  const std::size_t depth = shape_.index_dims.size();
  for (std::size_t t = 0; t < shape_.batch * shape_.tuples; ++t) {
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t index = indices_[t * depth + k];
      if (normalize_index(index, shape_.index_dims[k]) == shape_.index_dims[k]) {
        return BadIndex{t * depth + k, index};
      }
    }
  }
  return {};
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
