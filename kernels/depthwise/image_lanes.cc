#include "kernels/depthwise/image_lanes.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/matmul/integer_kernels.h"

namespace ir::kernels {

ImageLanes::ImageLanes(LaneMap map, std::vector<float> steps, bool are_bytes)
    : map_(map), per_unit_(std::move(steps)), are_bytes_(are_bytes) {
  for (float& step : per_unit_) step = 1 / step;
  if (per_unit_.size() != 1) return;
  map_.per_unit = per_unit_[0];
  per_unit_.clear();
}

void ImageLanes::join(const float* image, std::size_t first, std::size_t stride, std::size_t channel,
                      std::size_t count, std::size_t size, float* to, std::size_t to_stride) const {
  const LaneJoins joins = lane_joins();
  const std::size_t together = lane_terms(map_.form);
  for (std::size_t i = 0; i < count; i += together, to += to_stride) {
    const std::size_t present = std::min(together, count - i);
    const std::size_t begin = first + (channel + i) * stride;
    if (are_bytes_) {
      joins.bytes({reinterpret_cast<const std::uint8_t*>(image) + begin, stride, present}, size, to);
    } else {
      const float* const per_unit = per_unit_.empty() ? nullptr : per_unit_.data() + channel + i;
      joins.rows(map_, {.first = image + begin, .stride = stride, .count = present, .per_unit = per_unit},
                 size, to);
    }
  }
}

}  // namespace ir::kernels
