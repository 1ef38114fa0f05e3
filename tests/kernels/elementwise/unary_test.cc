#include "kernels/elementwise/unary.h"

#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/base/inverse_erf.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::FloatClass;
using ir::kernels::UnaryOp;
using ir::kernels::UnaryParams;
using ir::test::GuardedBuffer;

struct Case {
  UnaryOp op;
  UnaryParams params;
  double low;
  double high;
  double (*exact)(double x, double a, double b);
};

double relu6(double x) { return std::fmin(std::fmax(x, 0), 6); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The definitions of the operations' specifications, as they stand there.
const Case kCases[] = {
    {UnaryOp::abs, {}, -5, 5, [](double x, double, double) { return std::fabs(x); }},
    {UnaryOp::acos, {}, -1, 1, [](double x, double, double) { return std::acos(x); }},
    {UnaryOp::acosh, {}, 1, 50, [](double x, double, double) { return std::acosh(x); }},
    {UnaryOp::affine, {1.5, -0.25}, -5, 5, [](double x, double a, double b) { return a * x + b; }},
    {UnaryOp::asin, {}, -1, 1, [](double x, double, double) { return std::asin(x); }},
    {UnaryOp::asinh, {}, -50, 50, [](double x, double, double) { return std::asinh(x); }},
    {UnaryOp::atan, {}, -50, 50, [](double x, double, double) { return std::atan(x); }},
    {UnaryOp::atanh, {}, -0.99, 0.99, [](double x, double, double) { return std::atanh(x); }},
    {UnaryOp::ceiling, {}, -9, 9, [](double x, double, double) { return std::ceil(x); }},
    {UnaryOp::clamp,
     {-1.5, 2.25},
     -5,
     5,
     [](double x, double a, double b) { return std::fmin(std::fmax(x, a), b); }},
    {UnaryOp::cos, {}, -50, 50, [](double x, double, double) { return std::cos(x); }},
    {UnaryOp::cosh, {}, -9, 9, [](double x, double, double) { return std::cosh(x); }},
    {UnaryOp::elu,
     {0.7, 0},
     -9,
     9,
     [](double x, double a, double) { return x > 0 ? x : a * (std::exp(x) - 1); }},
    {UnaryOp::erf, {}, -4, 4, [](double x, double, double) { return std::erf(x); }},
    {UnaryOp::erfinv, {}, -0.9999, 0.9999, [](double x, double, double) { return ir::test::inverse_erf(x); }},
    {UnaryOp::exp, {}, -20, 20, [](double x, double, double) { return std::exp(x); }},
    {UnaryOp::floor, {}, -9, 9, [](double x, double, double) { return std::floor(x); }},
    {UnaryOp::gelu_erf,
     {},
     -6,
     6,
     [](double x, double, double) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; }},
    {UnaryOp::gelu_tanh,
     {},
     -6,
     6,
     [](double x, double, double) {
       return x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979324) * (x + 0.044715 * x * x * x))) / 2;
     }},
    {UnaryOp::hard_sigmoid,
     {0.2, 0.5},
     -5,
     5,
     [](double x, double a, double b) { return std::fmax(0, std::fmin(1, a * x + b)); }},
    {UnaryOp::hsigmoid, {}, -5, 5, [](double x, double, double) { return relu6(x + 3) / 6; }},
    {UnaryOp::hswish, {}, -5, 5, [](double x, double, double) { return x * relu6(x + 3) / 6; }},
    {UnaryOp::leaky_relu, {0.1, 0}, -5, 5, [](double x, double a, double) { return x < 0 ? a * x : x; }},
    {UnaryOp::log, {}, 1e-3, 50, [](double x, double, double) { return std::log(x); }},
    {UnaryOp::logical_not, {}, -1, 1, [](double x, double, double) { return x == 0 ? 1.0 : 0.0; }},
    {UnaryOp::mish,
     {},
     -20,
     30,
     [](double x, double, double) { return x * std::tanh(std::log(1 + std::exp(x))); }},
    {UnaryOp::negative, {}, -5, 5, [](double x, double, double) { return -x; }},
    {UnaryOp::reciprocal, {}, 0.1, 5, [](double x, double, double) { return 1 / x; }},
    {UnaryOp::reciprocal_sqrt, {}, 0.1, 5, [](double x, double, double) { return 1 / std::sqrt(x); }},
    {UnaryOp::relu, {}, -5, 5, [](double x, double, double) { return std::fmax(x, 0); }},
    {UnaryOp::round_half_away_from_zero, {}, -9, 9, [](double x, double, double) { return std::round(x); }},
    {UnaryOp::round_half_to_even, {}, -9, 9, [](double x, double, double) { return std::nearbyint(x); }},
    {UnaryOp::selu,
     {1.67, 1.05},
     -9,
     9,
     [](double x, double a, double b) { return b * (x > 0 ? x : a * (std::exp(x) - 1)); }},
    {UnaryOp::sigmoid, {}, -20, 20, [](double x, double, double) { return sigmoid(x); }},
    {UnaryOp::sign, {}, -5, 5, [](double x, double, double) { return x > 0   ? 1.0
                                                                     : x < 0 ? -1.0
                                                                             : 0.0; }},
    {UnaryOp::sin, {}, -50, 50, [](double x, double, double) { return std::sin(x); }},
    {UnaryOp::sinh, {}, -9, 9, [](double x, double, double) { return std::sinh(x); }},
    {UnaryOp::softplus, {}, -20, 20, [](double x, double, double) { return std::log(1 + std::exp(x)); }},
    {UnaryOp::softsign, {}, -5, 5, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {UnaryOp::sqrt, {}, 0, 50, [](double x, double, double) { return std::sqrt(x); }},
    {UnaryOp::square, {}, -5, 5, [](double x, double, double) { return x * x; }},
    {UnaryOp::swish, {0.8, 0}, -9, 9, [](double x, double a, double) { return x * sigmoid(a * x); }},
    {UnaryOp::tan, {}, -1.5, 1.5, [](double x, double, double) { return std::tan(x); }},
    {UnaryOp::tanh, {}, -9, 9, [](double x, double, double) { return std::tanh(x); }},
};

}  // namespace

