// Elementary functions of f32 vectors, for every value: infinities, NaN and overflow included (Highway's own
// are defined on limited ranges). Included inside a foreach_target file, after highway.h.
//
// Errors are in ULP of the result, the largest found on SSSE3, AVX2 and AVX3 over 4 million bit patterns
// spread over all of f32 (tests/kernels/base/math_test.cc walks fewer), for results that are not subnormal.
#if defined(KERNELS_BASE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_BASE_MATH_INL_H_
#undef KERNELS_BASE_MATH_INL_H_
#else
#define KERNELS_BASE_MATH_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// min(max(x, low), high) that keeps NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V clamp_keep_nan(D d, V x, float low, float high) {
  return at_most(hn::Set(d, high), at_least(hn::Set(d, low), x));
}

/// c[0] + c[1] x + ... + c[N-1] x^(N-1), by Horner's rule.
template <class D, std::size_t N, class V = hn::Vec<D>>
HWY_INLINE V polynomial(D d, V x, const hn::TFromD<D> (&c)[N]) {
  V sum = hn::Set(d, c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

/// exp(x) = 2^n * (1 + r_part), |n| <= 151.
template <class D>
struct ExpParts {
  hn::Vec<hn::RebindToSigned<D>> n;
  hn::Vec<D> r_part;  ///< exp(r) - 1 for the rest r of x modulo ln 2
};

/// `x` within [-104, 89] or NaN (which becomes an r_part of NaN).
template <class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<D> split_exp(D d, V x) {
  // (exp(r) - 1 - r) / r^2 over |r| <= ln(2) / 2, interpolated at Chebyshev nodes, error 6e-8.
  static constexpr float kPoly[] = {0.5F, 0.1666657667F, 0.04166655421F, 0.008363232884F, 0.001392625083F};
  // Added to a small number, 1.5 * 2^23 leaves its nearest integer at the end of the mantissa.
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, 0x1.8p23F);
  const V shifted = hn::Add(hn::Mul(x, hn::Set(d, 1.44269504F)), magic);
  const auto n = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const V whole = hn::Sub(shifted, magic);
  // ln 2 in two parts, the first short enough for exact products.
  V r = hn::NegMulAdd(whole, hn::Set(d, 0x1.62e4p-1F), x);
  r = hn::NegMulAdd(whole, hn::Set(d, 1.42860677e-6F), r);
  return {n, hn::MulAdd(hn::Mul(r, r), polynomial(d, r, kPoly), r)};
}

/// 2^n for n in [-126, 127].
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

/// e^x; 1.1 ULP, subnormal results too. Infinity from 88.7228 on.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_f32(D d, V x) {
  const auto parts = split_exp(d, clamp_keep_nan(d, x, -104.0F, 89.0F));
  // In two factors: one alone would leave the range of exponents at both ends.
  const auto half = hn::ShiftRight<1>(parts.n);
  const V mantissa = hn::Add(parts.r_part, hn::Set(d, 1.0F));
  return hn::Mul(hn::Mul(mantissa, power_of_two(d, half)), power_of_two(d, hn::Sub(parts.n, half)));
}

/// e^x for x <= 88, as sums of exponentials need it: 1.1 ULP, and 0 below -87.3, where the others' results
/// are subnormal.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_or_zero_f32(D d, V x) {
  // e^r over |r| <= ln(2) / 2, its first two coefficients exact.
  static constexpr float kPoly[] = {
      1.0F, 1.0F, 0.5F, 0.1666657667F, 0.04166655421F, 0.008363232884F, 0.001392625083F};
  // As in split_exp, with the bias of exponents in it: the end of the mantissa is the exponent of 2^n.
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, 0x1.8p23F + 127.0F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  const V whole = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(whole, hn::Set(d, 0x1.62e4p-1F), x);
  r = hn::NegMulAdd(whole, hn::Set(d, 1.42860677e-6F), r);
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3F)), hn::Mul(polynomial(d, r, kPoly), power));
}

/// e^x - 1 for x <= 0 (also up to 88, where it stays); 1.1 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_f32(D d, V x) {
  const auto parts = split_exp(d, clamp_keep_nan(d, x, -87.0F, 88.0F));
  const V scale = power_of_two(d, parts.n);
  return hn::MulAdd(parts.r_part, scale, hn::Sub(scale, hn::Set(d, 1.0F)));
}

