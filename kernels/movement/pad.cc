#include "kernels/movement/pad.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/bytes.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Mirror of x in a period in which [0, in) is followed by its reverse; `shared` border elements appear once.
std::ptrdiff_t mirror(std::ptrdiff_t x, std::ptrdiff_t in, std::ptrdiff_t shared) {
  const std::ptrdiff_t period = 2 * (in - shared);
  if (period == 0) return 0;
  if (x < 0) x = shared - 1 - x;
  if (x >= period) x %= period;
  return x < in ? x : 2 * in - 1 - shared - x;
}

}  // namespace

std::ptrdiff_t Pad::Axis::source(std::size_t o) const {
  const std::ptrdiff_t x = static_cast<std::ptrdiff_t>(o) - begin;
  const auto size = static_cast<std::ptrdiff_t>(in);
  if (x >= 0 && x < size) return x;
  switch (mode) {
    case PadMode::constant:
      break;
    case PadMode::edge:
      return x < 0 ? 0 : size - 1;
    case PadMode::reflect:
      return mirror(x, size, 1);
    case PadMode::symmetric:
      return mirror(x, size, 0);
  }
  return kOutside;
}

Pad::Pad(std::span<const std::size_t> dims, std::span<const std::ptrdiff_t> pads_begin,
         std::span<const std::ptrdiff_t> pads_end, PadMode mode, std::size_t element_size)
    : unit_(element_size), element_size_(element_size) {
  // Behind the last padded axis everything is one unit; neighbours that are not padded are one axis.
  std::size_t axes = dims.size();
  while (axes > 0 && pads_begin[axes - 1] == 0 && pads_end[axes - 1] == 0) unit_ *= dims[--axes];
  for (std::size_t a = 0; a < axes;) {
    std::size_t in = dims[a];
    const std::ptrdiff_t begin = pads_begin[a];
    const std::ptrdiff_t end = pads_end[a];
    ++a;
    if (begin == 0 && end == 0) {
      while (a < axes && pads_begin[a] == 0 && pads_end[a] == 0) in *= dims[a++];
    }
    const auto size = static_cast<std::ptrdiff_t>(in);
    Axis axis{in, static_cast<std::size_t>(begin + size + end), begin, 0, 0, mode};
    // What of the axis itself shows: the positions -begin + o in [0, size).
    const std::ptrdiff_t low = std::max<std::ptrdiff_t>(0, -begin);
    const std::ptrdiff_t high = std::min(size, size + end);
    if (high > low) {
      axis.inside_begin = static_cast<std::size_t>(low + begin);
      axis.inside_end = static_cast<std::size_t>(high + begin);
    }
    outer_.push_back(axis);
  }
  is_one_row_ = outer_.size() <= 1;
  for (Axis* const inner : {&row_, &rows_}) {
    if (outer_.empty()) continue;
    *inner = outer_.back();
    outer_.pop_back();
  }
}

template <class Copy>
void Pad::fill_row(const Copy& copy, const char* in_row, const void* value, char* out_row) const {
  const std::size_t per_unit = unit_ / element_size_;
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t o = begin; o < end; ++o) {
      char* const to = out_row + o * unit_;
      const std::ptrdiff_t source = row_.source(o);
      if (source != kOutside) {
        copy(in_row + static_cast<std::size_t>(source) * unit_, to);
      } else if (per_unit == 1) {
        copy(value, to);
      } else {
        repeat_bytes(value, element_size_, per_unit, to);
      }
    }
  };
  fill(0, row_.inside_begin);
  if (row_.inside_end > row_.inside_begin) {
    std::memcpy(out_row + row_.inside_begin * unit_,
                in_row + static_cast<std::size_t>(row_.source(row_.inside_begin)) * unit_,
                (row_.inside_end - row_.inside_begin) * unit_);
  }
  fill(row_.inside_end, row_.out);
}

std::ptrdiff_t Pad::plane_source(std::size_t plane) const {
  std::size_t offset = 0;
  std::size_t stride = 1;
  for (std::size_t a = outer_.size(); a-- > 0;) {
    const Axis& axis = outer_[a];
    const std::ptrdiff_t source = axis.source(plane % axis.out);
    if (source == kOutside) return kOutside;
    plane /= axis.out;
    offset += static_cast<std::size_t>(source) * stride;
    stride *= axis.in;
  }
  return static_cast<std::ptrdiff_t>(offset);
}

template <class Copy>
void Pad::fill_rows(const Copy& copy, std::size_t begin, std::size_t end, const char* in, const void* value,
                    char* out) const {
  const std::size_t in_bytes = row_.in * unit_;
  const std::size_t out_bytes = row_.out * unit_;
  const std::size_t rows = rows_.out;
  for (std::size_t row = begin; row < end;) {
    const std::size_t plane = row / rows;
    const std::ptrdiff_t source_plane = plane_source(plane);
    for (const std::size_t last = std::min(end, (plane + 1) * rows); row < last; ++row) {
      const std::ptrdiff_t source_row = rows_.source(row - plane * rows);
      char* const to = out + row * out_bytes;
      if (source_plane == kOutside || source_row == kOutside) {
        repeat_bytes(value, element_size_, out_bytes / element_size_, to);
      } else {
        const auto source =
            static_cast<std::size_t>(source_plane) * rows_.in + static_cast<std::size_t>(source_row);
        fill_row(copy, in + source * in_bytes, value, to);
      }
    }
  }
}

void Pad::run(const void* in, const void* value, void* out) const {
  const std::size_t row_bytes = row_.out * unit_;
  if (row_bytes == 0) return;
  const auto* const from = static_cast<const char*>(in);
  if (is_one_row_ && row_.inside_end - row_.inside_begin == row_.out) {
    copy_bytes(from + static_cast<std::size_t>(row_.source(0)) * unit_, out, row_bytes);
    return;
  }
  std::size_t rows = rows_.out;
  for (const Axis& axis : outer_) rows *= axis.out;
  parallel_for(rows, grain_for_cost(cost_of_bytes(row_bytes)), [&](std::size_t begin, std::size_t end) {
    with_unit_copy(
        unit_, [&](const auto& copy) { fill_rows(copy, begin, end, from, value, static_cast<char*>(out)); });
  });
}

}  // namespace ir::kernels
