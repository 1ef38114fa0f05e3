#include "kernels/image/interpolate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/base/bytes.h"
#include "kernels/image/interpolate_rows.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kMaxRank = InterpolateRows::kMaxRank;

/// Towards zero, into the range of T; NaN gives 0.
template <class T, class Real>
T to_integer(Real value) {
  if (std::isnan(value)) return T{0};
  if (value <= static_cast<Real>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<Real>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace

/// Any mode but nearest and pillow, any type: every output is the sum over all combinations of taps.
template <class T>
void Interpolate::run_direct(const T* in, T* out) const {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr std::size_t kBlock = 64;
  const bool linear = mode_ == InterpolateMode::linear;
  // Elements behind the last resampled axis share their weights.
  const std::size_t inner = axes_.back().identity ? axes_.back().out : 1;
  const std::size_t leading = axes_.size() - (axes_.back().identity ? 1 : 0);
  std::array<std::size_t, kMaxRank> strides{};
  std::size_t stride = inner;
  std::size_t points = 1;
  std::size_t combinations = 1;
  for (std::size_t a = leading; a-- > 0;) {
    strides[a] = stride;
    stride *= axes_[a].in;
    points *= axes_[a].out;
    if (!axes_[a].identity) combinations *= axes_[a].taps;
  }

  const auto store = [&](Real sum, Real weights, T* to) {
    if (linear) sum = weights == Real{0} ? Real{0} : sum / weights;
    if constexpr (std::is_integral_v<T>) {
      *to = to_integer<T>(linear ? std::round(sum) : sum);
    } else {
      *to = sum;
    }
  };

  const auto run_point = [&](std::size_t point) {
    std::array<std::size_t, kMaxRank> position{};
    std::size_t base = 0;
    std::size_t rest = point;
    for (std::size_t a = leading; a-- > 0;) {
      position[a] = rest % axes_[a].out;
      rest /= axes_[a].out;
      if (axes_[a].identity) base += position[a] * strides[a];
    }
    T* to = out + point * inner;
    bool nothing = false;
    for (const std::size_t a : order_) nothing = nothing || axes_[a].counts[position[a]] == 0;
    if (nothing) {
      std::fill_n(to, inner, T{0});
      return;
    }
    for (std::size_t begin = 0; begin < inner; begin += kBlock) {
      const std::size_t count = std::min(kBlock, inner - begin);
      std::array<Real, kBlock> sums;
      std::fill_n(sums.begin(), count, Real{0});
      Real weights{0};
      std::array<std::size_t, kMaxRank> tap{};
      for (std::size_t k = order_.size(); k > 0;) {
        Real weight = weight_factor_;
        std::size_t offset = base + begin;
        bool padding = false;
        for (std::size_t n = 0; n < order_.size(); ++n) {
          const Axis& axis = axes_[order_[n]];
          const std::size_t entry = position[order_[n]] * axis.taps + tap[n];
          weight *= axis.weight[entry];
          padding = padding || axis.index[entry] < 0;
          offset += static_cast<std::size_t>(axis.index[entry]) * strides[order_[n]];
        }
        weights += weight;
        if (!padding) {
          for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<Real>(in[offset + i]);
        }
        for (k = order_.size(); k > 0; --k) {  // the last axis of the order runs fastest
          const std::size_t a = order_[k - 1];
          if (++tap[k - 1] < axes_[a].counts[position[a]]) break;
          tap[k - 1] = 0;
        }
      }
      for (std::size_t i = 0; i < count; ++i) store(sums[i], weights, to + begin + i);
    }
  };
  parallel_for(points, grain_for_cost(combinations * (inner + 8)), [&](std::size_t begin, std::size_t end) {
    for (std::size_t point = begin; point < end; ++point) run_point(point);
  });
}

/// Pillow modes: one axis after the other, the last of the op's axes (the width) first, rounded to T in
/// between.
template <class T>
void Interpolate::run_passes(const T* in, T* out) const {
  std::vector<std::size_t> passes;  // op axes backwards, then those that are only padded
  for (auto a = order_.rbegin(); a != order_.rend(); ++a) {
    if (!axes_[*a].exact.empty()) passes.push_back(*a);
  }
  for (const std::size_t a : order_) {
    if (axes_[a].exact.empty()) passes.push_back(a);
  }
  std::vector<std::size_t> sizes;
  for (const Axis& axis : axes_) sizes.push_back(axis.in);
  std::vector<T> stages[2];
  const T* from = in;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const Axis& axis = axes_[passes[p]];
    std::size_t outer = 1;
    std::size_t inner = 1;
    for (std::size_t a = 0; a < passes[p]; ++a) outer *= sizes[a];
    for (std::size_t a = passes[p] + 1; a < sizes.size(); ++a) inner *= sizes[a];
    sizes[passes[p]] = axis.out;
    T* to = out;
    if (p + 1 < passes.size()) {
      stages[p % 2].resize(outer * axis.out * inner);
      to = stages[p % 2].data();
    }
    parallel_for(
        outer * axis.out, grain_for_cost(axis.taps * inner), [&](std::size_t begin, std::size_t end) {
          for (std::size_t line = begin; line < end; ++line) {
            const std::size_t o = line % axis.out;
            const T* image = from + line / axis.out * axis.in * inner;
            for (std::size_t i = 0; i < inner; ++i) {
              double sum = 0.0;
              for (std::size_t k = o * axis.taps; k < o * axis.taps + axis.counts[o]; ++k) {
                if (axis.index[k] < 0) continue;
                const double weight =
                    axis.exact.empty() ? static_cast<double>(axis.weight[k]) : axis.exact[k];
                sum +=
                    static_cast<double>(image[static_cast<std::size_t>(axis.index[k]) * inner + i]) * weight;
              }
              if constexpr (std::is_integral_v<T>) {
                to[line * inner + i] = to_integer<T>(sum >= 0.0 ? sum + 0.5 : sum - 0.5);
              } else {
                to[line * inner + i] = static_cast<T>(sum);
              }
            }
          }
        });
    from = to;
  }
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
  const std::size_t leading = axes_.size() - (has_inner ? 2 : 1);
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
  // Neighbouring output rows share input rows, so chunks hold several.
  const std::size_t grain =
      std::max<std::size_t>(8, grain_for_cost(rows.width() * (rows.row_taps() + rows.column_taps()) / 2));
  parallel_for(rows.rows(), grain, [&](std::size_t begin, std::size_t end) {
    if (blended) {
      interpolate_rows_blended(rows, in, out, begin, end);
    } else {
      interpolate_rows_summed(rows, in, out, begin, end);
    }
  });
  return true;
}

template <class T>
void Interpolate::run(const T* in, T* out) const {
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
      run_passes(in, out);
      return;
    default:
      break;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (run_rows(in, out)) return;
  }
  run_direct(in, out);
}

template void Interpolate::run(const float*, float*) const;
template void Interpolate::run(const double*, double*) const;
template void Interpolate::run(const std::int8_t*, std::int8_t*) const;
template void Interpolate::run(const std::int16_t*, std::int16_t*) const;
template void Interpolate::run(const std::int32_t*, std::int32_t*) const;
template void Interpolate::run(const std::int64_t*, std::int64_t*) const;
template void Interpolate::run(const std::uint8_t*, std::uint8_t*) const;
template void Interpolate::run(const std::uint16_t*, std::uint16_t*) const;
template void Interpolate::run(const std::uint32_t*, std::uint32_t*) const;
template void Interpolate::run(const std::uint64_t*, std::uint64_t*) const;

}  // namespace ir::kernels
