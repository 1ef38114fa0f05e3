// Accuracy of the elementary functions, through the unary kernels that are nothing but these.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/elementwise/unary.h"
#include "tests/kernels/base/inverse_erf.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::UnaryOp;

/// Distance between floats at the magnitude of `value`.
double ulp(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

struct Function {
  const char* name;
  UnaryOp op;
  double alpha;
  double (*exact)(double);
  double max_ulp;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double identity_or_expm1(double x) { return x > 0 ? x : std::expm1(x); }

const Function kFunctions[] = {
    {"exp", UnaryOp::exp, 0, [](double x) { return std::exp(x); }, 1.1},
    {"elu", UnaryOp::elu, 1, identity_or_expm1, 1.1},
    {"tanh", UnaryOp::tanh, 0, [](double x) { return std::tanh(x); }, 2.9},
    {"sigmoid", UnaryOp::sigmoid, 0, sigmoid, 2.3},
    {"erf", UnaryOp::erf, 0, [](double x) { return std::erf(x); }, 2.6},
    {"erfinv", UnaryOp::erfinv, 0, ir::test::inverse_erf, 2.7},
    {"log", UnaryOp::log, 0, [](double x) { return std::log(x); }, 1.1},
    {"softplus", UnaryOp::softplus, 0, softplus, 2.7},
    {"sqrt", UnaryOp::sqrt, 0, [](double x) { return std::sqrt(x); }, 0.5},
    {"sin", UnaryOp::sin, 0, [](double x) { return std::sin(x); }, 2.2},
    {"cos", UnaryOp::cos, 0, [](double x) { return std::cos(x); }, 2.4},
    {"softsign", UnaryOp::softsign, 0, [](double x) { return x / (1 + std::abs(x)); }, 1.6},
};

}  // namespace

TEST_CASE("elementary functions stay within their stated ULP over all of f32") {
  IR_FOR_EACH_TARGET();
  constexpr std::uint64_t kStep = 14563;  // odd, so that all low bits occur
  for (const Function& function : kFunctions) {
    INFO(function.name);
    std::vector<float> in;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += kStep) {
      in.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    std::vector<float> out(in.size());
    ir::kernels::unary_span({function.op, {function.alpha, 0}}, in.data(), out.data(), in.size());
    double worst = 0;
    float worst_at = 0;
    std::size_t wrong_specials = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double exact = function.exact(static_cast<double>(in[i]));
      const auto rounded = static_cast<float>(exact);
      if (std::isnan(exact) || std::isinf(rounded)) {
        wrong_specials += std::isnan(exact) ? !std::isnan(out[i]) : out[i] != rounded;
        continue;
      }
      // sigmoid is flushed to 0 where e^-x overflows.
      if (std::abs(exact) < static_cast<double>(std::numeric_limits<float>::min()) && out[i] == 0) continue;
      const double error = std::abs(static_cast<double>(out[i]) - exact) / ulp(exact);
      if (!(error <= worst)) {
        worst = error;
        worst_at = in[i];
      }
    }
    INFO("largest error " << worst << " ULP at " << worst_at);
    CHECK(worst <= function.max_ulp);
    CHECK(wrong_specials == 0);
  }
}

TEST_CASE("elementary functions at infinities, zeros and NaN") {
  IR_FOR_EACH_TARGET();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const auto value = [](UnaryOp op, float x) {
    float result = 0;
    ir::kernels::unary_span({op, {1, 1}}, &x, &result, 1);
    return result;
  };
  CHECK(value(UnaryOp::exp, -kInf) == 0);
  CHECK(value(UnaryOp::exp, kInf) == kInf);
  CHECK(value(UnaryOp::exp, 88.72283F) < kInf);
  CHECK(value(UnaryOp::exp, 88.72284F) == kInf);
  CHECK(value(UnaryOp::exp, 0.0F) == 1.0F);
  CHECK(value(UnaryOp::tanh, kInf) == 1.0F);
  CHECK(value(UnaryOp::tanh, -kInf) == -1.0F);
  CHECK(std::signbit(value(UnaryOp::tanh, -0.0F)));
  CHECK(value(UnaryOp::erf, kInf) == 1.0F);
  CHECK(value(UnaryOp::erf, -kInf) == -1.0F);
  CHECK(value(UnaryOp::erfinv, 1.0F) == kInf);
  CHECK(value(UnaryOp::erfinv, -1.0F) == -kInf);
  CHECK(std::isnan(value(UnaryOp::erfinv, 0x1.000002p0F)));
  CHECK(std::isnan(value(UnaryOp::erfinv, -kInf)));
  CHECK(value(UnaryOp::erfinv, 0x1.fffffep-1F) < 3.9F);
  CHECK(std::signbit(value(UnaryOp::erfinv, -0.0F)));
  CHECK(value(UnaryOp::gelu_erf, kInf) == kInf);
  CHECK(value(UnaryOp::gelu_erf, 100.0F) == 100.0F);
  CHECK(value(UnaryOp::gelu_erf, -100.0F) == 0.0F);
  CHECK(value(UnaryOp::sigmoid, kInf) == 1.0F);
  CHECK(value(UnaryOp::sigmoid, -kInf) == 0.0F);
  CHECK(value(UnaryOp::swish, kInf) == kInf);
  CHECK(value(UnaryOp::swish, 1e30F) == 1e30F);
  CHECK(value(UnaryOp::swish, -100.0F) == 0.0F);
  CHECK(value(UnaryOp::swish, -1e30F) == 0.0F);
  CHECK(value(UnaryOp::log, 0.0F) == -kInf);
  CHECK(value(UnaryOp::log, -0.0F) == -kInf);
  CHECK(value(UnaryOp::log, kInf) == kInf);
  CHECK(std::isnan(value(UnaryOp::log, -1.0F)));
  CHECK(value(UnaryOp::softplus, kInf) == kInf);
  CHECK(value(UnaryOp::softplus, -kInf) == 0.0F);
  for (const UnaryOp op : {UnaryOp::abs,
                           UnaryOp::ceiling,
                           UnaryOp::clamp,
                           UnaryOp::elu,
                           UnaryOp::erf,
                           UnaryOp::erfinv,
                           UnaryOp::exp,
                           UnaryOp::floor,
                           UnaryOp::gelu_erf,
                           UnaryOp::gelu_tanh,
                           UnaryOp::hard_sigmoid,
                           UnaryOp::hsigmoid,
                           UnaryOp::hswish,
                           UnaryOp::leaky_relu,
                           UnaryOp::log,
                           UnaryOp::mish,
                           UnaryOp::relu,
                           UnaryOp::round_half_away_from_zero,
                           UnaryOp::round_half_to_even,
                           UnaryOp::selu,
                           UnaryOp::sigmoid,
                           UnaryOp::sign,
                           UnaryOp::softplus,
                           UnaryOp::softsign,
                           UnaryOp::swish,
                           UnaryOp::tanh,
                           UnaryOp::cos}) {
    INFO("op " << static_cast<int>(op));
    CHECK(std::isnan(value(op, kNaN)));
  }
}
