#include "kernels/elementwise/unary_scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/integer_math.h"

namespace ir::kernels {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double erfinv(double x) {
  const double a = std::abs(x);
  if (a == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (!(a < 1)) return std::numeric_limits<double>::quiet_NaN();
  // Winitzki's approximation, 2 in 1000 wrong, then Halley's steps, each of which cubes the error. Near 1 the
  // complement has the digits.
  constexpr double kShape = 0.147;
  const double log = std::log1p(-a * a);
  const double middle = 2 * std::numbers::inv_pi / kShape + log / 2;
  double y = std::sqrt(-log / kShape / (std::sqrt(middle * middle - log / kShape) + middle));
  for (int step = 0; step < 3; ++step) {
    const double excess = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double newton = excess / (2 * std::numbers::inv_sqrtpi) * std::exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}
/// Comparisons with `x` on the right keep NaN.
double clamp(double x, double low, double high) { return std::min(std::max(x, low), high); }

using RealFunction = double (*)(double x, double alpha, double beta);

/// Every function on real numbers.
RealFunction real_function(UnaryOp op) {
  switch (op) {
    case UnaryOp::abs:
      return [](double x, double, double) { return std::abs(x); };
    case UnaryOp::acos:
      return [](double x, double, double) { return std::acos(x); };
    case UnaryOp::acosh:
      return [](double x, double, double) { return std::acosh(x); };
    case UnaryOp::affine:
      return [](double x, double a, double b) { return a * x + b; };
    case UnaryOp::asin:
      return [](double x, double, double) { return std::asin(x); };
    case UnaryOp::asinh:
      return [](double x, double, double) { return std::asinh(x); };
    case UnaryOp::atan:
      return [](double x, double, double) { return std::atan(x); };
    case UnaryOp::atanh:
      return [](double x, double, double) { return std::atanh(x); };
    case UnaryOp::ceiling:
      return [](double x, double, double) { return std::ceil(x); };
    case UnaryOp::clamp:
      return [](double x, double a, double b) { return clamp(x, a, b); };
    case UnaryOp::cos:
      return [](double x, double, double) { return std::cos(x); };
    case UnaryOp::cosh:
      return [](double x, double, double) { return std::cosh(x); };
    case UnaryOp::elu:
      return [](double x, double a, double) { return x > 0 ? x : a * std::expm1(x); };
    case UnaryOp::erf:
      return [](double x, double, double) { return std::erf(x); };
    case UnaryOp::erfinv:
      return [](double x, double, double) { return erfinv(x); };
    case UnaryOp::exp:
      return [](double x, double, double) { return std::exp(x); };
    case UnaryOp::floor:
      return [](double x, double, double) { return std::floor(x); };
    case UnaryOp::gelu_erf:
      return [](double x, double, double) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); };
    case UnaryOp::gelu_tanh:
      return [](double x, double, double) {
        const double u = std::sqrt(2.0 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x);
        return x * sigmoid(2.0 * u);  // (1 + tanh(u)) / 2 without cancellation
      };
    case UnaryOp::hard_sigmoid:
      return [](double x, double a, double b) { return clamp(a * x + b, 0.0, 1.0); };
    case UnaryOp::hsigmoid:
      return [](double x, double, double) { return clamp(x + 3.0, 0.0, 6.0) / 6.0; };
    case UnaryOp::hswish:
      return [](double x, double, double) { return x * clamp(x + 3.0, 0.0, 6.0) / 6.0; };
    case UnaryOp::leaky_relu:
      return [](double x, double a, double) { return x >= 0 ? x : a * x; };
    case UnaryOp::log:
      return [](double x, double, double) { return std::log(x); };
    case UnaryOp::mish:
      return [](double x, double, double) { return x * std::tanh(softplus(x)); };
    case UnaryOp::negative:
      return [](double x, double, double) { return -x; };
    case UnaryOp::reciprocal:
      return [](double x, double, double) { return 1.0 / x; };
    case UnaryOp::reciprocal_sqrt:
      return [](double x, double, double) { return 1.0 / std::sqrt(x); };
    case UnaryOp::relu:
      return [](double x, double, double) { return x < 0 ? 0.0 : x; };
    case UnaryOp::round_half_away_from_zero:
      return [](double x, double, double) { return std::round(x); };
    case UnaryOp::round_half_to_even:
      return [](double x, double, double) { return std::nearbyint(x); };
    case UnaryOp::selu:
      return [](double x, double a, double b) { return b * (x > 0 ? x : a * std::expm1(x)); };
    case UnaryOp::sigmoid:
      return [](double x, double, double) { return sigmoid(x); };
    case UnaryOp::sign:
      return [](double x, double, double) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; };
    case UnaryOp::sin:
      return [](double x, double, double) { return std::sin(x); };
    case UnaryOp::sinh:
      return [](double x, double, double) { return std::sinh(x); };
    case UnaryOp::softplus:
      return [](double x, double, double) { return softplus(x); };
    case UnaryOp::softsign:
      return [](double x, double, double) { return x / (1.0 + std::abs(x)); };
    case UnaryOp::sqrt:
      return [](double x, double, double) { return std::sqrt(x); };
    case UnaryOp::square:
      return [](double x, double, double) { return x * x; };
    case UnaryOp::swish:
      return [](double x, double a, double) { return x * sigmoid(a * x); };
    case UnaryOp::tan:
      return [](double x, double, double) { return std::tan(x); };
    case UnaryOp::tanh:
      return [](double x, double, double) { return std::tanh(x); };
    case UnaryOp::logical_not:
      return [](double x, double, double) { return x == 0 ? 1.0 : 0.0; };
    case UnaryOp::bitwise_not:
      break;  // has no meaning for real numbers
  }
  return [](double x, double, double) { return x; };
}

