#include "kernels/convolution/image_lanes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/matmul/integer_kernels.h"

namespace ir::kernels {

ImageLanes::ImageLanes(const LaneMap& map, std::size_t channels, std::vector<float> steps, bool are_bytes)
    : map_(map),
      channels_(channels),
      lanes_(divide_up(channels, lane_terms(map.form))),
      per_unit_(std::move(steps)),
      are_bytes_(are_bytes) {
  for (float& step : per_unit_) step = 1 / step;
  if (per_unit_.size() != 1) return;
  map_.per_unit = per_unit_[0];
  per_unit_.clear();
}

ImageLanes::ImageLanes(const IntegerWeights& integers, std::size_t channels, bool are_bytes)
    : map_(integers.values()),
      channels_(channels),
      lanes_(divide_up(channels + integers.more_terms(), lane_terms(map_.form))),
      are_bytes_(are_bytes) {
  const std::size_t place = channels % kMostLaneTerms;
  if (integers.more_terms() != 0)
    missing_ = static_cast<std::uint32_t>(integers.border_byte()) << (8 * place);
}

void ImageLanes::join(const float* image, std::size_t first, std::size_t stride, std::size_t begin,
                      std::size_t end, std::size_t size, float* to, std::size_t to_stride) const {
  const LaneJoins joins = lane_joins();
  const std::size_t together = lane_terms(map_.form);
  for (std::size_t lane = begin; lane < end; ++lane, to += to_stride) {
    const std::size_t channel = lane * together;
    const std::size_t present = std::min(together, channels_ - channel);
    const std::uint32_t missing = present < together ? missing_ : 0;
    const std::size_t at = first + channel * stride;
    if (present == 0) {
      std::fill_n(to, size, std::bit_cast<float>(missing));
    } else if (are_bytes_) {
      joins.bytes({reinterpret_cast<const std::uint8_t*>(image) + at, stride, present, missing}, size, to);
    } else {
      const float* const per_unit = per_unit_.empty() ? nullptr : per_unit_.data() + channel;
      joins.rows(map_, {image + at, stride, present, missing, per_unit}, size, to);
    }
  }
}

void ImageLanes::find_rows(const float* image, std::size_t first, std::size_t stride, std::size_t begin,
                           std::size_t end, const std::uint8_t* border, std::size_t count,
                           const std::uint8_t** rows) const {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(image) + first;
  const std::size_t together = lane_terms(map_.form);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t channel = std::min(begin * together + i, end * together - 1);
    rows[i] = channel < channels_ ? bytes + channel * stride : border;
  }
}

}  // namespace ir::kernels
