// Prior (anchor) boxes of SSD detectors: a fixed set of boxes around the centre of every feature map cell.
#ifndef KERNELS_DETECTION_PRIOR_BOX_H_
#define KERNELS_DETECTION_PRIOR_BOX_H_

#include <cstddef>
#include <vector>

namespace ir::kernels {

/// Sizes of the feature map and of the image that it came from, in cells and pixels; all are positive
/// (height and width of the feature map may be 0).
struct PriorBoxGrid {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t image_height = 0;
  std::size_t image_width = 0;
};

/// Attributes of PriorBox-1 and PriorBox-8 under their own names (version 1: keep the default of
/// `min_max_aspect_ratios_order`). Preconditions: aspect and fixed ratios > 0; sizes in [0, 2^31); densities
/// in [1, 4096]; `variance` holds 0, 1 or 4 values. A `fixed_size` without its `density` has density 1.
struct PriorBoxParams {
  std::vector<float> min_size;
  std::vector<float> max_size;
  std::vector<float> aspect_ratio;
  std::vector<float> density;
  std::vector<float> fixed_ratio;
  std::vector<float> fixed_size;
  std::vector<float> variance;
  bool clip = false;
  bool flip = false;
  float step = 0;
  float offset = 0;
  bool scale_all_sizes = true;
  bool min_max_aspect_ratios_order = true;
};

/// Boxes per cell of the declared output shape [2, 4 * height * width * count], as OpenVINO's shape inference
/// counts them. Needs nothing but the attributes.
std::size_t prior_box_count(const PriorBoxParams& params);

/// Writes [2, 4 * height * width * prior_box_count(params)]: boxes as x_min, y_min, x_max, y_max divided by
/// the image's size, cell by cell in row-major order, then the variances in the same order.
///
/// The order within a cell is OpenVINO's: fixed sizes (each over its ratios, then a density x density grid),
/// then for each min_size its square box, the max_size box and the aspect ratios, the last two swapped when
/// `min_max_aspect_ratios_order` is false. Boxes of fixed sizes are always limited to the image on the side
/// that they leave it by. Attribute sets for which the boxes do not add up to `prior_box_count` (such as more
/// max sizes than min sizes) give consecutive boxes, cut or padded with zeros at the end of the output.
/// Error: a few ULP of the coordinates before the division.
void prior_box(const PriorBoxParams& params, const PriorBoxGrid& grid, float* out);

/// Attributes of PriorBoxClustered-1. Preconditions: `width` and `height` have equal lengths; `variance`
/// holds 0, 1 or 4 values.
struct PriorBoxClusteredParams {
  std::vector<float> width;
  std::vector<float> height;
  std::vector<float> variance;
  bool clip = false;
  float step = 0;
  float step_w = 0;
  float step_h = 0;
  float offset = 0;
};

/// Writes [2, 4 * grid.height * grid.width * width.size()], in the same form as `prior_box`.
void prior_box_clustered(const PriorBoxClusteredParams& params, const PriorBoxGrid& grid, float* out);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_PRIOR_BOX_H_
