// Halves and floats, vector by vector. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_BASE_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_BASE_HALVES_INL_H_
#undef KERNELS_BASE_HALVES_INL_H_
#else
#define KERNELS_BASE_HALVES_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;
using VF32 = hn::Vec<F32>;
using VU16 = hn::Vec<U16>;

// Highway 1.0.3 emulates f16 on targets without F16C in a way that truncates and loses infinities and NaN;
// there the steps of kernels/base/float16.h are done in vectors.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4

HWY_INLINE VF32 float_from_half(VU16 half) {
  const F32 d;
  const I32 di;
  const auto word = hn::PromoteTo(di, half);
  const auto magnitude = hn::And(word, hn::Set(di, 0x7FFF));
  const auto sign = hn::ShiftLeft<16>(hn::Sub(word, magnitude));
  const auto rebias = hn::Set(di, 0x38000000);
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  const auto special = hn::Add(normal, rebias);
  const auto tiny = hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24F)));
  const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x400)), tiny, normal);
  const auto all = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7BFF)), special, finite);
  return hn::BitCast(d, hn::Or(all, sign));
}

HWY_INLINE VU16 half_from_float(VF32 value) {
  const F32 d;
  const I32 di;
  const auto word = hn::BitCast(di, value);
  const auto magnitude = hn::And(word, hn::Set(di, 0x7FFFFFFF));
  const auto sign = hn::BitCast(di, hn::ShiftRight<16>(hn::BitCast(U32(), hn::Xor(word, magnitude))));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
  const auto rounding = hn::Add(odd, hn::Set(di, 0xFFF - 0x38000000));
  const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, rounding));
  const auto shifted = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5F));
  const auto tiny = hn::Sub(hn::BitCast(di, shifted), hn::Set(di, 0x3F000000));
  const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)), tiny, normal);
  const auto is_nan = hn::Gt(magnitude, hn::Set(di, 0x7F800000));
  const auto special = hn::IfThenElse(is_nan, hn::Set(di, 0x7E00), hn::Set(di, 0x7C00));
  const auto all = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477FEFFF)), special, finite);
  return hn::DemoteTo(U16(), hn::Or(all, sign));
}

#else

HWY_INLINE VF32 float_from_half(VU16 half) {
  return hn::PromoteTo(F32(), hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), half));
}

HWY_INLINE VU16 half_from_float(VF32 value) {
  return hn::BitCast(U16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, F32>(), value));
}

#endif

/// Of a bfloat16, the upper half of a float.
HWY_INLINE VF32 float_from_bfloat(VU16 half) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), half)));
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_BASE_HALVES_INL_H_
