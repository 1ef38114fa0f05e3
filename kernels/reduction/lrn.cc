// Local response normalisation: windows of squares are summed one axis after the other.
#include <algorithm>
#include <cmath>

#include "kernels/base/dims.h"
#include "kernels/reduction/normalization.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/lrn.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/math-inl.h"
#include "kernels/base/simd-inl.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// out = in^2.
void Squares(const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  map_unary(d, in, out, count, [](auto x) HWY_ATTR { return hn::Mul(x, x); });
}

/// out += in.
void Accumulate(const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  map_binary(d, out, in, out, count, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

/// out = in / (bias + factor * sums)^beta; `sums` may be `out`.
void Divide(const float* in, const float* sums, float* out, std::size_t count, float bias, float factor,
            float beta) {
  const hn::ScalableTag<float> d;
  const auto term = hn::Set(d, bias);
  const auto scale = hn::Set(d, factor);
  const auto exponent = hn::Set(d, -beta);
  map_binary(d, in, sums, out, count, [&](auto x, auto sum) HWY_ATTR {
    return hn::Mul(x, pow_positive_f32(d, hn::MulAdd(scale, sum, term), exponent));
  });
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {
namespace {

HWY_EXPORT(Squares);
HWY_EXPORT(Accumulate);
HWY_EXPORT(Divide);

/// One line of sums along the innermost axis.
void sum_line(const float* in, float* out, std::size_t length, std::size_t reach) {
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t end = std::min(length, i + reach + 1);
    float sum = 0;
    for (std::size_t k = i > reach ? i - reach : 0; k < end; ++k) sum += in[k];
    out[i] = sum;
  }
}

/// out = sums of `in` over windows along one axis of [outer][length][inner].
void sum_windows(const float* in, float* out, std::size_t outer, std::size_t length, std::size_t inner,
                 std::size_t reach) {
  const std::size_t window = std::min(length, 2 * reach + 1);
  if (inner == 1) {
    parallel_for(outer, grain_for_cost(length * window), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) sum_line(in + i * length, out + i * length, length, reach);
    });
    return;
  }
  const auto accumulate = HWY_DYNAMIC_DISPATCH(Accumulate);
  parallel_for(outer * length, grain_for_cost(inner * window), [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t i = index % length;
      const std::size_t first = i > reach ? i - reach : 0;
      const std::size_t last = std::min(length, i + reach + 1);
      const float* rows = in + (index - i) * inner;
      float* to = out + index * inner;
      std::copy_n(rows + first * inner, inner, to);
      for (std::size_t k = first + 1; k < last; ++k) accumulate(rows + k * inner, to, inner);
    }
  });
}

}  // namespace

std::size_t lrn_scratch_count(Dims dims, std::span<const std::size_t> axes) {
  return axes.empty() ? 0 : product(dims);
}

void lrn(Dims dims, std::span<const std::size_t> axes, const LrnParams& params, const float* in, float* out,
         float* scratch) {
  const std::size_t count = product(dims);
  if (count == 0) return;
  const std::size_t reach = (params.size - 1) / 2;
  const auto in_pieces = [count](std::size_t cost, auto body) {
    parallel_for(count, grain_for_cost(cost), body);
  };

  // Two buffers in turn, beginning so that the last sums land in `out`.
  float* sums = axes.size() % 2 == 0 ? out : scratch;
  float* next = axes.size() % 2 == 0 ? scratch : out;
  in_pieces(1, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Squares)(in + begin, sums + begin, end - begin);
  });
  for (const std::size_t axis : axes) {
    sum_windows(sums, next, product(dims.first(axis)), dims[axis], product(dims.subspan(axis + 1)), reach);
    std::swap(sums, next);
  }

  const auto axes_count = static_cast<double>(axes.size());
  const auto factor =
      static_cast<float>(params.alpha / std::pow(static_cast<double>(params.size), axes_count));
  const auto bias = static_cast<float>(params.bias);
  const auto beta = static_cast<float>(params.beta);
  in_pieces(8, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Divide)(in + begin, out + begin, out + begin, end - begin, bias, factor, beta);
  });
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
