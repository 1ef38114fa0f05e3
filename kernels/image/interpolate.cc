#include "kernels/image/interpolate.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/base/bytes.h"
#include "kernels/base/scalar_type.h"
#include "kernels/image/interpolate_rows.h"
#include "kernels/image/real_to_integer.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

// What lies between a tall and a wide image may be larger than both, and than numbers are.
constexpr std::size_t kMostElements = std::numeric_limits<std::size_t>::max() / 4;

std::size_t saturating_product(std::size_t a, std::size_t b) {
  std::size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostElements : std::min(product, kMostElements);
}

// Neighbouring output rows share input rows, so chunks hold several.
std::size_t row_grain(const InterpolateRows& rows) {
  return std::max<std::size_t>(8, grain_for_cost(rows.width() * (rows.row_taps() + rows.column_taps()) / 2));
}

}  // namespace

template <class T>
void Interpolate::run_pass(const Axis& axis, std::size_t o, std::size_t inner, const void* image, void* to) {
  const T* const from = static_cast<const T*>(image);
  for (std::size_t i = 0; i < inner; ++i) {
    double sum = 0.0;
    for (std::size_t k = o * axis.taps; k < o * axis.taps + axis.counts[o]; ++k) {
      if (axis.index[k] < 0) continue;
      const double weight = axis.exact.empty() ? static_cast<double>(axis.weight[k]) : axis.exact[k];
      sum += static_cast<double>(from[static_cast<std::size_t>(axis.index[k]) * inner + i]) * weight;
    }
    if constexpr (std::is_integral_v<T>) {
      static_cast<T*>(to)[i] = to_integer<T>(sum >= 0.0 ? sum + 0.5 : sum - 0.5);
    } else {
      static_cast<T*>(to)[i] = static_cast<T>(sum);
    }
  }
}

/// Pillow modes: one axis after the other, the last of the op's axes (the width) first, rounded to the type
/// in between.
void Interpolate::make_passes() {
  std::vector<std::size_t> order;  // op axes backwards, then those that are only padded
  for (auto a = order_.rbegin(); a != order_.rend(); ++a) {
    if (!axes_[*a].exact.empty()) order.push_back(*a);
  }
  for (const std::size_t a : order_) {
    if (axes_[a].exact.empty()) order.push_back(a);
  }
  std::vector<std::size_t> sizes;
  for (const Axis& axis : axes_) sizes.push_back(axis.in);
  for (const std::size_t axis : order) {
    sizes[axis] = axes_[axis].out;
    LinePass pass{axis};
    for (std::size_t a = 0; a < axis; ++a) pass.count = saturating_product(pass.count, sizes[a]);
    for (std::size_t a = axis + 1; a < sizes.size(); ++a)
      pass.inner = saturating_product(pass.inner, sizes[a]);
    pass.out_size = saturating_product(saturating_product(pass.count, sizes[axis]), pass.inner);
    passes_.push_back(pass);
  }
  for (std::size_t p = 0; p + 1 < passes_.size(); ++p) {
    const std::size_t next = p + 2 < passes_.size() ? passes_[p + 1].out_size : 0;
    stage_size_ = std::max(stage_size_, std::min(passes_[p].out_size + next, kMostElements));
  }
}

void Interpolate::run_passes(const void* in, void* out, std::size_t element_size, std::byte* scratch,
                             Pass pass) const {
  const auto* from = static_cast<const std::byte*>(in);
  for (std::size_t p = 0; p < passes_.size(); ++p) {
    const LinePass& lines = passes_[p];
    const Axis& axis = axes_[lines.axis];
    // What lies between passes takes turns at both ends of the scratch.
    std::byte* to = p % 2 == 0 ? scratch : scratch + (stage_size_ - lines.out_size) * element_size;
    if (p + 1 == passes_.size()) to = static_cast<std::byte*>(out);
    const std::size_t unit = lines.inner * element_size;
    parallel_for(lines.count * axis.out, grain_for_cost(axis.taps * lines.inner),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t line = begin; line < end; ++line) {
                     const std::byte* const image = from + line / axis.out * axis.in * unit;
                     pass(axis, line % axis.out, lines.inner, image, to + line * unit);
                   }
                 });
    from = to;
  }
}

std::size_t Interpolate::scratch_bytes(std::size_t element_size) const {
  return saturating_product(stage_size_, element_size);
}

template <class Copy>
void Interpolate::copy_columns(const Axis& columns, const char* from, std::size_t unit, const Copy& copy,
                               char* to) {
  if (columns.doubles && unit == sizeof(float)) {
    interpolate_doubled_row(from, columns.in, to);
    return;
  }
  if (columns.doubles) {
    for (std::size_t x = 0; x < columns.in; ++x) {
      copy(from + x * unit, to + 2 * x * unit);
      copy(from + x * unit, to + (2 * x + 1) * unit);
    }
    return;
  }
  for (std::size_t x = 0; x < columns.out; ++x) {
    if (columns.index[x] < 0) {
      std::memset(to + x * unit, 0, unit);
    } else {
      copy(from + static_cast<std::size_t>(columns.index[x]) * unit, to + x * unit);
    }
  }
}

