#include "kernels/signal/fft_stages.h"

#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/signal/fft_stages.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Complex numbers, one in each lane. Products are rounded before they are added: so are they everywhere.
template <class D>
struct Numbers {
  using V = hn::Vec<D>;
  V re;
  V im;
  friend HWY_INLINE Numbers operator+(Numbers a, Numbers b) {
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
  }
  friend HWY_INLINE Numbers operator-(Numbers a, Numbers b) {
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
  }
  friend HWY_INLINE Numbers operator*(double number, Numbers a) {
    const V factor = hn::Set(D(), static_cast<hn::TFromD<D>>(number));
    return {hn::Mul(factor, a.re), hn::Mul(factor, a.im)};
  }
  friend HWY_INLINE Numbers operator*(Numbers a, Numbers b) {
    return {hn::Sub(hn::Mul(a.re, b.re), hn::Mul(a.im, b.im)),
            hn::Add(hn::Mul(a.re, b.im), hn::Mul(a.im, b.re))};
  }
};

// -i * a
template <class D>
HWY_INLINE Numbers<D> turned(Numbers<D> a) {
  return {a.im, hn::Neg(a.re)};
}

// The transform of `radix` numbers, in place.
template <std::size_t radix, class D>
HWY_INLINE void butterfly(std::array<Numbers<D>, radix>& a) {
  using N = Numbers<D>;
  if constexpr (radix == 2) {
    a = {a[0] + a[1], a[0] - a[1]};
  } else if constexpr (radix == 3) {
    constexpr double kSin = 0.866025403784438646763723170752936183;
    const N sum = a[1] + a[2];
    const N real = a[0] - 0.5 * sum;
    const N imaginary = turned(kSin * (a[1] - a[2]));
    a = {a[0] + sum, real + imaginary, real - imaginary};
  } else if constexpr (radix == 4) {
    const N even_sum = a[0] + a[2];
    const N even = a[0] - a[2];
    const N odd_sum = a[1] + a[3];
    const N odd = turned(a[1] - a[3]);
    a = {even_sum + odd_sum, even + odd, even_sum - odd_sum, even - odd};
  } else {
    static_assert(radix == 5);
    constexpr double kCos1 = 0.309016994374947424102293417182819059;
    constexpr double kCos2 = -0.809016994374947424102293417182819059;
    constexpr double kSin1 = 0.951056516295153572116439333379382143;
    constexpr double kSin2 = 0.587785252292473129168705954639072769;
    const N sum1 = a[1] + a[4];
    const N sum2 = a[2] + a[3];
    const N difference1 = a[1] - a[4];
    const N difference2 = a[2] - a[3];
    const N real1 = a[0] + kCos1 * sum1 + kCos2 * sum2;
    const N real2 = a[0] + kCos2 * sum1 + kCos1 * sum2;
    const N imaginary1 = turned(kSin1 * difference1 + kSin2 * difference2);
    const N imaginary2 = turned(kSin2 * difference1 - kSin1 * difference2);
    a = {a[0] + sum1 + sum2, real1 + imaginary1, real2 + imaginary2, real2 - imaginary2, real1 - imaginary1};
  }
}

/// With `count` a multiple of the lanes of D.
template <std::size_t radix, class D, class T = hn::TFromD<D>>
void run_stage(D d, const FftStage<T>& stage) {
  using N = Numbers<D>;
  const std::size_t count = stage.count;
  const std::size_t step = stage.columns * count;
  for (std::size_t p = 0; p < stage.columns; ++p) {
    std::array<N, radix> twiddles;
    for (std::size_t k = 1; k < radix; ++k) {
      const std::size_t at = p * (radix - 1) + k - 1;
      twiddles[k] = {hn::Set(d, stage.table_re[at]), hn::Set(d, stage.table_im[at])};
    }
    const std::size_t from = p * count;
    const std::size_t to = p * radix * count;
    for (std::size_t q = 0; q < count; q += hn::Lanes(d)) {
      std::array<N, radix> a;
      for (std::size_t k = 0; k < radix; ++k) {
        const std::size_t at = from + k * step + q;
        a[k] = {hn::LoadU(d, stage.in.re + at), hn::LoadU(d, stage.in.im + at)};
      }
      butterfly(a);
      for (std::size_t k = 0; k < radix; ++k) {
        const N value = k == 0 ? a[0] : a[k] * twiddles[k];
        hn::StoreU(value.re, d, stage.out.re + to + k * count + q);
        hn::StoreU(value.im, d, stage.out.im + to + k * count + q);
      }
    }
  }
}

template <class D, class T = hn::TFromD<D>>
void run_any_radix(D d, const FftStage<T>& stage) {
  switch (stage.radix) {
    case 2:
      return run_stage<2>(d, stage);
    case 3:
      return run_stage<3>(d, stage);
    case 4:
      return run_stage<4>(d, stage);
    default:
      return run_stage<5>(d, stage);
  }
}

template <class T>
void run_any_count(const FftStage<T>& stage) {
  const hn::CappedTag<T, Fft<T>::kMaxLanes> d;
  if (stage.count % hn::Lanes(d) == 0) {
    run_any_radix(d, stage);
  } else {
    run_any_radix(hn::CappedTag<T, 1>(), stage);
  }
}

void FftStageF32(const FftStage<float>& stage) { run_any_count(stage); }
void FftStageF64(const FftStage<double>& stage) { run_any_count(stage); }

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(FftStageF32);
HWY_EXPORT(FftStageF64);

template <>
void run_fft_stage<float>(const FftStage<float>& stage) {
  HWY_DYNAMIC_DISPATCH(FftStageF32)(stage);
}
template <>
void run_fft_stage<double>(const FftStage<double>& stage) {
  HWY_DYNAMIC_DISPATCH(FftStageF64)(stage);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