/// a / b for b in [1, 2^127]; 1.5 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V divide_f32(D d, V a, V b) {
#if HWY_TARGET == HWY_AVX3
  // 14 bits, doubled by a step of Newton: to divide 16 floats takes longer than all else.
  const V rough = hn::ApproximateReciprocal(b);
  return hn::Mul(a, hn::MulAdd(rough, hn::NegMulAdd(b, rough, hn::Set(d, 1.0F)), rough));
#else
  (void)d;
  return hn::Div(a, b);
#endif
}

/// tanh(x); 2.8 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh_f32(D d, V x) {
  // (e^-2a - 1) / (e^-2a + 1) for a = |x|; expm1 keeps the accuracy near 0.
  const V e = expm1_f32(d, hn::Mul(hn::Abs(x), hn::Set(d, -2.0F)));
  return hn::CopySign(divide_f32(d, hn::Neg(e), hn::Add(e, hn::Set(d, 2.0F))), x);
}

/// 1 / (1 + e^-x); 2.2 ULP, 0 below -87.336, where results are subnormal.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_f32(D d, V x) {
  // As exp_or_zero_f32, with e^-r as polynomial. What overflows is masked in the end.
  static constexpr float kPoly[] = {
      1.0F, -1.0F, 0.5F, -0.1666657667F, 0.04166655421F, -0.008363232884F, 0.001392625083F};
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1.0F);
  const V magic = hn::Set(d, 0x1.8p23F + 127.0F);
  const V bounded = at_most(hn::Set(d, 87.0F), x);
  const V shifted = hn::NegMulAdd(bounded, hn::Set(d, 1.44269504F), magic);
  const V whole = hn::Sub(shifted, magic);
  V r = hn::MulAdd(whole, hn::Set(d, 0x1.62e4p-1F), bounded);
  r = hn::MulAdd(whole, hn::Set(d, 1.42860677e-6F), r);
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const V sum = hn::MulAdd(polynomial(d, r, kPoly), power, one);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33654F)), divide_f32(d, one, sum));
}

/// x / (1 + e^-ax) for one a; 3 ULP above -2 / a, below that 6e-8 / a absolute.
template <class D, class V = hn::Vec<D>>
class Swish {
 public:
  HWY_INLINE explicit Swish(D, float a) {
    // Powers of two from 2^-126, which adds nothing, to infinity.
    rate_ = a * -1.44269504F;
    low_ = std::min(128.0F / rate_, -126.0F / rate_);
    high_ = std::max(128.0F / rate_, -126.0F / rate_);
  }
  HWY_INLINE V operator()(D d, V x) const {
    // 2^f over |f| <= 1/2, relative error 7.5e-8.
    static constexpr float kPoly[] = {1.00000012F,   0.693146944F,   0.240221202F,
                                      0.0555071309F, 0.00967554096F, 0.00132764725F};
    // As in exp_or_zero_f32.
    const hn::RebindToSigned<D> di;
    const V rate = hn::Set(d, rate_);
    const V magic = hn::Set(d, 0x1.8p23F + 127.0F);
    const V bounded = clamp_keep_nan(d, x, low_, high_);
    const V shifted = hn::MulAdd(bounded, rate, magic);
    const V f = hn::MulSub(bounded, rate, hn::Sub(shifted, magic));
    const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
    const V sum = hn::MulAdd(polynomial(d, f, kPoly), power, hn::Set(d, 1.0F));
    return hn::Div(x, sum);
  }

 private:
  float rate_, low_, high_;
};

/// erf(x); 2.4 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_f32(D d, V x) {
  // erf(a) / a as a polynomial in a^2 over [0, 1], error 2e-9.
  static constexpr float kNear[] = {1.128379166F,    -0.3761262667F,    0.1128359472F,  -0.02685421201F,
                                    0.005189087423F, -0.0008016864287F, 7.875875063e-5F};
  // ln(1 - erf(a)) as a polynomial in a - 2.5 over [1, 4], error 2e-8; 1 - erf(4) is below half an ULP of 1.
  static constexpr float kFar[] = {-7.806815273F,   -5.352680674F,   -0.9438937036F,
                                   -0.01085854164F, 0.002165303549F, -0.0004201225235F,
                                   7.729137615e-5F, -1.33150144e-5F, 1.637151415e-6F};
  const V a = hn::Abs(x);
  const V near = hn::Mul(x, polynomial(d, hn::Mul(x, x), kNear));
  const V far_argument = hn::Sub(at_most(hn::Set(d, 4.0F), a), hn::Set(d, 2.5F));
  const auto parts = split_exp(d, polynomial(d, far_argument, kFar));
  const V complement = hn::Mul(hn::Add(parts.r_part, hn::Set(d, 1.0F)), power_of_two(d, parts.n));
  const V far = hn::CopySign(hn::Sub(hn::Set(d, 1.0F), complement), x);
  return hn::IfThenElse(hn::Le(a, hn::Set(d, 1.0F)), near, far);
}

