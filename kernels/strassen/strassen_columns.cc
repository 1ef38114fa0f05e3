#include "kernels/strassen/strassen_columns.h"

#include <algorithm>
#include <array>

#include "kernels/threads/parallel.h"

namespace ir::kernels {

StrassenColumns::StrassenColumns(const GemmKernels& kernels, const StrassenKernels& strassen,
                                 const GemmParams& params, const StrassenShape& shape, const float* from)
    : kernels_(kernels),
      strassen_(strassen),
      shape_(shape),
      k_(params.k),
      n_(params.n),
      transposed_(params.transpose_b) {
  // Rows are nowhere in it: products of any number of them share it.
  packed_ = packed_once(
      {from, k_ * n_}, {"strassen", {&kernels, &strassen}, {k_, n_, transposed_ ? 1U : 0U, shape.slices}},
      flags() + shape.depths.parts * shape.columns.count(), [&](float* to) { pack(from, to); });
}

void StrassenColumns::pack(const float* from, float* to) const {
  // Long stretches of rows; what lies together is packed together: columns where B is transposed, else rows.
  constexpr std::size_t kPanels = 16;
  const Split stretches(shape_.columns.count(), kPanels / shape_.slices);
  // Slices of the terms, counted from the first part on, of stretches of the columns.
  const std::size_t slices = shape_.slices;
  const auto pack_all = [&](const PartRange& columns, const PartRange& terms) {
    const std::size_t first_part = terms.first / slices;
    const std::size_t count = columns.last - columns.first;
    parallel_for(
        (divide_up(terms.last, slices) - first_part) * count, 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            const std::size_t part = first_part + i / count;
            const std::size_t stretch = columns.first + i % count;
            const std::size_t first = part * slices;
            pack_groups(from, part,
                        {std::max(first, terms.first) - first, std::min(first + slices, terms.last) - first},
                        {stretches.begin(stretch), stretches.begin(stretch + 1)}, to);
          }
        });
  };
  // First, because they lie between what is told to be packed.
  if (shape_.single_columns != 0)
    pack_columns(from, 0, k_, shape_.grouped_columns, shape_.single_columns,
                 to + shape_.grouped_columns * k_);
  const auto column = [&](std::size_t stretch) {
    return stretch == stretches.parts ? n_ : shape_.column(stretches.begin(stretch));
  };
  const auto term = [&](std::size_t slice) { return shape_.term(slice / slices, slice % slices); };
  pack_operand_in_pieces(from, transposed_, {stretches.parts, n_, column},
                         {shape_.depths.parts * slices, k_, term}, pack_all, Rereads::never);
}

void StrassenColumns::pack_groups(const float* from, std::size_t part, const PartRange& slices,
                                  const PartRange& panels, float* to) const {
  const std::size_t depth = shape_.depths.size(part);
  // All panels that are packed at once have to be of one width.
  const std::size_t last = panels.last - 1;
  const bool narrow = shape_.columns.size(last) != shape_.columns.most;
  const std::size_t first_column = shape_.column(panels.first);
  const std::size_t end = shape_.column(narrow ? last : panels.last);
  for (std::size_t slice = slices.first; slice < slices.last; ++slice) {
    const std::size_t term = shape_.term(part, slice);
    if (end > first_column)
      pack_columns(from, term, depth, first_column, end - first_column,
                   to + offset(part, slice, panels.first));
    for (std::size_t i = 0; narrow && i < shape_.slices; ++i) {
      const std::size_t width = shape_.width(last);
      pack_columns(from, term, depth, end + i * width, width,
                   to + offset(part, slice, last) + i * width * depth);
    }
  }
  if (slices.last != shape_.slices) return;
  for (std::size_t panel = panels.first; panel < panels.last; ++panel) {
    const bool alike = are_alike(part, panel, to);
    to[flags() + part * shape_.columns.count() + panel] = alike ? 1.0F : 0.0F;
    if (alike) subtract(part, panel, to);
  }
}

/// As far as there are `count` columns.
void StrassenColumns::pack_columns(const float* from, std::size_t term, std::size_t depth, std::size_t first,
                                   std::size_t count, float* to) const {
  count = std::min(count, n_ - first);
  if (transposed_) {
    kernels_.pack_columns_transposed(from + first * k_ + term, k_, depth, count, to);
  } else {
    kernels_.pack_columns(from + term * n_ + first, n_, depth, count, to);
  }
}

bool StrassenColumns::are_alike(std::size_t part, std::size_t panel, const float* packed) const {
  constexpr std::size_t kMostWidth = GemmKernels::kVectorsLimit * GemmKernels::kLanesLimit;
  const std::size_t width = shape_.width(panel);
  const std::size_t depth = shape_.depths.size(part);
  std::array<float, kMostSlices* kMostWidth> squares = {};
  for (std::size_t i = 0; i < shape_.slices; ++i) {
    for (std::size_t slice = 0; slice < shape_.slices; ++slice) {
      strassen_.column_squares(packed + offset(part, slice, panel) + i * width * depth, depth, width,
                               squares.data() + i * width);
    }
  }
  const std::size_t columns = std::min(shape_.slices * width, n_ - shape_.column(panel));
  for (std::size_t column = 0; column < width; ++column) {
    AlikeSquares alike;
    for (std::size_t i = column; i < columns; i += width) alike.add(squares[i]);
    if (!alike) return false;
  }
  return true;
}

/// From the inner level to the outer one: b12 - b11 in the upper slices of each.
void StrassenColumns::subtract(std::size_t part, std::size_t panel, float* packed) const {
  const std::size_t floats = shape_.depths.size(part) * shape_.width(panel);
  for (std::size_t half = 1; half < shape_.slices; half *= 2) {
    for (std::size_t slice = 0; slice < shape_.slices; ++slice) {
      if ((slice & half) != 0) continue;
      for (std::size_t left = 0; left < shape_.slices; left += 2 * half) {
        float* const b11 = packed + offset(part, slice, panel) + left * floats;
        float* const b12 = b11 + half * floats;
        strassen_.subtract(b12, b11, b12, half * floats);
      }
    }
  }
}

}  // namespace ir::kernels
