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
  const bool linear = mode_ == InterpolateMode::linear;
  // Elements behind the last resampled axis share their weights.
  const std::size_t inner = axes_.back().identity ? axes_.back().out : 1;
  const std::size_t leading = leading_axes();
  std::array<std::size_t, InterpolateRows::kMaxRank> strides{};
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
    std::array<std::size_t, InterpolateRows::kMaxRank> position{};
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
      std::array<std::size_t, InterpolateRows::kMaxRank> tap{};
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

#define IR_INSTANTIATE(T) template void Interpolate::run_direct(const T*, T*) const;
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
