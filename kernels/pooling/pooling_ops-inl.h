// What pooling does to the values under a window. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_POOLING_POOLING_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_POOLING_POOLING_OPS_INL_H_
#undef KERNELS_POOLING_POOLING_OPS_INL_H_
#else
#define KERNELS_POOLING_POOLING_OPS_INL_H_
#endif

#include <cstddef>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

struct Add {
  static constexpr float kNeutral = 0.0F;
  template <class V>
  static HWY_INLINE V vector(V sum, V value) {
    return hn::Add(sum, value);
  }
  static HWY_INLINE float scalar(float sum, float value) { return sum + value; }
};

struct Max {
  static constexpr float kNeutral = -std::numeric_limits<float>::infinity();
  // NaN is not greater, so it is skipped. The instruction of x86 does just that, that of other machines not.
  template <class V>
  static HWY_INLINE V vector(V best, V value) {
#if HWY_ARCH_X86
    return hn::Max(value, best);
#else
    return hn::IfThenElse(hn::Gt(value, best), value, best);
#endif
  }
  static HWY_INLINE float scalar(float best, float value) { return value > best ? value : best; }
};

/// What the sums of a line become: means, or `empty` where there is nothing to divide by.
struct Mean {
  const float* divisors;
  float line_divisor;
  float empty;

  HWY_INLINE Vector operator()(Vector sum, std::size_t i) const {
    const Tag d;
    const Vector divisor = hn::Mul(hn::Set(d, line_divisor), hn::LoadU(d, divisors + i));
    return hn::IfThenElse(hn::Eq(divisor, hn::Zero(d)), hn::Set(d, empty), hn::Div(sum, divisor));
  }
};

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_POOLING_POOLING_OPS_INL_H_