template <class T, class F>
void map(const T* in, T* out, std::size_t count, F f) {
  for (std::size_t i = 0; i < count; ++i) out[i] = f(in[i]);
}

/// Functions that stay within the integers; false for the others.
template <std::integral T>
bool map_exactly(const UnarySpec& spec, const T* in, T* out, std::size_t count) {
  switch (spec.op) {
    case UnaryOp::abs:
      map(in, out, count, [](T x) { return wrapping_abs(x); });
      return true;
    case UnaryOp::bitwise_not:
      map(in, out, count, [](T x) { return static_cast<T>(~x); });
      return true;
    case UnaryOp::ceiling:
    case UnaryOp::floor:
    case UnaryOp::round_half_away_from_zero:
    case UnaryOp::round_half_to_even:
      map(in, out, count, [](T x) { return x; });
      return true;
    case UnaryOp::clamp: {
      const T low = saturating_truncate<T>(std::ceil(spec.params.alpha));
      const T high = saturating_truncate<T>(std::floor(spec.params.beta));
      map(in, out, count, [=](T x) { return std::min(std::max(x, low), high); });
      return true;
    }
    case UnaryOp::logical_not:
      map(in, out, count, [](T x) { return static_cast<T>(x == 0); });
      return true;
    case UnaryOp::negative:
      map(in, out, count, [](T x) { return wrapping_negate(x); });
      return true;
    case UnaryOp::relu:
      map(in, out, count, [](T x) { return std::max(x, T{0}); });
      return true;
    case UnaryOp::sign:
      map(in, out, count, [](T x) { return static_cast<T>((x > 0) - (x < 0)); });
      return true;
    case UnaryOp::square:
      map(in, out, count, [](T x) { return wrapping_multiply(x, x); });
      return true;
    default:
      return false;
  }
}

/// Whether integers take the function's value truncated toward zero, as OpenVINO's reference does; the others
/// take the nearest integer.
bool truncates_integers(UnaryOp op) {
  switch (op) {
    case UnaryOp::acos:
    case UnaryOp::asin:
    case UnaryOp::elu:
    case UnaryOp::exp:
    case UnaryOp::log:
    case UnaryOp::sin:
      return true;
    default:
      return false;
  }
}

/// `value`, already whole, as T: saturated, except that an unsigned type takes a negative value modulo
/// 2^bits.
template <std::integral T>
T to_integer(double value) {
  if constexpr (std::is_unsigned_v<T>) {
    constexpr auto kLowest = static_cast<double>(std::numeric_limits<std::int64_t>::min());
    if (value < 0 && value > kLowest) return static_cast<T>(static_cast<std::int64_t>(value));
  }
  return saturating_truncate<T>(value);
}

}  // namespace

template <class T>
void unary_scalar_span(const UnarySpec& spec, const T* in, T* out, std::size_t count) {
  if constexpr (std::is_integral_v<T>) {
    if (map_exactly(spec, in, out, count)) return;
  }
  const RealFunction function = real_function(spec.op);
  const auto [alpha, beta] = spec.params;
  map(in, out, count, [function, a = alpha, b = beta, truncates = truncates_integers(spec.op)](T x) {
    const double result = function(static_cast<double>(x), a, b);
    if constexpr (std::is_integral_v<T>) {
      return to_integer<T>(truncates ? std::trunc(result) : std::round(result));
    } else {
      return static_cast<T>(result);
    }
  });
}

#define IR_KERNELS_INSTANTIATE(T) \
  template void unary_scalar_span<T>(const UnarySpec&, const T*, T*, std::size_t);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

}  // namespace ir::kernels
