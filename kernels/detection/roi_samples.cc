#include "kernels/detection/roi_samples.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/detection/roi_samples.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::CappedTag<float, kSampledChannels>;
using V32 = hn::Vec<F32>;

HWY_INLINE V32 sample_of(const BilinearSample& sample, const float* map, std::size_t pitch) {
  const F32 d;
  const auto term = [&](std::size_t i) HWY_ATTR {
    return hn::Mul(hn::Set(d, sample.weight[i]), hn::LoadU(d, map + sample.at[i] * pitch));
  };
  return hn::Add(hn::Add(hn::Add(term(0), term(1)), term(2)), term(3));
}

/// Samples of a bin follow each other.
template <class Merge>
HWY_INLINE void merge_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch,
                              float* bins, const Merge& merge) {
  const F32 d;
  for (std::size_t i = 0; i < samples.size();) {
    const std::size_t bin = samples[i].bin;
    std::size_t end = i + 1;
    while (end < samples.size() && samples[end].bin == bin) ++end;
    for (std::size_t channel = 0; channel < kSampledChannels; channel += hn::Lanes(d)) {
      float* const into = bins + bin * kSampledChannels + channel;
      V32 merged = hn::LoadU(d, into);
      for (std::size_t k = i; k < end; ++k)
        merged = merge(merged, sample_of(samples[k].where, map + channel, pitch));
      hn::StoreU(merged, d, into);
    }
    i = end;
  }
}

void AddSamples(std::span<const RoiSample> samples, const float* map, std::size_t pitch, float* bins) {
  merge_samples(samples, map, pitch, bins, [](V32 sum, V32 sample) HWY_ATTR { return hn::Add(sum, sample); });
}

void KeepLargestSamples(std::span<const RoiSample> samples, const float* map, std::size_t pitch,
                        float* bins) {
  merge_samples(samples, map, pitch, bins, [](V32 largest, V32 sample) HWY_ATTR {
    return hn::IfThenElse(hn::Lt(largest, sample), sample, largest);
  });
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(AddSamples);
HWY_EXPORT(KeepLargestSamples);

void add_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch, float* bins) {
  HWY_DYNAMIC_DISPATCH(AddSamples)(samples, map, pitch, bins);
}

void keep_largest_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch,
                          float* bins) {
  HWY_DYNAMIC_DISPATCH(KeepLargestSamples)(samples, map, pitch, bins);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
