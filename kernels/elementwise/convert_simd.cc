#include "kernels/elementwise/convert_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/convert_simd.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/halves-inl.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// out[i] = f(in[i]) for vectors of as many elements of either type.
template <class DFrom, class DTo, class F>
HWY_INLINE void map_types(DFrom from, DTo to, const hn::TFromD<DFrom>* in, hn::TFromD<DTo>* out,
                          std::size_t count, const F& f) {
  const std::size_t lanes = hn::Lanes(to);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(from, in + i)), to, out + i);
  if (i < count) store_tail(f(load_n(from, in + i, count - i)), to, out + i, count - i);
}

void F16ToF32(const std::uint16_t* in, float* out, std::size_t count) {
  map_types(U16(), F32(), in, out, count, [](VU16 x) HWY_ATTR { return float_from_half(x); });
}

void F32ToF16(const float* in, std::uint16_t* out, std::size_t count) {
  map_types(F32(), U16(), in, out, count, [](VF32 x) HWY_ATTR { return half_from_float(x); });
}

void Bf16ToF32(const std::uint16_t* in, float* out, std::size_t count) {
  map_types(U16(), F32(), in, out, count, [](VU16 x) HWY_ATTR { return float_from_bfloat(x); });
}

void F32ToBf16(const float* in, std::uint16_t* out, std::size_t count) {
  map_types(F32(), U16(), in, out, count, [](VF32 x) HWY_ATTR {
    const U32 du;
    const I32 di;
    const auto word = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(du, 1));
    const auto rounded = hn::Add(word, hn::Add(odd, hn::Set(du, 0x7FFF)));
    const auto quiet_nan = hn::Or(word, hn::Set(du, 0x400000));
    const auto all = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), quiet_nan, rounded);
    return hn::DemoteTo(U16(), hn::BitCast(di, hn::ShiftRight<16>(all)));
  });
}

template <class From>
HWY_INLINE void SmallIntegerToF32(const From* in, float* out, std::size_t count) {
  const hn::Rebind<From, F32> from;
  map_types(from, F32(), in, out, count,
            [](hn::Vec<decltype(from)> x) HWY_ATTR { return hn::ConvertTo(F32(), hn::PromoteTo(I32(), x)); });
}

void I8ToF32(const std::int8_t* in, float* out, std::size_t count) { SmallIntegerToF32(in, out, count); }
void U8ToF32(const std::uint8_t* in, float* out, std::size_t count) { SmallIntegerToF32(in, out, count); }

void I32ToF32(const std::int32_t* in, float* out, std::size_t count) {
  map_types(I32(), F32(), in, out, count, [](hn::Vec<I32> x) HWY_ATTR { return hn::ConvertTo(F32(), x); });
}

using F64 = hn::ScalableTag<double>;
using F32OfF64 = hn::Rebind<float, F64>;

void F64ToF32(const double* in, float* out, std::size_t count) {
  map_types(F64(), F32OfF64(), in, out, count,
            [](hn::Vec<F64> x) HWY_ATTR { return hn::DemoteTo(F32OfF64(), x); });
}

void F32ToF64(const float* in, double* out, std::size_t count) {
  map_types(F32OfF64(), F64(), in, out, count,
            [](hn::Vec<F32OfF64> x) HWY_ATTR { return hn::PromoteTo(F64(), x); });
}

// ConvertTo truncates and saturates; zero instead of NaN makes that case 0.
HWY_INLINE hn::Vec<I32> integers_of(VF32 x) {
  return hn::ConvertTo(I32(), hn::IfThenElseZero(hn::Eq(x, x), x));
}

void F32ToI32(const float* in, std::int32_t* out, std::size_t count) {
  map_types(F32(), I32(), in, out, count, [](VF32 x) HWY_ATTR { return integers_of(x); });
}

template <class To>
HWY_INLINE void F32ToSmallInteger(const float* in, To* out, std::size_t count) {
  const hn::Rebind<To, F32> to;
  map_types(F32(), to, in, out, count, [to](VF32 x) HWY_ATTR { return hn::DemoteTo(to, integers_of(x)); });
}

void F32ToI8(const float* in, std::int8_t* out, std::size_t count) { F32ToSmallInteger(in, out, count); }
void F32ToU8(const float* in, std::uint8_t* out, std::size_t count) { F32ToSmallInteger(in, out, count); }

void F32ToBoolean(const float* in, std::uint8_t* out, std::size_t count) {
  const hn::Rebind<std::uint8_t, F32> to;
  map_types(F32(), to, in, out, count, [to](VF32 x) HWY_ATTR {
    // Not hn::Ne, which is false for NaN on AVX2 and up.
    const auto is_zero = hn::RebindMask(I32(), hn::Eq(x, hn::Zero(F32())));
    return hn::DemoteTo(to, hn::IfThenZeroElse(is_zero, hn::Set(I32(), 1)));
  });
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(F16ToF32);
HWY_EXPORT(F32ToF16);
HWY_EXPORT(Bf16ToF32);
HWY_EXPORT(F32ToBf16);
HWY_EXPORT(I8ToF32);
HWY_EXPORT(U8ToF32);
HWY_EXPORT(I32ToF32);
HWY_EXPORT(F64ToF32);
HWY_EXPORT(F32ToF64);
HWY_EXPORT(F32ToI8);
HWY_EXPORT(F32ToU8);
HWY_EXPORT(F32ToI32);
HWY_EXPORT(F32ToBoolean);

void convert_span(const Float16* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F16ToF32)(reinterpret_cast<const std::uint16_t*>(in), out, count);
}
void convert_span(const BFloat16* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Bf16ToF32)(reinterpret_cast<const std::uint16_t*>(in), out, count);
}
void convert_span(const std::int8_t* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(I8ToF32)(in, out, count);
}
void convert_span(const std::uint8_t* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(U8ToF32)(in, out, count);
}
void convert_span(const std::int32_t* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(I32ToF32)(in, out, count);
}
void convert_span(const double* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F64ToF32)(in, out, count);
}
void convert_span(const float* in, double* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F32ToF64)(in, out, count);
}
void convert_span(const float* in, Float16* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F32ToF16)(in, reinterpret_cast<std::uint16_t*>(out), count);
}
void convert_span(const float* in, BFloat16* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F32ToBf16)(in, reinterpret_cast<std::uint16_t*>(out), count);
}
void convert_span(const float* in, std::int8_t* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F32ToI8)(in, out, count);
}
void convert_span(const float* in, std::uint8_t* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F32ToU8)(in, out, count);
}
void convert_span(const float* in, std::int32_t* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F32ToI32)(in, out, count);
}
void convert_span(const float* in, Boolean* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(F32ToBoolean)(in, reinterpret_cast<std::uint8_t*>(out), count);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
