#include "kernels/indexing/element_lines.h"

#include <algorithm>

namespace ir::kernels {

ElementLines::ElementLines(std::span<const std::size_t> data_dims, std::span<const std::size_t> index_dims,
                           std::size_t axis)
    : length(index_dims[axis]), size(data_dims[axis]) {
  std::size_t data = 1;
  std::size_t index = 1;
  for (std::size_t i = data_dims.size(); i-- > 0;) {
    if (i == axis) {
      data_stride = data;
      index_stride = index;
    } else {
      axes_.push_back({index_dims[i], data, index});
      count *= index_dims[i];
    }
    data *= data_dims[i];
    index *= index_dims[i];
  }
  index_count = index;
  data_count = data;
}

ElementLines::Start ElementLines::start(std::size_t line) const {
  Start start;
  for (const Axis& axis : axes_) {
    const std::size_t position = line % axis.dim;
    line /= axis.dim;
    start.data += position * axis.data_stride;
    start.index += position * axis.index_stride;
  }
  return start;
}

std::size_t ElementLines::find(IndexView indices, std::size_t first, std::size_t left,
                               std::size_t* found) const {
  const std::size_t together = std::min(left, kTogether);
  for (std::size_t k = 0; k < together; ++k)
    found[k] = normalize_index(indices[first + k * index_stride], size);
  return together;
}

}  // namespace ir::kernels