TEST_CASE("unary f32 functions follow their definitions at any size and alignment") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : kCases) {
    INFO("op " << static_cast<int>(c.op));
    for (const std::size_t count : ir::test::sizes_around_lanes(70)) {
      GuardedBuffer<float> in(count, count % 3);
      GuardedBuffer<float> out(count, count % 5);
      ir::test::fill_random(in, c.low, c.high, static_cast<std::uint32_t>(count));
      ir::kernels::unary(c.op, c.params, in.data(), out.data(), count);
      bool all_close = true;
      for (std::size_t i = 0; i < count; ++i) {
        const double exact = c.exact(static_cast<double>(in[i]), c.params.alpha, c.params.beta);
        all_close = all_close && ir::test::close(static_cast<double>(out[i]), exact, 4e-7, 1e-6);
      }
      CHECK(all_close);
      CHECK(in.guards_intact());
      CHECK(out.guards_intact());
      ir::kernels::unary_span({c.op, c.params}, in.data(), in.data(), count);
      CHECK(std::equal(in.begin(), in.end(), out.begin()));
    }
  }
}

TEST_CASE("unary f64 functions follow their definitions") {
  for (const Case& c : kCases) {
    INFO("op " << static_cast<int>(c.op));
    std::vector<double> in(37);
    ir::test::fill_random(in, c.low, c.high, 3);
    std::vector<double> out(in.size());
    ir::kernels::unary(c.op, c.params, in.data(), out.data(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      CHECK(ir::test::close(out[i], c.exact(in[i], c.params.alpha, c.params.beta), 1e-12, 1e-13));
    }
  }
}

TEST_CASE("erfinv of doubles is exact up to the ends, where it is infinite") {
  const double last = std::nextafter(1.0, 0.0);
  const std::vector<double> in{0.0,          -0.0, 5e-324, -1e-300, 1e-9, 0.4999999, 0.5,
                               -0.999999999, last, 1.0,    -1.0,    1.5,  -1e300,    std::nan("")};
  std::vector<double> out(in.size());
  ir::kernels::unary(UnaryOp::erfinv, {}, in.data(), out.data(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    INFO("erfinv(" << in[i] << ") is " << out[i]);
    CHECK(ir::test::close(out[i], ir::test::inverse_erf(in[i]), 1e-15, 0));
    CHECK((std::isnan(out[i]) || std::signbit(out[i]) == std::signbit(in[i])));
  }
  CHECK(std::erfc(out[8]) == Approx(1 - last).epsilon(1e-13));
}

TEST_CASE("rounding takes halves to even or away from zero, for every size of float") {
  IR_FOR_EACH_TARGET();
  std::vector<float> in{0.5F,        1.5F,         2.5F,  -0.5F, -1.5F,      -2.5F,
                        0.49999997F, -0.49999997F, 0.0F,  -0.0F, 4194304.5F, 4194305.5F,
                        8388609.0F,  -8388609.0F,  1e10F, -1e30F};
  for (int i = 0; i < 200; ++i) in.push_back(static_cast<float>(std::ldexp(1.0 + i / 128.0, i % 26 - 1)));
  std::vector<float> out(in.size());
  ir::kernels::unary(UnaryOp::round_half_to_even, {}, in.data(), out.data(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == std::nearbyint(in[i]));
  ir::kernels::unary(UnaryOp::round_half_away_from_zero, {}, in.data(), out.data(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == std::round(in[i]));
}

TEMPLATE_TEST_CASE("integer functions are exact and wrap", "", std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  constexpr bool kSigned = std::is_signed_v<T>;
  const auto value = [](UnaryOp op, T x, UnaryParams params = {}) {
    T result = 0;
    ir::kernels::unary(op, params, &x, &result, 1);
    return result;
  };
  const T minus_three = static_cast<T>(-3);
  CHECK(value(UnaryOp::abs, minus_three) == (kSigned ? T{3} : minus_three));
  CHECK(value(UnaryOp::abs, Limits::min()) == Limits::min());
  CHECK(value(UnaryOp::negative, T{3}) == minus_three);
  CHECK(value(UnaryOp::negative, Limits::min()) == Limits::min());
  CHECK(value(UnaryOp::relu, minus_three) == (kSigned ? T{0} : minus_three));
  CHECK(value(UnaryOp::sign, minus_three) == static_cast<T>(kSigned ? -1 : 1));
  CHECK(value(UnaryOp::sign, T{0}) == 0);
  CHECK(value(UnaryOp::bitwise_not, T{5}) == static_cast<T>(~T{5}));
  CHECK(value(UnaryOp::logical_not, T{0}) == 1);
  CHECK(value(UnaryOp::logical_not, T{7}) == 0);
  CHECK(value(UnaryOp::square, T{11}) == T{121});
  CHECK(value(UnaryOp::square, Limits::max()) == 1);  // (2^n - 1)^2 modulo a power of two
  CHECK(value(UnaryOp::floor, T{5}) == 5);
  CHECK(value(UnaryOp::ceiling, T{5}) == 5);
  // Clamp-1: integers take ceil(min) and floor(max).
  CHECK(value(UnaryOp::clamp, T{0}, {1.2, 3.8}) == 2);
  CHECK(value(UnaryOp::clamp, T{9}, {1.2, 3.8}) == 3);
  CHECK(value(UnaryOp::clamp, T{9}, {-1e30, 1e30}) == 9);
  CHECK(value(UnaryOp::sqrt, T{26}) == 5);
  CHECK(value(UnaryOp::sqrt, T{31}) == 6);
  CHECK(value(UnaryOp::exp, T{2}) == 7);
  CHECK(value(UnaryOp::exp, T{100}) == Limits::max());
  CHECK(value(UnaryOp::log, T{0}) == (kSigned ? Limits::min() : T{0}));
  CHECK(value(UnaryOp::exp, T{1}) == 2);  // 2.718 truncated, as acos, asin, elu, log and sin
  CHECK(value(UnaryOp::log, T{100}) == 4);
  CHECK(value(UnaryOp::acos, T{0}) == 1);
  CHECK(value(UnaryOp::sinh, T{2}) == 4);                  // 3.627 rounded
  CHECK(value(UnaryOp::cos, T{3}) == static_cast<T>(-1));  // -0.99, modulo 2^bits
  CHECK(value(UnaryOp::tan, T{2}) == static_cast<T>(-2));
}

TEST_CASE("every byte but 0 is true to logical_not, at any size") {
  IR_FOR_EACH_TARGET();
  for (std::size_t count = 0; count < 150; ++count) {
    GuardedBuffer<std::uint8_t> in(count, 1);
    GuardedBuffer<std::uint8_t> out(count, 3);
    for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<std::uint8_t>(i % 3 == 0 ? 0 : i * 37 + 1);
    ir::kernels::unary(UnaryOp::logical_not, {}, in.data(), out.data(), count);
    bool all_right = true;
    for (std::size_t i = 0; i < count; ++i) all_right = all_right && out[i] == (in[i] == 0 ? 1 : 0);
    CHECK(all_right);
    CHECK(out.guards_intact());
  }
}

TEST_CASE("float classes are told apart") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> in{0.0F,   -1.5F, kInf, -kInf, std::numeric_limits<float>::quiet_NaN(),
                              1e-42F, 3e38F};
  const auto found = [&](FloatClass wanted) {
    std::vector<std::uint8_t> out(in.size(), 7);
    ir::kernels::classify(wanted, in.data(), out.data(), in.size());
    const std::vector<double> doubles(in.begin(), in.end());
    std::vector<std::uint8_t> out_of_doubles(in.size(), 7);
    ir::kernels::classify(wanted, doubles.data(), out_of_doubles.data(), in.size());
    CHECK(out == out_of_doubles);
    return out;
  };
  using Bytes = std::vector<std::uint8_t>;
  CHECK(found(FloatClass::nan) == Bytes{0, 0, 0, 0, 1, 0, 0});
  CHECK(found(FloatClass::infinite) == Bytes{0, 0, 1, 1, 0, 0, 0});
  CHECK(found(FloatClass::positive_infinite) == Bytes{0, 0, 1, 0, 0, 0, 0});
  CHECK(found(FloatClass::negative_infinite) == Bytes{0, 0, 0, 1, 0, 0, 0});
  CHECK(found(FloatClass::finite) == Bytes{1, 1, 0, 0, 0, 1, 1});
}

TEST_CASE("unary results do not depend on the number of threads") {
  std::vector<float> in(100003);
  ir::test::fill_random(in, -9, 9, 1);
  std::vector<float> one(in.size());
  std::vector<float> two(in.size());
  ir::kernels::ThreadPool(1).run(
      [&] { ir::kernels::unary(UnaryOp::mish, {}, in.data(), one.data(), in.size()); });
  ir::kernels::ThreadPool(2).run(
      [&] { ir::kernels::unary(UnaryOp::mish, {}, in.data(), two.data(), in.size()); });
  CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
}
