#include "kernels/strassen/strassen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strassen/strassen.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/fetch.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

void RowSquares(const float* a, std::size_t stride, std::size_t rows, std::size_t columns, float* squares) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const from = a + row * stride;
    V sum = hn::Zero(d);
    V other = hn::Zero(d);
    std::size_t i = 0;
    for (; i + 2 * lanes <= columns; i += 2 * lanes) {
      if (row + 1 < rows) fetch_to_first_level(from + stride + i);
      const V first = hn::LoadU(d, from + i);
      const V second = hn::LoadU(d, from + i + lanes);
      sum = hn::MulAdd(first, first, sum);
      other = hn::MulAdd(second, second, other);
    }
    for (; i < columns; i += lanes) {
      const V v = load_n(d, from + i, std::min(lanes, columns - i));
      sum = hn::MulAdd(v, v, sum);
    }
    squares[row] = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other)));
  }
}

void PackedRowSquares(const float* a, std::size_t depth, std::size_t rows, float* squares) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  // As many terms as a vector has lanes are whole vectors, in which rows have the same places.
  HWY_ALIGN float sums[GemmKernels::kRowsLimit * hn::MaxLanes(D())] = {};
  const std::size_t count = depth * rows;
  for (std::size_t first = 0; first < count; first += rows * lanes) {
    const std::size_t floats = std::min(rows * lanes, count - first);
    std::size_t i = 0;
    const auto add = [&](V v) HWY_ATTR { hn::Store(hn::MulAdd(v, v, hn::Load(d, sums + i)), d, sums + i); };
    for (; i + lanes <= floats; i += lanes) add(hn::LoadU(d, a + first + i));
    if (i < floats) add(load_n(d, a + first + i, floats - i));
  }
  for (std::size_t term = 0; term < lanes; ++term) {
    for (std::size_t row = 0; row < rows; ++row) squares[row] += sums[term * rows + row];
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
  static const StrassenKernels kernels{RowSquares, PackedRowSquares, ColumnSquares, Add, Subtract};
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
