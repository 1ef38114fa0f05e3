#include "kernels/indexing/element_lines.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace ir::kernels {
namespace {

bool are_equal(IndexView indices, std::size_t first, std::size_t count) {
  bool equal = true;
  indices.with_elements([&](const auto& elements) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(elements)>>) {
      const auto* const from = elements + first;
      equal = from[0] == from[count - 1] && std::memcmp(from, from + 1, (count - 1) * sizeof(*from)) == 0;
    } else {
      for (std::size_t i = 1; i < count; ++i) equal &= elements[first + i] == elements[first];
    }
  });
  return equal;
}

}  // namespace

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
      const std::size_t dim = index_dims[i];
      count *= dim;
      Axis* const last = axes_.empty() ? nullptr : &axes_.back();
      if (last != nullptr && last->data_stride * last->dim == data &&
          last->index_stride * last->dim == index) {
        last->dim *= dim;
      } else if (dim != 1) {
        axes_.push_back({dim, data, index});
      }
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
  indices.with_elements([&, stride = index_stride, size = size](const auto& elements) {
    for (std::size_t k = 0; k < together; ++k) found[k] = normalize_index(elements[first + k * stride], size);
  });
  return together;
}

std::size_t ElementLines::side_by_side() const {
  constexpr std::size_t kWorth = 8;  // less than these are fetched as fast along the lines
  if (index_stride == 1 || axes_.empty()) return 1;
  const Axis& row = axes_.front();
  return row.index_stride == 1 && row.dim >= kWorth ? std::min(row.dim, kTogether) : 1;
}

void ElementLines::for_each_batch(IndexView indices, std::size_t begin, std::size_t end,
                                  FunctionRef<void(const Batch& batch)> f) const {
  const std::size_t most = side_by_side();
  for (std::size_t line = begin; line < end;) {
    if (most == 1) {
      for_each_piece(indices, line++, f);
    } else {
      const std::size_t dim = axes_.front().dim;
      const std::size_t together = std::min({most, end - line, dim - line % dim});
      for_each_row(indices, line, together, f);
      line += together;
    }
  }
}

void ElementLines::for_each_piece(IndexView indices, std::size_t line,
                                  FunctionRef<void(const Batch& batch)> f) const {
  const Start from = start(line);
  std::size_t found[kTogether];
  for (std::size_t first = 0; first < length; first += kTogether) {
    const std::size_t position = from.index + first * index_stride;
    const std::size_t together = find(indices, position, length - first, found);
    for (std::size_t k = 0; k < together; ++k) found[k] = from.data + found[k] * data_stride;
    f({found, 0, together, position, index_stride});
  }
}

/// Across lines side by side, whose elements are near each other. They are neighbours where all
/// have the same index: where indices were broadcast.
void ElementLines::for_each_row(IndexView indices, std::size_t line, std::size_t together,
                                FunctionRef<void(const Batch& batch)> f) const {
  const Start from = start(line);
  const std::size_t step = axes_.front().data_stride;
  std::size_t found[kTogether];
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t position = from.index + i * index_stride;
    if (step == 1 && are_equal(indices, position, together)) {
      f({nullptr, from.data + normalize_index(indices[position], size) * data_stride, together, position, 1});
      continue;
    }
    indices.with_elements([&, size = size, data_stride = data_stride](const auto& elements) {
      for (std::size_t k = 0; k < together; ++k) {
        found[k] = from.data + normalize_index(elements[position + k], size) * data_stride + k * step;
      }
    });
    f({found, 0, together, position, 1});
  }
}

}  // namespace ir::kernels
