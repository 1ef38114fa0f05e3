// Regions of feature maps, sampled without rounding: ROIAlign-3 and -9, ROIAlignRotated-15 and
// ExperimentalDetectronROIFeatureExtractor-6.
#ifndef KERNELS_DETECTION_ROI_ALIGN_H_
#define KERNELS_DETECTION_ROI_ALIGN_H_

#include <cstddef>

#include "kernels/detection/turned_regions.h"
#include "kernels/threads/function_ref.h"

namespace ir::kernels {

/// A box in coordinates of its own, and how these lie in the map: turned counterclockwise (y points down),
/// then moved by the centre.
struct SamplingBox {
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;
  float cosine = 1;
  float sine = 0;
  float center_x = 0;
  float center_y = 0;
};

struct UprightBoxParams {
  float scale = 1;
  float offset_before = 0;    // added to coordinates before they are scaled
  float offset_after = 0;     // and after
  bool at_least_one = false;  // whether smaller boxes become 1 wide or high
};

/// The box of [x_1, y_1, x_2, y_2].
SamplingBox upright_box(const float* corners, const UprightBoxParams& params);

/// The box of [center_x, center_y, width, height, angle in radians] of ROIAlignRotated-15.
SamplingBox rotated_box(const float* values, float scale, bool clockwise);

/// The level of a feature pyramid for [x_1, y_1, x_2, y_2]: floor(2 + log2(sqrt(area) / 224)), limited to
/// [0, levels). `levels` when the box has no area.
std::size_t pyramid_level(const float* corners, std::size_t levels);

/// A region and the map [channels, height, width] that it is cut from; null: none, the output is zero.
struct AlignedRoi {
  const float* map = nullptr;
  std::size_t height = 0;
  std::size_t width = 0;
  SamplingBox box;
};

enum class RoiAlignMode {
  average,
  maximum,  ///< of the samples and zero, as OpenVINO's reference computes it
};

struct RoiAlignParams {
  std::size_t rois = 0;
  std::size_t channels = 0;
  std::size_t most_positions = 0;  ///< of a map: height * width
  std::size_t pooled_height = 1;
  std::size_t pooled_width = 1;
  std::size_t sampling_ratio =
      0;  // samples of a bin along each axis; 0: one per element of the map, rounded up
  RoiAlignMode mode = RoiAlignMode::average;
};

/// Divides the box of each region into bins, samples each bin on a regular grid and writes
/// [rois, channels, pooled_height, pooled_width].
///
/// Samples that lie more than one element outside of the map are zeros, which averages count; boxes that are
/// not finite have nothing but such samples. A bin of a box with negative size and sampling_ratio 0 has no
/// samples and is zero. The time for one region is bounded by the size of its map and of the output, however
/// large the box is. Accumulates in float, sample by sample.
class RoiAlign {
 public:
  /// Runs in the pool of threads that it is made in.
  explicit RoiAlign(const RoiAlignParams& params);

  /// For channels of a map side by side, which many samples are taken from then.
  [[nodiscard]] std::size_t scratch_bytes() const { return regions_.scratch_bytes(); }

  /// `roi(i)` describes region i, on a map of at most `most_positions`; it is called from several threads and
  /// more than once. Allocates nothing.
  void run(FunctionRef<AlignedRoi(std::size_t roi)> roi, float* out, std::byte* scratch) const;

 private:
  RoiAlignParams params_;
  TurnedRegions regions_;
};

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_ROI_ALIGN_H_
