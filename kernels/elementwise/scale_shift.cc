#include "kernels/elementwise/scale_shift.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/scale_shift.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// An operand by vectors: kScalar, one for all.
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
HWY_INLINE void scale_shift(const float* x, const float* factor, const float* shift, float* out,
                            std::size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const Vectors<false> xs(x);
  const Vectors<kScalarFactor> factors(factor);
  const Vectors<kScalarShift> shifts(shift);
  const auto result = [&](V value, V scale, V summand) HWY_ATTR {
    const V sum = hn::Add(hn::Mul(value, scale), summand);
    return kRelu ? at_least(hn::Zero(d), sum) : sum;
  };
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(result(xs.at(i), factors.at(i), shifts.at(i)), d, out + i);
  if (i == count) return;
  const std::size_t rest = count - i;
  store_tail(result(xs.tail(i, rest), factors.tail(i, rest), shifts.tail(i, rest)), d, out + i, rest);
}

void ScaleShift(const float* x, SpanOperand factor, SpanOperand shift, bool relu, float* out,
                std::size_t count) {
  if (count == 0) return;
  const auto* const f = factor.as<float>();
  const auto* const s = shift.as<float>();
  switch ((factor.scalar ? 4 : 0) + (shift.scalar ? 2 : 0) + (relu ? 1 : 0)) {
    case 0:
      return scale_shift<false, false, false>(x, f, s, out, count);
    case 1:
      return scale_shift<false, false, true>(x, f, s, out, count);
    case 2:
      return scale_shift<false, true, false>(x, f, s, out, count);
    case 3:
      return scale_shift<false, true, true>(x, f, s, out, count);
    case 4:
      return scale_shift<true, false, false>(x, f, s, out, count);
    case 5:
      return scale_shift<true, false, true>(x, f, s, out, count);
    case 6:
      return scale_shift<true, true, false>(x, f, s, out, count);
    default:
      return scale_shift<true, true, true>(x, f, s, out, count);
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(ScaleShift);

void scale_shift_span(const float* x, SpanOperand factor, SpanOperand shift, bool relu, float* out,
                      std::size_t count) {
  HWY_DYNAMIC_DISPATCH(ScaleShift)(x, factor, shift, relu, out, count);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