/// x * (1 + erf(x / sqrt(2))) / 2; 2.6 ULP above 0, else the error is below 2e-7 * max(1, |x|).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_f32(D d, V x) {
  // (F(a) - 1/2) / a for the normal distribution F, as a polynomial in 2 (a / 5.5)^2 - 1 over [0, 5.5], error
  // 8e-9 / a. At 5.5 it just exceeds 1/2 / a: beyond, F is 1 (or 0, below).
  static constexpr float kPoly[] = {0.12855193F,     -0.064172335F,    0.0477376282F,   -0.0387927853F,
                                    0.0320702605F,   -0.0260482617F,   0.0203645658F,   -0.0149990711F,
                                    0.0102278311F,   -0.00681992853F,  0.00462177536F,  -0.002418624F,
                                    0.000720110722F, -0.000529150013F, 0.000631557719F, -0.000236412656F};
  const V a = clamp_keep_nan(d, x, -5.5F, 5.5F);
  const V t = hn::MulAdd(hn::Mul(a, a), hn::Set(d, 2.0F / (5.5F * 5.5F)), hn::Set(d, -1.0F));
  const V f = hn::MulAdd(a, polynomial(d, t, kPoly), hn::Set(d, 0.5F));
  return hn::Mul(x, at_least(hn::Zero(d), f));
}

/// ln(x); 1 ULP. -inf at 0, NaN below.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_f32(D d, V x) {
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const V zero = hn::Zero(d);
  const auto regular = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
  const V below = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::NaN(d));
  const V irregular = hn::IfThenElse(hn::Eq(x, infinity), infinity, below);
  return hn::IfThenElse(regular, hn::Log(d, x), irregular);
}

/// The y of erf(y) = x; 2.7 ULP. Infinite at 1 and -1, NaN beyond.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erfinv_f32(D d, V x) {
  // y / x as a polynomial in w = -ln(1 - x^2) over [0, 5], error 7e-9, and in sqrt(w) - 3 beyond, error 7e-9
  // up to the largest x below 1.
  static constexpr float kNear[] = {0.886226924F,     0.232013713F,   0.0115491651F,  -0.00233527059F,
                                    -0.000126539475F, 4.40488045e-5F, 4.15066319e-6F, -2.00827133e-6F,
                                    2.243043e-7F,     -8.93192592e-9F};
  static constexpr float kFar[] = {2.83297679F,      1.00167508F,     0.00944577364F, -0.00763933448F,
                                   0.0056823897F,    -0.00358682926F, 0.00149805807F, -7.79512713e-5F,
                                   -0.000320652839F, 0.000130510752F};
  const V one = hn::Set(d, 1.0F);
  const V a = hn::Abs(x);
  // Not 1 - x * x, of which no digits would be left near 1. An x that is NaN or beyond 1 gives NaN.
  const V w = hn::Neg(log_f32(d, hn::Mul(hn::Sub(one, a), hn::Add(one, a))));
  V ratio = polynomial(d, w, kNear);
  const auto is_near = hn::Lt(w, hn::Set(d, 5.0F));
  if (HWY_UNLIKELY(!hn::AllTrue(d, is_near))) {
    const V far = polynomial(d, hn::Sub(hn::Sqrt(w), hn::Set(d, 3.0F)), kFar);
    ratio = hn::IfThenElse(is_near, ratio, far);
    ratio = hn::IfThenElse(hn::Eq(a, one), hn::Set(d, std::numeric_limits<float>::infinity()), ratio);
  }
  return hn::Mul(x, ratio);
}

