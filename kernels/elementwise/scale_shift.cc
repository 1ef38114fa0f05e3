#include "kernels/elementwise/scale_shift.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/scale_shift.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// A row of an operand by vectors: kScalar, one for all.
template <bool kScalar>
class Vectors {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  HWY_INLINE explicit Vectors(const float* from) : from_(from), constant_(hn::Set(D(), *from)) {}

  HWY_INLINE V at(std::size_t i) const { return kScalar ? constant_ : hn::LoadU(D(), from_ + i); }
  HWY_INLINE V tail(std::size_t i, std::size_t count) const {
    return kScalar ? constant_ : load_n(D(), from_ + i, count);
  }

 private:
  const float* from_;
  V constant_;
};

template <bool kScalarFactor, bool kScalarShift, bool kRelu>
HWY_INLINE void scale_shift(const RowsOperand& x, const RowsOperand& factor, const RowsOperand& shift,
                            float* out, std::size_t rows, std::size_t columns) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const auto result = [&](V value, V scale, V summand) HWY_ATTR {
    const V sum = hn::Add(hn::Mul(value, scale), summand);
    return kRelu ? at_least(hn::Zero(d), sum) : sum;
  };
  for (std::size_t r = 0; r < rows; ++r, out += columns) {
    const Vectors<false> xs(x.row<float>(r));
    const Vectors<kScalarFactor> factors(factor.row<float>(r));
    const Vectors<kScalarShift> shifts(shift.row<float>(r));
    std::size_t i = 0;
    for (; i + lanes <= columns; i += lanes)
      hn::StoreU(result(xs.at(i), factors.at(i), shifts.at(i)), d, out + i);
    if (i == columns) continue;
    const std::size_t rest = columns - i;
    const V last = result(xs.tail(i, rest), factors.tail(i, rest), shifts.tail(i, rest));
    if constexpr (kStoresMasks) {
      store_n(last, d, out + i, rest);
    } else {
      store_tail(last, d, out + i, rest);
    }
  }
}

void ScaleShiftRows(const RowsOperand& x, const RowsOperand& factor, const RowsOperand& shift, bool relu,
                    float* out, std::size_t rows, std::size_t columns) {
  if (columns == 0) return;
  const auto run = [&](auto scalar_factor, auto scalar_shift) HWY_ATTR {
    constexpr bool kFactor = decltype(scalar_factor)::value;
    constexpr bool kShift = decltype(scalar_shift)::value;
    if (relu) return scale_shift<kFactor, kShift, true>(x, factor, shift, out, rows, columns);
    scale_shift<kFactor, kShift, false>(x, factor, shift, out, rows, columns);
  };
  using Yes = std::true_type;
  using No = std::false_type;
  if (factor.scalar) return shift.scalar ? run(Yes(), Yes()) : run(Yes(), No());
  shift.scalar ? run(No(), Yes()) : run(No(), No());
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(ScaleShiftRows);

void scale_shift_rows(const RowsOperand& x, const RowsOperand& factor, const RowsOperand& shift, bool relu,
                      float* out, std::size_t rows, std::size_t columns) {
  HWY_DYNAMIC_DISPATCH(ScaleShiftRows)(x, factor, shift, relu, out, rows, columns);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
