// Element-wise functions of one operand, and activations for the epilogues of other kernels.
#ifndef KERNELS_ELEMENTWISE_UNARY_H_
#define KERNELS_ELEMENTWISE_UNARY_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/scalar_type.h"

namespace ir::kernels {

/// Functions of one operand; `a`, `b` are UnaryParams::alpha and beta. Names follow the OpenVINO operations.
enum class UnaryOp : std::uint8_t {
  abs,
  acos,
  acosh,
  affine,  ///< a * x + b, rounded twice
  asin,
  asinh,
  atan,
  atanh,
  bitwise_not,  ///< integers only
  ceiling,
  clamp,  ///< min(max(x, a), b); integers use ceil(a), floor(b) as limits; NaN stays NaN
  cos,
  cosh,
  elu,  ///< x > 0 ? x : a * (exp(x) - 1)
  erf,
  erfinv,  ///< the y of erf(y) = x: infinite at 1 and -1, NaN beyond
  exp,
  floor,
  gelu_erf,      ///< x / 2 * (1 + erf(x / sqrt(2)))
  gelu_tanh,     ///< x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
  hard_sigmoid,  ///< min(1, max(0, a * x + b))
  hsigmoid,      ///< min(max(x + 3, 0), 6) / 6
  hswish,        ///< x * hsigmoid(x)
  leaky_relu,    ///< x >= 0 ? x : a * x
  log,
  logical_not,  ///< 1 where x is zero, else 0
  mish,         ///< x * tanh(softplus(x))
  negative,
  reciprocal,       ///< 1 / x
  reciprocal_sqrt,  ///< 1 / sqrt(x)
  relu,
  round_half_away_from_zero,
  round_half_to_even,
  selu,  ///< b * (x > 0 ? x : a * (exp(x) - 1))
  sigmoid,
  sign,
  sin,
  sinh,
  softplus,  ///< log(1 + exp(x)), without overflow
  softsign,  ///< x / (1 + |x|)
  sqrt,
  square,
  swish,  ///< x * sigmoid(a * x); a = 1 is the default of Swish-4, to be given explicitly
  tan,
  tanh,
};

struct UnaryParams {
  double alpha = 0;
  double beta = 0;
};

/// A function with its parameters, as epilogues carry it.
struct UnarySpec {
  UnaryOp op = UnaryOp::relu;
  UnaryParams params;
};

/// out[i] = op(in[i]), in parallel; `in == out` is allowed, other overlap is not. T: float, double,
/// int8..int64, uint8..uint64.
///
/// float: error below 3 ULP; where a function cancels or leaves the range of normal floats (affine,
/// hard_sigmoid and hswish near their zeros, gelu, mish and swish for x << 0, sigmoid below -88) it is
/// absolute, below 2e-7 * max(1, |x|) for parameters up to 1. NaN gives NaN in all functions but logical_not.
/// double: the accuracy of <cmath>.
/// Integers: abs, negative, relu, sign, clamp, square, bitwise and logical functions are exact modulo 2^bits
/// (so that abs(INT_MIN) is INT_MIN); rounding functions are the identity; every other function is computed
/// in double and, as in OpenVINO's reference, truncated (acos, asin, elu, exp, log, sin) or rounded half away
/// from zero (the others); saturated, but negative values of unsigned types wrap. NaN gives 0.
template <class T>
void unary(UnaryOp op, const UnaryParams& params, const T* in, T* out, std::size_t count);

/// Elementary operations per element of float, roughly: what sizes of parallel chunks are derived from.
std::size_t cost_of(UnaryOp op);

/// unary<float> on the calling thread: for pieces of data inside of other kernels.
void unary_span(const UnarySpec& spec, const float* in, float* out, std::size_t count);

/// Kinds of float that IsNaN-10, IsInf-10 and IsFinite-10 look for.
enum class FloatClass : std::uint8_t { nan, infinite, positive_infinite, negative_infinite, finite };

/// out[i] = 1 where in[i] belongs to the class, else 0; in parallel. T: float, double.
template <class T>
void classify(FloatClass wanted, const T* in, std::uint8_t* out, std::size_t count);

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define IR_KERNELS_DECLARE(T) \
  extern template void unary<T>(UnaryOp, const UnaryParams&, const T*, T*, std::size_t);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_DECLARE)
#undef IR_KERNELS_DECLARE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_UNARY_H_