/// The angle of the point (x, y), as std::atan2; 1.7 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atan2_f32(D d, V y, V x) {
  // (atan(t) / t - 1) / t^2 as a polynomial in t^2 over [0, 1], error 3e-9.
  static constexpr float kPoly[] = {-0.333333331F,   0.199999493F,  -0.142840038F,  0.110882616F,
                                    -0.0893182674F,  0.0703191416F, -0.0489605127F, 0.0263049999F,
                                    -0.00914462918F, 0.00148869182F};
  const hn::RebindToSigned<D> di;
  const V zero = hn::Zero(d);
  const V ax = hn::Abs(x);
  const V ay = hn::Abs(y);
  const auto is_steep = hn::Gt(ay, ax);
  const V longer = hn::IfThenElse(is_steep, ay, ax);
  const V shorter = hn::IfThenElse(is_steep, ax, ay);
  // Equal ones may be infinite or zero.
  const V diagonal = hn::IfThenElseZero(hn::Gt(longer, zero), hn::Set(d, 1.0F));
  const V t = hn::IfThenElse(hn::Eq(longer, shorter), diagonal, hn::Div(shorter, longer));
  const V square = hn::Mul(t, t);
  const V angle = hn::MulAdd(hn::Mul(t, square), polynomial(d, square, kPoly), t);
  // From the nearest axis, whose own angle is in two parts, one way or the other.
  const auto is_left = hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di)));
  const V turned = hn::IfThenElse(hn::Xor(is_steep, is_left), hn::Neg(angle), angle);
  const V axis =
      hn::IfThenElse(is_steep, hn::Set(d, 1.57079637F), hn::IfThenElseZero(is_left, hn::Set(d, 3.14159274F)));
  const V rest = hn::IfThenElse(is_steep, hn::Set(d, -4.37113883e-8F),
                                hn::IfThenElseZero(is_left, hn::Set(d, -8.74227766e-8F)));
  const V sum = hn::Add(axis, hn::Add(turned, rest));
  const V number = hn::CopySign(sum, y);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::NaN(d), number);
}

/// ln(1 + x) for x in [0, 1].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_unit_f32(D d, V x) {
  return hn::Log1p(d, x);
}

/// ln(1 + e^x); 2.6 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus_f32(D d, V x) {
  // The larger of x and 0 taken out: the rest is ln(1 + e^-|x|), which cannot overflow. NaN comes through
  // both.
  const V rest = log1p_unit_f32(d, exp_f32(d, hn::Neg(hn::Abs(x))));
  return hn::Add(at_least(hn::Zero(d), x), rest);
}

/// x^y for x > 0, as e^(y ln x): relative error up to 4e-7 * (1 + |y ln x|). 0 to a positive y is 0, x < 0 is
/// NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V pow_positive_f32(D d, V x, V y) {
  return exp_f32(d, hn::Mul(y, log_f32(d, x)));
}

/// f(x, ...) for one lane after the other: for values that vectors do not cover, and that are rare.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> each_lane(D d, const F& f, V... operands) {
  HWY_ALIGN float lanes[sizeof...(V)][HWY_MAX_BYTES / sizeof(float)];
  std::size_t operand = 0;
  (hn::Store(operands, d, lanes[operand++]), ...);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if constexpr (sizeof...(V) == 1) {
      lanes[0][i] = f(lanes[0][i]);
    } else {
      lanes[0][i] = f(lanes[0][i], lanes[1][i]);
    }
  }
  return hn::Load(d, lanes[0]);
}

/// What `of_vector` gives where it is exact, for angles up to 39000; else what `of_lane` does.
template <class D, class F, class V = hn::Vec<D>>
HWY_INLINE V of_angle(D d, V x, V of_vector, const F& of_lane) {
  const auto is_exact = hn::Le(hn::Abs(x), hn::Set(d, 39000.0F));
  if (HWY_LIKELY(hn::AllTrue(d, is_exact))) return of_vector;
  return hn::IfThenElse(is_exact, of_vector, each_lane(d, of_lane, x));
}

/// sin(x); 2.1 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin_f32(D d, V x) {
  return of_angle(d, x, hn::Sin(d, x), [](float angle) { return std::sin(angle); });
}

/// cos(x); 2.4 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos_f32(D d, V x) {
  return of_angle(d, x, hn::Cos(d, x), [](float angle) { return std::cos(angle); });
}

/// Floats that fill a vector when they are doubles.
using HalfF32 = hn::Rebind<float, hn::ScalableTag<double>>;