void Interpolate::run_nearest(const void* in, void* out, std::size_t element_size) const {
  // Rows of the innermost resampled axis; what lies behind it moves as one unit.
  const bool has_inner = axes_.back().identity;
  const std::size_t unit = element_size * (has_inner ? axes_.back().out : 1);
  const std::size_t leading = leading_axes() - 1;
  const Axis& columns = axes_[leading];
  const Axis single;
  const Axis& lines = leading > 0 ? axes_[leading - 1] : single;
  const std::size_t plane_axes = leading > 0 ? leading - 1 : 0;
  std::size_t rows = lines.out;
  for (std::size_t a = 0; a < plane_axes; ++a) rows *= axes_[a].out;
  const std::size_t row_bytes = columns.out * unit;

  constexpr std::ptrdiff_t kPadding = -1;
  const auto source_in = [](const Axis& axis, std::size_t position) {
    return axis.identity ? static_cast<std::ptrdiff_t>(position)
                         : static_cast<std::ptrdiff_t>(axis.index[position]);
  };
  const auto source_plane = [&](std::size_t plane) {
    std::size_t offset = 0;
    std::size_t stride = 1;
    for (std::size_t a = plane_axes; a-- > 0;) {
      const std::ptrdiff_t index = source_in(axes_[a], plane % axes_[a].out);
      plane /= axes_[a].out;
      if (index < 0) return kPadding;
      offset += static_cast<std::size_t>(index) * stride;
      stride *= axes_[a].in;
    }
    return static_cast<std::ptrdiff_t>(offset);
  };
  const auto copy_rows = [&](const auto& copy, std::size_t begin, std::size_t end) {
    std::ptrdiff_t previous = kPadding;
    std::ptrdiff_t plane = kPadding;
    for (std::size_t row = begin, line = begin % lines.out; row < end; ++row, ++line) {
      if (line == lines.out) line = 0;
      if (row == begin || line == 0) plane = source_plane(row / lines.out);
      const std::ptrdiff_t index = source_in(lines, line);
      const std::ptrdiff_t source =
          plane < 0 || index < 0 ? kPadding : plane * static_cast<std::ptrdiff_t>(lines.in) + index;
      char* const to = static_cast<char*>(out) + row * row_bytes;
      if (source == kPadding) {
        std::memset(to, 0, row_bytes);
      } else if (source == previous) {  // enlarged: the row above once more
        std::memcpy(to, to - row_bytes, row_bytes);
      } else {
        const char* const from =
            static_cast<const char*>(in) + static_cast<std::size_t>(source) * columns.in * unit;
        copy_columns(columns, from, unit, copy, to);
      }
      previous = source;
    }
  };
  with_unit_copy(unit, [&](const auto& copy) {
    parallel_for(rows, grain_for_cost(cost_of_bytes(row_bytes) + columns.out),
                 [&](std::size_t begin, std::size_t end) { copy_rows(copy, begin, end); });
  });
}

bool Interpolate::run_rows(const float* in, float* out) const {
  if (columns_.taps == 0) return false;
  const InterpolateRows rows(*this);
  // Rows that shrink share none with their neighbours, and to pick columns from far apart takes longer than
  // to add up all of them before.
  const bool shrinks = rows.in_width() > rows.width() && rows.in_width() <= 8 * rows.width();
  const bool can_sum = columns_.span <= kMaxSummedSpan;
  const bool blended = rows.row_taps() <= kMaxBlendedRows && !(shrinks && can_sum);
  if (!blended && !can_sum) return false;
  parallel_for(rows.rows(), row_grain(rows), [&](std::size_t begin, std::size_t end) {
    if (blended) {
      interpolate_rows_blended(rows, in, out, begin, end);
    } else {
      interpolate_rows_summed(rows, in, out, begin, end);
    }
  });
  return true;
}

/// In the order in which the direct path adds up.
bool Interpolate::run_rows(const std::uint8_t* in, std::uint8_t* out) const {
  if (columns_.taps == 0 || is_padded_ || columns_.span > kMaxSummedSpan) return false;
  const InterpolateRows rows(*this);
  if (rows.row_taps() > kMaxBlendedRows) return false;
  parallel_for(rows.rows(), row_grain(rows),
               [&](std::size_t begin, std::size_t end) { interpolate_byte_rows(rows, in, out, begin, end); });
  return true;
}

template <class T>
void Interpolate::run(const T* in, T* out, std::byte* scratch) const {
  if (order_.empty()) {
    std::size_t count = 1;
    for (const Axis& axis : axes_) count *= axis.out;
    copy_bytes(in, out, count * sizeof(T));
    return;
  }
  switch (mode_) {
    case InterpolateMode::nearest:
      run_nearest(in, out, sizeof(T));
      return;
    case InterpolateMode::bilinear_pillow:
    case InterpolateMode::bicubic_pillow:
      run_passes(in, out, sizeof(T), scratch, &run_pass<T>);
      return;
    default:
      break;
  }
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::uint8_t>) {
    if (run_rows(in, out)) return;
  }
  run_direct(in, out);
}

#define IR_INSTANTIATE(T) template void Interpolate::run(const T*, T*, std::byte*) const;
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
