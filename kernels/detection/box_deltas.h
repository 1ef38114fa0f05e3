// Boxes moved by what a detector predicts for them, limited to the image, and the least size that counts.
#ifndef KERNELS_DETECTION_BOX_DELTAS_H_
#define KERNELS_DETECTION_BOX_DELTAS_H_

#include <algorithm>
#include <cmath>

#include "kernels/detection/nms.h"

namespace ir::kernels {

/// The way of a box's centre in units of its sides, and the logarithms of the factors of its sides.
struct BoxDeltas {
  float x = 0;
  float y = 0;
  float log_width = 0;
  float log_height = 0;
};

/// `deltas` with logarithms of at most `limit`, so that exponentials stay finite.
inline BoxDeltas limited(const BoxDeltas& deltas, float limit) {
  return {deltas.x, deltas.y, std::min(deltas.log_width, limit), std::min(deltas.log_height, limit)};
}

/// `box` after its deltas: the new centre minus and plus half of the new sides. The sides of `box` have
/// `extent` beyond the difference of their ends (see box_area), those of the result have none.
inline Box moved(const Box& box, const BoxDeltas& deltas, float extent) {
  const float width = box.x1 - box.x0 + extent;
  const float height = box.y1 - box.y0 + extent;
  const float x = deltas.x * width + (box.x0 + 0.5F * width);
  const float y = deltas.y * height + (box.y0 + 0.5F * height);
  const float half_width = 0.5F * (std::exp(deltas.log_width) * width);
  const float half_height = 0.5F * (std::exp(deltas.log_height) * height);
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

/// `box` limited to [0, max_x] and [0, max_y]; NaN becomes 0.
inline Box limited(const Box& box, float max_x, float max_y) {
  const auto limit = [](float value, float max) { return std::max(0.0F, std::min(value, max)); };
  return {limit(box.x0, max_x), limit(box.y0, max_y), limit(box.x1, max_x), limit(box.y1, max_y)};
}

/// Whether both sides, with `extent`, have at least these sizes.
inline bool at_least_as_large(const Box& box, float width, float height, float extent) {
  return box.x1 - box.x0 + extent >= width && box.y1 - box.y0 + extent >= height;
}

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_BOX_DELTAS_H_
