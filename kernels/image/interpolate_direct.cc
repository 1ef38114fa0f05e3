// Resampling without rows: padded, by many taps, of types other than float and bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "kernels/base/scalar_type.h"
#include "kernels/image/interpolate.h"
#include "kernels/image/interpolate_rows.h"
#include "kernels/image/real_to_integer.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {

/// Any mode but nearest and pillow, any type: every output is the sum over all combinations of taps, those of
/// the columns fastest.
template <class T>
void Interpolate::run_direct(const T* in, T* out) const {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr std::size_t kBlock = 64;
  const bool linear = mode_ == InterpolateMode::linear;
  // Elements behind the columns share their weights.
  const std::size_t inner = axes_.back().identity ? axes_.back().out : 1;
  const std::size_t leading = leading_axes() - 1;
  const Axis& columns = axes_[leading];
  const std::size_t width = columns.out * inner;
  std::array<std::size_t, InterpolateRows::kMaxRank> strides{};
  std::size_t stride = columns.in * inner;
  std::size_t rows = 1;
  std::size_t combinations = columns.taps;
  for (std::size_t a = leading; a-- > 0;) {
    strides[a] = stride;
    stride *= axes_[a].in;
    rows *= axes_[a].out;
    if (!axes_[a].identity) combinations *= axes_[a].taps;
  }
  std::array<std::size_t, InterpolateRows::kMaxRank> resampled{};  // of the leading axes
  std::size_t count_resampled = 0;
  for (const std::size_t a : order_) {
    if (a != leading) resampled[count_resampled++] = a;
  }

  struct Sums {
    std::array<Real, kBlock> values{};
    std::array<Real, kBlock> weights{};
  };
  /// What one input row, which begins at `row`, gives to elements [begin, begin + count) of an output row;
  /// nullptr: a row of padding.
  const auto add_row = [&](Real row_weight, const T* row, std::size_t begin, std::size_t count, Sums& sums) {
    std::size_t x = begin / inner;
    std::size_t first = begin % inner;
    for (std::size_t i = 0; i < count; ++x, first = 0) {
      const std::size_t end = i + std::min(inner - first, count - i);
      for (std::size_t k = x * columns.taps; k < x * columns.taps + columns.counts[x]; ++k) {
        const Real weight = row_weight * columns.weight[k];
        const bool padding = row == nullptr || columns.index[k] < 0;
        const T* from = padding ? nullptr : row + static_cast<std::size_t>(columns.index[k]) * inner + first;
        if (linear) {
          for (std::size_t n = i; n < end; ++n) sums.weights[n] += weight;
        }
        if (padding) continue;
        for (std::size_t n = i; n < end; ++n) sums.values[n] += weight * static_cast<Real>(from[n - i]);
      }
      i = end;
    }
  };
  const auto store = [&](Real sum, Real weights, T* to) {
    if (linear) sum = weights == Real{0} ? Real{0} : sum / weights;
    if constexpr (std::is_integral_v<T>) {
      *to = to_integer<T>(linear ? std::round(sum) : sum);
    } else {
      *to = sum;
    }
  };

  const auto run_row = [&](std::size_t number) {
    std::array<std::size_t, InterpolateRows::kMaxRank> position{};
    std::size_t base = 0;
    std::size_t rest = number;
    for (std::size_t a = leading; a-- > 0;) {
      position[a] = rest % axes_[a].out;
      rest /= axes_[a].out;
      if (axes_[a].identity) base += position[a] * strides[a];
    }
    bool nothing = false;
    for (std::size_t n = 0; n < count_resampled; ++n)
      nothing = nothing || axes_[resampled[n]].counts[position[resampled[n]]] == 0;
    for (std::size_t begin = 0; begin < width; begin += kBlock) {
      const std::size_t count = std::min(kBlock, width - begin);
      Sums sums;
      std::array<std::size_t, InterpolateRows::kMaxRank> tap{};
      for (bool more = !nothing; more;) {
        Real weight = weight_factor_;
        std::size_t offset = base;
        bool padding = false;
        for (std::size_t n = 0; n < count_resampled; ++n) {
          const Axis& axis = axes_[resampled[n]];
          const std::size_t entry = position[resampled[n]] * axis.taps + tap[n];
          weight *= axis.weight[entry];
          padding = padding || axis.index[entry] < 0;
          offset += static_cast<std::size_t>(axis.index[entry]) * strides[resampled[n]];
        }
        add_row(weight, padding ? nullptr : in + offset, begin, count, sums);
        more = false;
        for (std::size_t n = count_resampled; n > 0 && !more;
             --n) {  // the last axis of the order runs fastest
          more = ++tap[n - 1] < axes_[resampled[n - 1]].counts[position[resampled[n - 1]]];
          if (!more) tap[n - 1] = 0;
        }
      }
      for (std::size_t i = 0; i < count; ++i)
        store(sums.values[i], sums.weights[i], out + number * width + begin + i);
    }
  };
  parallel_for(rows, grain_for_cost(combinations * width), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) run_row(row);
  });
}

#define IR_INSTANTIATE(T) template void Interpolate::run_direct(const T*, T*) const;
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
