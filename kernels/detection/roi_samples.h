// Samples of many channels at once, from maps whose channels lie side by side. Internal to kernels/.
#ifndef KERNELS_DETECTION_ROI_SAMPLES_H_
#define KERNELS_DETECTION_ROI_SAMPLES_H_

#include <cstddef>
#include <span>

#include "kernels/image/bilinear.h"

namespace ir::kernels {

struct RoiSample {
  BilinearSample where;
  std::size_t bin = 0;
};

/// Channels whose samples are taken together.
constexpr std::size_t kSampledChannels = 16;

/// For each sample in turn, and for kSampledChannels channels: what `bins` [bin, kSampledChannels] holds plus
/// the sample, or the larger of both (NaN never is). The channels of position p of the map are at
/// map[p * pitch]; with a smaller pitch, they are those of the next position, too, which the last one must
/// have behind it. The same bits as BilinearSample::of.
void add_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch, float* bins);
void keep_largest_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch,
                          float* bins);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_ROI_SAMPLES_H_
