#include "kernels/detection/roi_samples.h"

#include <limits>

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

HWY_INLINE V32 larger(V32 largest, V32 value) {
  return hn::IfThenElse(hn::Lt(largest, value), value, largest);
}

void KeepLargestSamples(std::span<const RoiSample> samples, const float* map, std::size_t pitch,
                        float* bins) {
  merge_samples(samples, map, pitch, bins,
                [](V32 largest, V32 sample) HWY_ATTR { return larger(largest, sample); });
}

void LargestOfWindow(const RoiWindow& window, std::size_t width, const float* map, std::size_t pitch,
                     float* largest) {
  const F32 d;
  const auto least = hn::Set(d, std::numeric_limits<float>::lowest());
  for (std::size_t channel = 0; channel < kSampledChannels; channel += hn::Lanes(d)) {
    V32 of_window = least;
    for (std::size_t row = 0; row < window.rows; ++row) {
      const float* const begin = map + (window.first + row * width) * pitch + channel;
      V32 of_row = least;  // of its own, so that rows need not wait for each other
      for (std::size_t column = 0; column < window.columns; ++column)
        of_row = larger(of_row, hn::LoadU(d, begin + column * pitch));
      of_window = larger(of_window, of_row);
    }
    hn::StoreU(of_window, d, largest + channel);
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(AddSamples);
HWY_EXPORT(KeepLargestSamples);
HWY_EXPORT(LargestOfWindow);

void add_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch, float* bins) {
  HWY_DYNAMIC_DISPATCH(AddSamples)(samples, map, pitch, bins);
}

void keep_largest_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch,
                          float* bins) {
  HWY_DYNAMIC_DISPATCH(KeepLargestSamples)(samples, map, pitch, bins);
}

void largest_of_window(const RoiWindow& window, std::size_t width, const float* map, std::size_t pitch,
                       float* largest) {
  HWY_DYNAMIC_DISPATCH(LargestOfWindow)(window, width, map, pitch, largest);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
