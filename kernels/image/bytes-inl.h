// Bytes of images as floats, and back. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_IMAGE_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_IMAGE_BYTES_INL_H_
#undef KERNELS_IMAGE_BYTES_INL_H_
#else
#define KERNELS_IMAGE_BYTES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_as_floats(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_as_floats(D d, const std::uint8_t* from) {
  return hn::ConvertTo(
      d, hn::PromoteTo(hn::RebindToSigned<D>(), hn::LoadU(hn::Rebind<std::uint8_t, D>(), from)));
}

/// [0, 255]; NaN stays.
template <class D>
HWY_INLINE hn::Vec<D> limit_to_bytes(D d, hn::Vec<D> value) {
  const auto most = hn::Set(d, 255.0F);
  value = hn::IfThenElse(hn::Lt(value, hn::Zero(d)), hn::Zero(d), value);
  return hn::IfThenElse(hn::Lt(most, value), most, value);
}

/// What limit_to_bytes gives, without its fraction; NaN is 0.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<std::uint8_t, D>> truncated_bytes(D, hn::Vec<D> value) {
  return hn::DemoteTo(hn::Rebind<std::uint8_t, D>(), hn::ConvertTo(hn::RebindToSigned<D>(), value));
}
/// To the nearest, halves up.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<std::uint8_t, D>> rounded_bytes(D d, hn::Vec<D> value) {
  const hn::RebindToSigned<D> di;
  const auto whole = hn::ConvertTo(di, value);
  const auto rest = hn::Sub(value, hn::ConvertTo(d, whole));
  const auto up = hn::RebindMask(di, hn::Ge(rest, hn::Set(d, 0.5F)));
  return hn::DemoteTo(hn::Rebind<std::uint8_t, D>(), hn::Sub(whole, hn::VecFromMask(di, up)));
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_IMAGE_BYTES_INL_H_
