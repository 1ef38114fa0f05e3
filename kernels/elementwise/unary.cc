#include "kernels/elementwise/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/math-inl.h"
#include "kernels/base/simd-inl.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary_scalar.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// Elements that a function is applied to.
struct Floats {
  const float* in;
  float* out;
  std::size_t count;

  template <class F>
  HWY_INLINE bool operator()(const F& f) const {
    map_unary(hn::ScalableTag<float>(), in, out, count, f);
    return true;
  }
};

/// The functions of a few instructions; false for others.
bool ArithmeticF32(const UnarySpec& spec, const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const Floats map{in, out, count};
  const auto a = static_cast<float>(spec.params.alpha);
  const auto b = static_cast<float>(spec.params.beta);
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0F);
  const V va = hn::Set(d, a);
  const V vb = hn::Set(d, b);
  const V sixth = hn::Set(d, 1.0F / 6.0F);
  const V three = hn::Set(d, 3.0F);

  switch (spec.op) {
    case UnaryOp::abs:
      return map([&](V x) HWY_ATTR { return hn::Abs(x); });
    case UnaryOp::affine:
      return map([&](V x) HWY_ATTR { return hn::Add(hn::Mul(x, va), vb); });
    case UnaryOp::ceiling:
      return map([&](V x) HWY_ATTR { return hn::Ceil(x); });
    case UnaryOp::clamp:
      return map([&](V x) HWY_ATTR { return clamp_keep_nan(d, x, a, b); });
    case UnaryOp::floor:
      return map([&](V x) HWY_ATTR { return hn::Floor(x); });
    case UnaryOp::hard_sigmoid:
      return map([&](V x) HWY_ATTR { return clamp_keep_nan(d, hn::MulAdd(x, va, vb), 0.0F, 1.0F); });
    case UnaryOp::hsigmoid:
      return map([&](V x)
                     HWY_ATTR { return hn::Mul(clamp_keep_nan(d, hn::Add(x, three), 0.0F, 6.0F), sixth); });
    case UnaryOp::hswish:
      return map([&](V x) HWY_ATTR {
        return hn::Mul(x, hn::Mul(clamp_keep_nan(d, hn::Add(x, three), 0.0F, 6.0F), sixth));
      });
    case UnaryOp::leaky_relu:
      return map([&](V x) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, va), x); });
    case UnaryOp::logical_not:
      return map([&](V x) HWY_ATTR { return hn::IfThenElseZero(hn::Eq(x, zero), one); });
    case UnaryOp::negative:
      return map([&](V x) HWY_ATTR { return hn::Neg(x); });
    case UnaryOp::relu:
      return map([&](V x) HWY_ATTR { return at_least(zero, x); });
    case UnaryOp::round_half_away_from_zero:
      // The float below 0.5: with 0.5 itself the sum of the float below 0.5 would round up to 1.
      return map([&](V x)
                     HWY_ATTR { return hn::Trunc(hn::Add(x, hn::CopySign(hn::Set(d, 0x1.fffffep-2F), x))); });
    case UnaryOp::round_half_to_even:
      return map([&](V x) HWY_ATTR { return hn::Round(x); });
    case UnaryOp::sign:
      // 0 and NaN, which have no sign, stay themselves.
      return map([&](V x)
                     HWY_ATTR { return hn::IfThenElse(hn::Gt(hn::Abs(x), zero), hn::CopySign(one, x), x); });
    case UnaryOp::square:
      return map([&](V x) HWY_ATTR { return hn::Mul(x, x); });
    default:
      return false;
  }
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V elu_f32(D d, V x, V alpha) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(alpha, expm1_f32(d, x)));
}

/// (1 + tanh(u)) / 2 = 1 / (1 + e^-2u) with u = sqrt(2 / pi) * (x + 0.044715 x^3).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_tanh_f32(D d, V x) {
  const V u_over_x =
      hn::MulAdd(hn::Mul(x, x), hn::Set(d, 2.0F * 0.797884561F * 0.044715F), hn::Set(d, 2.0F * 0.797884561F));
  return hn::Mul(x, sigmoid_f32(d, hn::Mul(x, u_over_x)));
}

/// With e = e^x: tanh(ln(1 + e)) = n / (n + 2), n = e (e + 2). Above 20 it is 1 in f32.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V mish_f32(D d, V x) {
  const V two = hn::Set(d, 2.0F);
  const V e = exp_f32(d, at_most(hn::Set(d, 20.0F), x));
  const V n = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, divide_f32(d, n, hn::Add(n, two)));
}

