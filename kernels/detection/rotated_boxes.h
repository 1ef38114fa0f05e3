// Boxes at an angle: what two of them have in common, and NMSRotated.
#ifndef KERNELS_DETECTION_ROTATED_BOXES_H_
#define KERNELS_DETECTION_ROTATED_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/detection/nms.h"

namespace ir::kernels {

/// A rectangle around (x, y) turned by `angle` radians, from the x axis to the y axis: clockwise where y
/// points down.
struct RotatedBox {
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;
  float angle = 0;
};

/// Intersection over union, computed in double; 0 when a side is not above 0 and for NaN.
float intersection_over_union(const RotatedBox& a, const RotatedBox& b);

/// Attributes and scalar inputs of NMSRotated-13.
struct RotatedNmsParams {
  /// Whether all results are sorted by score (then batch, class, box), or only within batch and class.
  bool sort_result_descending = true;
  /// Whether positive angles turn clockwise.
  bool clockwise = true;
  /// Largest number of boxes per batch element and class; <= 0 selects none.
  std::int64_t max_output_boxes_per_class = 0;
  /// Overlaps above it suppress.
  float iou_threshold = 0;
  /// Only scores above it are candidates.
  float score_threshold = 0;
};

/// As non_max_suppression, for `boxes` [batches, count, 5] of x_center, y_center, width, height and angle.
std::vector<SelectedBox> rotated_non_max_suppression(const float* boxes, const float* scores,
                                                     std::size_t batches, std::size_t classes,
                                                     std::size_t count, const RotatedNmsParams& params);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_ROTATED_BOXES_H_
