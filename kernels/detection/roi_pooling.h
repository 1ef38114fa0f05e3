// Regions of feature maps, pooled into bins: ROIPooling-1, PSROIPooling-1 and DeformablePSROIPooling-1.
#ifndef KERNELS_DETECTION_ROI_POOLING_H_
#define KERNELS_DETECTION_ROI_POOLING_H_

#include <cstddef>

#include "kernels/detection/turned_regions.h"

namespace ir::kernels {

/// Feature maps [batches, channels, height, width] and outputs [rois, out_channels, pooled_height,
/// pooled_width]. No dim is 0.
struct RegionShapes {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;
  std::size_t out_channels = 1;
  std::size_t pooled_height = 1;
  std::size_t pooled_width = 1;
};

// Each region is a row [batch, x_1, y_1, x_2, y_2]. The batch, cut to an integer, must address one.
// Coordinates may be anything: what lies outside of a map, or has no area, gives zeros. All write `rois` *
// out_channels * pooled_height * pooled_width elements, accumulate in float and allocate nothing.

enum class RoiPoolingMethod {
  /// The maximum of each bin of [round(x_1 * scale), round(x_2 * scale)], both ends included, and likewise y.
  /// Bins overlap when their borders are no integers.
  maximum,
  /// Samples of a grid that spans the region, ends included; coordinates are fractions of the map.
  bilinear,
};

struct RoiPoolingInput {
  const float* features = nullptr;
  const float* boxes = nullptr;
  std::size_t rois = 0;
  float spatial_scale = 1;  // from coordinates to elements; RoiPoolingMethod::bilinear does not use it
};

/// ROIPooling-1. `out_channels` is `channels`.
class RoiPooling {
 public:
  /// For up to `rois` regions. Runs in the pool of threads that it is made in.
  RoiPooling(const RegionShapes& shapes, std::size_t rois, RoiPoolingMethod method);

  /// For channels of a map side by side, which many regions are pooled from then.
  [[nodiscard]] std::size_t scratch_bytes() const { return regions_.scratch_bytes(); }

  void run(const RoiPoolingInput& input, float* out, std::byte* scratch) const;

 private:
  RegionShapes shapes_;
  RoiPoolingMethod method_;
  TurnedRegions regions_;
};

/// The mean of each bin of the region, whose corners are rounded, then scaled. Bin (y, x) of output channel c
/// reads channel (c * pooled_height + y) * pooled_width + x. `channels` is the number of these. A bin that
/// begins beyond the right or lower end of the map has the mean of the last column or row, as in OpenVINO's
/// reference; left of or above the map there is nothing (OpenVINO leaves this undefined).
void position_sensitive_average(const RoiPoolingInput& input, const RegionShapes& shapes, float* out);

/// Into how many pieces something is divided.
struct Division {
  std::size_t y = 1;
  std::size_t x = 1;

  [[nodiscard]] std::size_t count() const { return y * x; }
};

/// Divides the region into parts, samples each on a grid as RoiPoolingMethod::bilinear, and
/// writes the mean over the parts. Part p of output channel c reads channel p * out_channels + c. `channels`
/// is the number of these. Samples outside of the map are zeros.
void position_sensitive_bilinear(const RoiPoolingInput& input, const RegionShapes& shapes,
                                 const Division& parts, float* out);

/// Offsets of bins: [rois, classes, x and y, part_size, part_size]; consecutive output channels share a
/// class. Null: none.
struct BinOffsets {
  const float* data = nullptr;
  std::size_t classes = 1;  // divides out_channels
  std::size_t part_size = 1;
  float scale = 1;
};

/// As position_sensitive_average, with the mean of `samples` of each bin, after the bin was moved by its
/// offset times the size of the region. Samples outside of the map do not count. Regions of a negative batch
/// are zeros; `channels` may be larger than what is read.
void deformable_position_sensitive(const RoiPoolingInput& input, const RegionShapes& shapes,
                                   const Division& samples, const BinOffsets& offsets, float* out);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_ROI_POOLING_H_
