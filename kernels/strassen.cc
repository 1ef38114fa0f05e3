#include "kernels/strassen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strassen.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Calls `body(load, store, i)` for vectors of [0, count), the last of which may be partial.
template <class Body>
HWY_INLINE void for_vectors(std::size_t count, const Body& body) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    body([=](const float* from) HWY_ATTR { return hn::LoadU(d, from + i); },
         [=](V v, float* to) HWY_ATTR { hn::StoreU(v, d, to + i); });
  }
  if (i < count) {
    const std::size_t rest = count - i;
    body([=](const float* from) HWY_ATTR { return load_n(d, from + i, rest); },
         [=](V v, float* to) HWY_ATTR { store_n(v, d, to + i, rest); });
  }
}

void LeftSums(const Quarters<const float*>& a, std::size_t stride, std::size_t rows, std::size_t depth,
              const Quarters<float*>& s, std::size_t sum_stride, const std::array<float*, 2>& squares) {
  const D d;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = [&](std::size_t i) { return a[i] + row * stride; };
    const auto to = [&](std::size_t i) { return s[i] + row * sum_stride; };
    const float* const a11 = from(0);
    const float* const a12 = from(1);
    const float* const a21 = from(2);
    const float* const a22 = from(3);
    float* const s1 = to(0);
    float* const s2 = to(1);
    float* const s3 = to(2);
    float* const s4 = to(3);
    V upper_squares = hn::Zero(d);
    V lower_squares = hn::Zero(d);
    for_vectors(depth, [&](const auto& load, const auto& store) HWY_ATTR {
      const V first = load(a11);
      const V second = load(a12);
      const V below = load(a21);
      const V across = load(a22);
      const V sum = hn::Add(below, across);
      const V rest = hn::Sub(sum, first);
      store(sum, s1);
      store(rest, s2);
      store(hn::Sub(first, below), s3);
      store(hn::Sub(second, rest), s4);
      upper_squares = hn::MulAdd(first, first, hn::MulAdd(second, second, upper_squares));
      lower_squares = hn::MulAdd(below, below, hn::MulAdd(across, across, lower_squares));
    });
    squares[0][row] = hn::GetLane(hn::SumOfLanes(d, upper_squares));
    squares[1][row] = hn::GetLane(hn::SumOfLanes(d, lower_squares));
  }
}

void ColumnSquares(const float* b, std::size_t depth, std::size_t width, float* squares) {
  const D d;
  for (std::size_t column = 0; column < width; column += hn::Lanes(d)) {
    V sum = hn::LoadU(d, squares + column);
    for (std::size_t k = 0; k < depth; ++k) {
      const V v = hn::LoadU(d, b + k * width + column);
      sum = hn::MulAdd(v, v, sum);
    }
    hn::StoreU(sum, d, squares + column);
  }
}

void Add(const float* x, const float* y, float* to, std::size_t count) {
  map_binary(D(), x, y, to, count, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
}

void Subtract(const float* x, const float* y, float* to, std::size_t count) {
  map_binary(D(), x, y, to, count, [](V a, V b) HWY_ATTR { return hn::Sub(a, b); });
}

}  // namespace

const StrassenKernels* SumsOfQuarters() {
  static const StrassenKernels kernels{LeftSums, ColumnSquares, Add, Subtract};
  return &kernels;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(SumsOfQuarters);

const StrassenKernels& strassen_kernels() { return *HWY_DYNAMIC_DISPATCH(SumsOfQuarters)(); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
