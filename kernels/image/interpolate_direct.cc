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

/// Any mode but nearest and pillow, any type: every output is the sum over all combinations of taps.
template <class T>
void Interpolate::run_direct(const T* in, T* out) const {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr std::size_t kBlock = 64;
  const InterpolateRows rows(*this);
  const Axis& columns = axes_[leading_axes() - 1];
  const std::size_t inner = rows.width() / columns.out;  // elements behind the columns share their weights

  struct Sums {
    std::array<Real, kBlock> values{};
    std::array<Real, kBlock> weights{};
  };
  // What one input row, which begins at `row`, gives to elements [begin, begin + count) of an output row;
  // nullptr: a row of padding.
  const auto add_row = [&](Real row_weight, const T* row, std::size_t begin, std::size_t count, Sums& sums) {
    std::size_t x = begin / inner;
    std::size_t first = begin % inner;
    for (std::size_t i = 0; i < count; ++x, first = 0) {
      const std::size_t end = i + std::min(inner - first, count - i);
      for (std::size_t k = x * columns.taps; k < x * columns.taps + columns.counts[x]; ++k) {
        const Real weight = row_weight * columns.weight[k];
        if (rows.is_linear()) {
          for (std::size_t n = i; n < end; ++n) sums.weights[n] += weight;
        }
        if (row == nullptr || columns.index[k] < 0) continue;
        const T* const from = row + static_cast<std::size_t>(columns.index[k]) * inner + first;
        for (std::size_t n = i; n < end; ++n) sums.values[n] += weight * static_cast<Real>(from[n - i]);
      }
      i = end;
    }
  };
  const auto store = [&](Real sum, Real weights, T* to) {
    if (rows.is_linear()) sum = weights == Real{0} ? Real{0} : sum / weights;
    if constexpr (std::is_integral_v<T>) {
      *to = to_integer<T>(rows.is_linear() ? std::round(sum) : sum);
    } else {
      *to = sum;
    }
  };
  const auto run_row = [&](std::size_t number) {
    for (std::size_t begin = 0; begin < rows.width(); begin += kBlock) {
      const std::size_t count = std::min(kBlock, rows.width() - begin);
      Sums sums;
      rows.for_each_tap<InterpolateRows::Weights::raw, Real>(number, [&](std::size_t offset, Real weight) {
        add_row(weight, offset == InterpolateRows::kPadding ? nullptr : in + offset, begin, count, sums);
      });
      for (std::size_t i = 0; i < count; ++i)
        store(sums.values[i], sums.weights[i], out + number * rows.width() + begin + i);
    }
  };
  const std::size_t cost = rows.row_taps() * columns.taps * rows.width();
  parallel_for(rows.rows(), grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) run_row(row);
  });
}

#define IR_INSTANTIATE(T) template void Interpolate::run_direct(const T*, T*) const;
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