/// The functions that take divisions, roots or polynomials; false for others.
bool FunctionF32(const UnarySpec& spec, const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const Floats map{in, out, count};
  const auto a = static_cast<float>(spec.params.alpha);
  const V one = hn::Set(d, 1.0F);
  const V va = hn::Set(d, a);
  const V vb = hn::Set(d, static_cast<float>(spec.params.beta));

  switch (spec.op) {
    // Highway's own are defined on all of f32: 1.3, 2.5 and 2.7 ULP.
    case UnaryOp::acos:
      return map([&](V x) HWY_ATTR { return hn::Acos(d, x); });
    case UnaryOp::asin:
      return map([&](V x) HWY_ATTR { return hn::Asin(d, x); });
    case UnaryOp::atan:
      return map([&](V x) HWY_ATTR { return hn::Atan(d, x); });
    case UnaryOp::cos:
      return map([&](V x) HWY_ATTR { return cos_f32(d, x); });
    case UnaryOp::elu:
      return map([&](V x) HWY_ATTR { return elu_f32(d, x, va); });
    case UnaryOp::erf:
      return map([&](V x) HWY_ATTR { return erf_f32(d, x); });
    case UnaryOp::erfinv:
      return map([&](V x) HWY_ATTR { return erfinv_f32(d, x); });
    case UnaryOp::exp:
      return map([&](V x) HWY_ATTR { return exp_f32(d, x); });
    case UnaryOp::gelu_erf:
      return map([&](V x) HWY_ATTR { return gelu_f32(d, x); });
    case UnaryOp::gelu_tanh:
      return map([&](V x) HWY_ATTR { return gelu_tanh_f32(d, x); });
    case UnaryOp::log:
      return map([&](V x) HWY_ATTR { return log_f32(d, x); });
    case UnaryOp::mish:
      return map([&](V x) HWY_ATTR { return mish_f32(d, x); });
    case UnaryOp::reciprocal:
      return map([&](V x) HWY_ATTR { return hn::Div(one, x); });
    case UnaryOp::reciprocal_sqrt:
      return map([&](V x) HWY_ATTR { return hn::Div(one, hn::Sqrt(x)); });
    case UnaryOp::selu:
      return map([&](V x) HWY_ATTR { return hn::Mul(vb, elu_f32(d, x, va)); });
    case UnaryOp::sigmoid:
      return map([&](V x) HWY_ATTR { return sigmoid_f32(d, x); });
    case UnaryOp::sin:
      return map([&](V x) HWY_ATTR { return sin_f32(d, x); });
    case UnaryOp::softplus:
      return map([&](V x) HWY_ATTR { return softplus_f32(d, x); });
    case UnaryOp::softsign:
      return map([&](V x) HWY_ATTR { return hn::Div(x, hn::Add(one, hn::Abs(x))); });
    case UnaryOp::sqrt:
      return map([&](V x) HWY_ATTR { return hn::Sqrt(x); });
    case UnaryOp::swish:
      return map([&, swish = Swish(d, a)](V x) HWY_ATTR { return swish(d, x); });
    case UnaryOp::tanh:
      return map([&](V x) HWY_ATTR { return tanh_f32(d, x); });
    default:
      return false;
  }
}

/// Applies `spec` and returns true, or returns false for the functions that have no vector form.
bool UnaryF32(const UnarySpec& spec, const float* in, float* out, std::size_t count) {
  return ArithmeticF32(spec, in, out, count) || FunctionF32(spec, in, out, count);
}

/// `logical_not` of booleans.
void LogicalNot(const std::uint8_t* in, std::uint8_t* out, std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto one = hn::Set(d, 1);
  map_unary(d, in, out, count,
            [&](hn::Vec<decltype(d)> x) HWY_ATTR { return hn::Sub(one, hn::Min(x, one)); });
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(UnaryF32);
HWY_EXPORT(LogicalNot);

std::size_t cost_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::abs:
    case UnaryOp::affine:
    case UnaryOp::bitwise_not:
    case UnaryOp::ceiling:
    case UnaryOp::clamp:
    case UnaryOp::floor:
    case UnaryOp::hard_sigmoid:
    case UnaryOp::hsigmoid:
    case UnaryOp::hswish:
    case UnaryOp::leaky_relu:
    case UnaryOp::logical_not:
    case UnaryOp::negative:
    case UnaryOp::relu:
    case UnaryOp::round_half_away_from_zero:
    case UnaryOp::round_half_to_even:
    case UnaryOp::sign:
    case UnaryOp::square:
      return 1;
    default:
      return 4;
  }
}

void unary_span(const UnarySpec& spec, const float* in, float* out, std::size_t count) {
  if (!HWY_DYNAMIC_DISPATCH(UnaryF32)(spec, in, out, count)) unary_scalar_span(spec, in, out, count);
}

template <class T>
void unary(UnaryOp op, const UnaryParams& params, const T* in, T* out, std::size_t count) {
  const UnarySpec spec{op, params};
  parallel_for(count, grain_for_cost(cost_of(op)), [&](std::size_t begin, std::size_t end) {
    const std::size_t size = end - begin;
    if constexpr (std::is_same_v<T, float>) {
      return unary_span(spec, in + begin, out + begin, size);
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (op == UnaryOp::logical_not) return HWY_DYNAMIC_DISPATCH(LogicalNot)(in + begin, out + begin, size);
    }
    unary_scalar_span(spec, in + begin, out + begin, size);
  });
}

template <class T>
void classify(FloatClass wanted, const T* in, std::uint8_t* out, std::size_t count) {
  const auto map = [&](auto test) {
    parallel_for(count, grain_for_cost(1), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[i] = test(in[i]) ? 1 : 0;
    });
  };
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  switch (wanted) {
    case FloatClass::nan: {
      const std::size_t dims[] = {count};
      return compare(CompareOp::not_equal, BroadcastPlan(dims, {dims, dims}), in, in, out);
    }
    case FloatClass::infinite:
      return map([](T x) { return x == kInfinity || x == -kInfinity; });
    case FloatClass::positive_infinite:
      return map([](T x) { return x == kInfinity; });
    case FloatClass::negative_infinite:
      return map([](T x) { return x == -kInfinity; });
    case FloatClass::finite:
      return map([](T x) { return x - x == 0; });
  }
}

#define IR_KERNELS_INSTANTIATE(T) \
  template void unary<T>(UnaryOp, const UnaryParams&, const T*, T*, std::size_t);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

template void classify<float>(FloatClass, const float*, std::uint8_t*, std::size_t);
template void classify<double>(FloatClass, const double*, std::uint8_t*, std::size_t);

}  // namespace ir::kernels
#endif  // HWY_ONCE
