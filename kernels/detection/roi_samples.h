// Samples of many channels at once, from maps whose channels lie side by side. Internal to kernels/.
#ifndef KERNELS_DETECTION_ROI_SAMPLES_H_
#define KERNELS_DETECTION_ROI_SAMPLES_H_

#include <array>
#include <cstddef>
#include <span>

#include "kernels/image/bilinear.h"
#include "kernels/threads/function_ref.h"

namespace ir::kernels {

struct RoiSample {
  BilinearSample where;
  std::size_t bin = 0;
};

/// Channels whose samples are taken together.
constexpr std::size_t kSampledChannels = 16;
/// With fewer, most of what is sampled together is for nobody.
constexpr std::size_t kFewestTurnedChannels = kSampledChannels / 2;

/// For each sample in turn, and for kSampledChannels channels: what `bins` [bin, kSampledChannels] holds plus
/// the sample, or the larger of both (NaN never is). The channels of position p of the map are at
/// map[p * pitch]; with a smaller pitch, they are those of the next position, too, which the last one must
/// have behind it. The same bits as BilinearSample::of.
void add_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch, float* bins);
void keep_largest_samples(std::span<const RoiSample> samples, const float* map, std::size_t pitch,
                          float* bins);

/// Collects samples for such calls.
class SampleBuffer {
 public:
  explicit SampleBuffer(FunctionRef<void(std::span<const RoiSample>)> use) : use_(use) {}

  void add(const RoiSample& sample) {
    samples_[pending_++] = sample;
    if (pending_ == samples_.size()) flush();
  }
  void flush() {
    use_(std::span<const RoiSample>(samples_).first(pending_));
    pending_ = 0;
  }

 private:
  FunctionRef<void(std::span<const RoiSample>)> use_;
  std::size_t pending_ = 0;
  std::array<RoiSample, 64> samples_;
};

/// Elements of a map, `rows` times `columns` from position `first` on.
struct RoiWindow {
  std::size_t first = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// The largest element of each of kSampledChannels channels in a window that is not empty, of a map `width`
/// positions wide, as above. NaN never is; the least float where there is nothing else.
void largest_of_window(const RoiWindow& window, std::size_t width, const float* map, std::size_t pitch,
                       float* largest);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_ROI_SAMPLES_H_