/// 2^(y log2 x) for finite x > 0 and finite y, in doubles: relative error below 1e-8 before it is rounded.
HWY_INLINE hn::Vec<HalfF32> pow_in_doubles(hn::Vec<HalfF32> x, hn::Vec<HalfF32> y) {
  using D = hn::ScalableTag<double>;
  using V = hn::Vec<D>;
  const D d;
  const hn::RebindToUnsigned<D> du;
  // log2((1 + z) / (1 - z)) / z as a polynomial in z^2 for (1 + z) / (1 - z) in [sqrt(1/2), sqrt(2)],
  // relative error 4e-12, and (2^f - 1) / f for |f| <= 1/2, of which 2^f has an error of 5e-9.
  static constexpr double kLog[] = {2.885390081789987, 0.9617966734515485, 0.5770835660048659,
                                    0.41167376623771057, 0.3407120415619086};
  static constexpr double kExp[] = {0.6931471880262288,   0.24022650760568126,   0.05550357114219078,
                                    0.009618082557277852, 0.0013390863364671234, 0.0001545316294512069};
  // x = 2^e m. What is added to the bits carries into the exponent where m would exceed sqrt(2).
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  constexpr std::uint64_t kRootOfHalf = 0x3FE6A09E667F3BCD;
  const auto bits = hn::BitCast(du, hn::PromoteTo(d, x));
  const auto exponent = hn::ShiftRight<52>(hn::Add(bits, hn::Set(du, kOne - kRootOfHalf)));
  const V m = hn::BitCast(d, hn::Add(hn::Sub(bits, hn::ShiftLeft<52>(exponent)), hn::Set(du, kOne)));
  // A small integer below the mantissa of 2^52 is added to it.
  const V e = hn::Sub(hn::BitCast(d, hn::Or(exponent, hn::BitCast(du, hn::Set(d, 0x1p52)))),
                      hn::Set(d, 0x1p52 + 1023));
  const V one = hn::Set(d, 1.0);
  const V z = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const V log = hn::MulAdd(z, polynomial(d, hn::Mul(z, z), kLog), e);
  // Beyond these limits floats are 0 or infinite.
  const V power = hn::Min(hn::Max(hn::Mul(hn::PromoteTo(d, y), log), hn::Set(d, -200.0)), hn::Set(d, 200.0));
  const V magic = hn::Set(d, 0x1.8p52);
  const V shifted = hn::Add(power, magic);
  const V f = hn::Sub(power, hn::Sub(shifted, magic));
  const V mantissa = hn::MulAdd(f, polynomial(d, f, kExp), one);
  const auto scaled = hn::Add(hn::BitCast(du, mantissa), hn::ShiftLeft<52>(hn::BitCast(du, shifted)));
  return hn::DemoteTo(HalfF32(), hn::BitCast(d, scaled));
}

/// x^(1/2), as std::pow has it: of -0 and -infinity, too.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V pow_half_f32(D d, V x) {
  const V infinity = hn::Inf(d);
  return hn::IfThenElse(hn::Eq(x, hn::Neg(infinity)), infinity, hn::Sqrt(hn::Add(x, hn::Zero(d))));
}

/// x^y for all values, as std::pow has it; 0.6 ULP, but the formulas that PowerF32 takes for some exponents.
HWY_INLINE hn::Vec<HalfF32> pow_f32(hn::Vec<HalfF32> x, hn::Vec<HalfF32> y) {
  using V = hn::Vec<HalfF32>;
  const HalfF32 d;
  const V zero = hn::Zero(d);
  const V infinity = hn::Inf(d);
  const V half = hn::Mul(y, hn::Set(d, 0.5F));
  const auto is_whole = hn::Eq(y, hn::Trunc(y));
  const auto is_odd = hn::AndNot(hn::Eq(half, hn::Trunc(half)), is_whole);
  const auto is = [&](float exponent) { return hn::Eq(y, hn::Set(d, exponent)); };

  V power = pow_in_doubles(hn::Abs(x), y);
  const V of_zero =
      hn::IfThenElse(hn::Lt(y, zero), infinity, hn::IfThenElseZero(hn::Eq(y, zero), hn::Set(d, 1.0F)));
  power = hn::IfThenElse(hn::Eq(x, zero), of_zero, power);
  power = hn::IfThenElse(is_odd, hn::CopySign(power, x), power);
  power = hn::IfThenElse(hn::AndNot(is_whole, hn::Lt(x, zero)), hn::NaN(d), power);
  const auto is_finite = hn::And(hn::Lt(hn::Abs(x), infinity), hn::Lt(hn::Abs(y), infinity));
  if (HWY_UNLIKELY(!hn::AllTrue(d, is_finite))) {
    const auto scalar = [](float base, float exponent) { return std::pow(base, exponent); };
    power = hn::IfThenElse(is_finite, power, each_lane(d, scalar, x, y));
  }
  const auto has_formula = hn::Or(hn::Or(is(2.0F), is(3.0F)), hn::Or(is(0.5F), is(-1.0F)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, has_formula))) {
    const V square = hn::Mul(x, x);
    power = hn::IfThenElse(is(2.0F), square, power);
    power = hn::IfThenElse(is(3.0F), hn::Mul(square, x), power);
    power = hn::IfThenElse(is(0.5F), pow_half_f32(d, x), power);
    power = hn::IfThenElse(is(-1.0F), hn::Div(hn::Set(d, 1.0F), x), power);
  }
  return power;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_BASE_MATH_INL_H_
