// Filters on their way to Winograd's transforms, which take them in double. Included inside a foreach_target
// file, after highway.h.
#if defined(KERNELS_WINOGRAD_WINOGRAD_FILTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_WINOGRAD_WINOGRAD_FILTERS_INL_H_
#undef KERNELS_WINOGRAD_WINOGRAD_FILTERS_INL_H_
#else
#define KERNELS_WINOGRAD_WINOGRAD_FILTERS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using FilterTag = hn::ScalableTag<double>;
using FilterVector = hn::Vec<FilterTag>;

/// Calls `use(k, present, taps)` for vectors of filters: lane i of taps[t] is tap t of filter k + i, of
/// `count` filters of kTaps, `stride` floats apart. Lanes from `present` on are those of the last filter.
template <std::size_t kTaps, class Use>
HWY_INLINE void for_each_filter_vector(const float* filters, std::size_t stride, std::size_t count,
                                       const Use& use) {
  const FilterTag d;
  const hn::Rebind<float, FilterTag> df;
  HWY_ALIGN float turned[kTaps][kLanes];
  for (std::size_t k = 0; k < count; k += kLanes) {
    const float* const from = filters + k * stride;
    const std::size_t present = std::min(kLanes, count - k);
    pack_as_columns(D(), RepeatedLastRow{{from, stride}, present - 1}, kTaps, turned[0], kLanes);
    for (std::size_t first = 0; first < present; first += hn::Lanes(d)) {
      FilterVector taps[kTaps];
      KERNELS_UNROLL for (std::size_t t = 0; t < kTaps; ++t) {
        taps[t] = hn::PromoteTo(d, hn::Load(df, turned[t] + first));
      }
      use(k + first, std::min(hn::Lanes(d), present - first), taps);
    }
  }
}

/// As float; the first `count` lanes.
HWY_INLINE void store_points(const FilterVector& points, std::size_t count, float* to) {
  const hn::Rebind<float, FilterTag> df;
  if (count == hn::Lanes(df)) {
    hn::StoreU(hn::DemoteTo(df, points), df, to);
  } else {
    store_n(hn::DemoteTo(df, points), df, to, count);
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_WINOGRAD_WINOGRAD_FILTERS_INL_H_
