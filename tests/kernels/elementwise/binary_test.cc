#include "kernels/elementwise/binary.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/base/broadcast_reference.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::BinaryOp;
using ir::kernels::BroadcastPlan;
using ir::kernels::CompareOp;
using ir::test::GuardedBuffer;

struct Case {
  BinaryOp op;
  double (*exact)(double a, double b);
};

const Case kCases[] = {
    {BinaryOp::add, [](double a, double b) { return a + b; }},
    {BinaryOp::atan2, [](double a, double b) { return std::atan2(a, b); }},
    {BinaryOp::divide, [](double a, double b) { return a / b; }},
    {BinaryOp::floor_mod, [](double a, double b) { return a - b * std::floor(a / b); }},
    {BinaryOp::logical_and, [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
    {BinaryOp::logical_or, [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
    {BinaryOp::logical_xor, [](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }},
    {BinaryOp::maximum, [](double a, double b) { return std::fmax(a, b); }},
    {BinaryOp::minimum, [](double a, double b) { return std::fmin(a, b); }},
    {BinaryOp::mod, [](double a, double b) { return a - b * std::trunc(a / b); }},
    {BinaryOp::multiply, [](double a, double b) { return a * b; }},
    {BinaryOp::power, [](double a, double b) { return std::pow(a, b); }},
    {BinaryOp::prelu, [](double a, double b) { return a < 0 ? a * b : a; }},
    {BinaryOp::squared_difference, [](double a, double b) { return (a - b) * (a - b); }},
    {BinaryOp::subtract, [](double a, double b) { return a - b; }},
};

const CompareOp kCompares[] = {CompareOp::equal,      CompareOp::greater, CompareOp::greater_equal,
                               CompareOp::less_equal, CompareOp::less,    CompareOp::not_equal};

bool holds(CompareOp op, double a, double b) {
  switch (op) {
    case CompareOp::equal:
      return a == b;
    case CompareOp::greater:
      return a > b;
    case CompareOp::greater_equal:
      return a >= b;
    case CompareOp::less:
      return a < b;
    case CompareOp::less_equal:
      return a <= b;
    case CompareOp::not_equal:
      break;
  }
  return a != b;
}

/// Values on a coarse grid: mod and comparisons then meet exact hits, and double and T agree on the
/// quotient's floor.
template <class T>
void fill(GuardedBuffer<T>& values, std::uint32_t seed) {
  std::mt19937 generator(seed);
  for (T& value : values) {
    const int grid = static_cast<int>(generator() % 33) - (std::is_unsigned_v<T> ? 0 : 16);
    value = std::is_integral_v<T> ? static_cast<T>(grid) : static_cast<T>(grid) / T{4};
  }
}

template <class T>
T value_of(BinaryOp op, T a, T b) {
  T result{};
  ir::kernels::binary(op, BroadcastPlan({}, {{}, {}}), &a, &b, &result);
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("binary functions follow their definitions under broadcasting", "", float, double) {
  IR_FOR_EACH_TARGET();
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    const BroadcastPlan plan(shapes.output, {shapes.a, shapes.b});
    GuardedBuffer<TestType> a(ir::test::count_of(shapes.a), 1);
    GuardedBuffer<TestType> b(ir::test::count_of(shapes.b), 3);
    GuardedBuffer<TestType> out(ir::test::count_of(shapes.output), 2);
    fill(a, 1);
    fill(b, 2);
    for (const Case& c : kCases) {
      INFO("op " << static_cast<int>(c.op));
      ir::kernels::binary(c.op, plan, a.data(), b.data(), out.data());
      bool all_close = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto x = static_cast<double>(a[ir::test::operand_index(shapes.output, shapes.a, i)]);
        const auto y = static_cast<double>(b[ir::test::operand_index(shapes.output, shapes.b, i)]);
        all_close = all_close && ir::test::close(static_cast<double>(out[i]), c.exact(x, y), 1e-6, 1e-9);
      }
      CHECK(all_close);
      CHECK(out.guards_intact());
      if (plan.is_full(0)) {
        GuardedBuffer<TestType> in_place(a.size(), 1);
        std::copy(a.begin(), a.end(), in_place.begin());
        ir::kernels::binary(c.op, plan, in_place.data(), b.data(), in_place.data());
        CHECK(std::memcmp(in_place.data(), out.data(), out.size() * sizeof(TestType)) == 0);
      }
    }
  }
}

TEST_CASE("binary functions of runs of any length are those of their elements") {
  IR_FOR_EACH_TARGET();
  for (std::size_t length = 1; length <= 300; ++length) {
    INFO("runs of " << length);
    for (const auto& shapes : ir::test::shapes_of_runs(length)) {
      const BroadcastPlan plan(shapes.output, {shapes.a, shapes.b});
      GuardedBuffer<float> a(ir::test::count_of(shapes.a), 1);
      GuardedBuffer<float> b(ir::test::count_of(shapes.b), 3);
      GuardedBuffer<float> out(ir::test::count_of(shapes.output), 2);
      ir::test::fill_random(a, -3, 3, 1);
      ir::test::fill_random(b, -3, 3, 2);
      ir::kernels::binary(BinaryOp::subtract, plan, a.data(), b.data(), out.data());
      bool all_equal = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const float x = a[ir::test::operand_index(shapes.output, shapes.a, i)];
        const float y = b[ir::test::operand_index(shapes.output, shapes.b, i)];
        all_equal = all_equal && out[i] == x - y;
      }
      CHECK(all_equal);
      CHECK(out.guards_intact());
      if (!plan.is_full(0)) continue;
      ir::kernels::binary(BinaryOp::subtract, plan, a.data(), b.data(), a.data());
      CHECK(std::equal(a.begin(), a.end(), out.begin()));
    }
  }
}

TEMPLATE_TEST_CASE("comparisons follow C++ under broadcasting", "", float, double, std::int8_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint16_t, std::uint64_t) {
  IR_FOR_EACH_TARGET();
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    const BroadcastPlan plan(shapes.output, {shapes.a, shapes.b});
    GuardedBuffer<TestType> a(ir::test::count_of(shapes.a), 1);
    GuardedBuffer<TestType> b(ir::test::count_of(shapes.b), 3);
    GuardedBuffer<std::uint8_t> out(ir::test::count_of(shapes.output), 1);
    fill(a, 1);
    fill(b, 2);
    for (const CompareOp op : kCompares) {
      ir::kernels::compare(op, plan, a.data(), b.data(), out.data());
      bool all_equal = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto x = static_cast<double>(a[ir::test::operand_index(shapes.output, shapes.a, i)]);
        const auto y = static_cast<double>(b[ir::test::operand_index(shapes.output, shapes.b, i)]);
        all_equal = all_equal && out[i] == (holds(op, x, y) ? 1 : 0);
      }
      CHECK(all_equal);
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("NaN: only not_equal holds, maximum and minimum give the second operand") {
  IR_FOR_EACH_TARGET();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const BroadcastPlan plan({}, {{}, {}});
  for (const CompareOp op : kCompares) {
    const float one = 1;
    std::uint8_t result = 7;
    ir::kernels::compare(op, plan, &nan, &one, &result);
    CHECK(result == (op == CompareOp::not_equal ? 1 : 0));
  }
  for (const BinaryOp op : {BinaryOp::maximum, BinaryOp::minimum}) {
    CHECK(value_of(op, nan, 2.0F) == 2.0F);
    CHECK(std::isnan(value_of(op, 2.0F, nan)));
  }
}

TEST_CASE("the remainder of floats is exact") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values{0.0F,       -0.0F,      1.0F,          -1.0F, 0.1F,   0.3F,  3.0F,
                            -7.5F,      1e-40F,     1e-38F,        3e38F, -3e38F, 1e10F, 16777216.0F,
                            0.9999999F, 1.0000001F, 5.9604645e-8F, inf,   -inf,   nan};
  // Quotients next to whole numbers, which are rounded to them.
  std::vector<float> multiples;
  ir::test::GuardedBuffer<float> random(2000, 1);
  ir::test::fill_random(random, -20, 20, 5);
  for (std::size_t i = 0; i + 1 < random.size(); ++i) {
    const float whole = std::round(random[i] * 1000.0F);
    multiples.insert(multiples.end(), {random[i], whole * random[i], std::nextafter(whole * random[i], inf)});
  }
  const auto check = [](float x, float y) {
    const float result = value_of(BinaryOp::mod, x, y);
    const float expected = std::fmod(x, y);
    const bool same = std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(expected);
    if (!same && !(std::isnan(result) && std::isnan(expected)))
      FAIL(x << " mod " << y << " is not " << result);
  };
  for (const float x : values) {
    for (const float y : values) check(x, y);
  }
  for (std::size_t i = 0; i + 3 < multiples.size(); i += 3) {
    check(multiples[i + 1], multiples[i]);
    check(multiples[i + 2], multiples[i]);
    check(multiples[i + 3], multiples[i]);
  }
}

TEST_CASE("remainders of many floats are those of single ones") {
  IR_FOR_EACH_TARGET();
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::size_t count = 1003;
  ir::test::GuardedBuffer<float> a(count, 1);
  ir::test::GuardedBuffer<float> b(count, 1);
  ir::test::GuardedBuffer<float> out(count, 1);
  ir::test::fill_random(a, -1000, 1000, 3);
  ir::test::fill_random(b, -3, 3, 4);
  const std::vector<float> odd{0.0F, -0.0F, 1e-40F, -3e38F, 1e10F, inf, -inf, nan, 0.1F, -7.5F};
  // Far from each other, so that most of them have ordinary neighbours.
  for (std::size_t i = 0; i < odd.size(); ++i) {
    for (std::size_t k = 0; k < odd.size(); ++k) {
      const std::size_t at = (i * odd.size() + k) * 10 + i % 7;
      a[at] = odd[i];
      b[at] = odd[k];
    }
  }
  const std::vector<std::size_t> shape{count};
  const BroadcastPlan plan(shape, {shape, shape});
  for (const BinaryOp op : {BinaryOp::mod, BinaryOp::floor_mod}) {
    ir::kernels::binary(op, plan, a.data(), b.data(), out.data());
    for (std::size_t i = 0; i < count; ++i) {
      float expected = std::fmod(a[i], b[i]);
      if (op == BinaryOp::floor_mod && expected != 0 && (expected < 0) != (b[i] < 0)) expected += b[i];
      const bool same = std::bit_cast<std::uint32_t>(out[i]) == std::bit_cast<std::uint32_t>(expected);
      if (!same && !(std::isnan(out[i]) && std::isnan(expected)))
        FAIL(a[i] << " mod " << b[i] << " is not " << out[i]);
    }
    CHECK(out.guards_intact());
  }
}

TEMPLATE_TEST_CASE("integer functions wrap and never trap", "", std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  constexpr T kMin = Limits::min();
  constexpr T kMax = Limits::max();
  CHECK(value_of<T>(BinaryOp::add, kMax, 1) == kMin);
  CHECK(value_of<T>(BinaryOp::subtract, kMin, 1) == kMax);
  CHECK(value_of<T>(BinaryOp::multiply, kMax, kMax) == 1);
  CHECK(value_of<T>(BinaryOp::squared_difference, 3, 14) == 121);
  for (const BinaryOp op : {BinaryOp::divide, BinaryOp::floor_divide, BinaryOp::mod, BinaryOp::floor_mod}) {
    CHECK(value_of<T>(op, 5, 0) == 0);
  }
  CHECK(value_of<T>(BinaryOp::power, 3, 4) == 81);
  CHECK(value_of<T>(BinaryOp::power, 0, 0) == 1);
  CHECK(value_of<T>(BinaryOp::power, 2, sizeof(T) * 8) == 0);
  CHECK(value_of<T>(BinaryOp::bitwise_left_shift, 3, 2) == 12);
  CHECK(value_of<T>(BinaryOp::bitwise_left_shift, 3, sizeof(T) * 8) == 0);
  CHECK(value_of<T>(BinaryOp::bitwise_right_shift, 13, 2) == 3);
  CHECK(value_of<T>(BinaryOp::bitwise_right_shift, 13, sizeof(T) * 8) == 0);
  CHECK(value_of<T>(BinaryOp::bitwise_and, 12, 10) == 8);
  CHECK(value_of<T>(BinaryOp::bitwise_or, 12, 10) == 14);
  CHECK(value_of<T>(BinaryOp::bitwise_xor, 12, 10) == 6);
  CHECK(value_of<T>(BinaryOp::logical_and, 2, 4) == 1);
  CHECK(value_of<T>(BinaryOp::logical_xor, 2, 4) == 0);
  CHECK(value_of<T>(BinaryOp::maximum, 2, kMax) == kMax);
  if constexpr (std::is_signed_v<T>) {
    CHECK(value_of<T>(BinaryOp::divide, kMin, -1) == kMin);
    CHECK(value_of<T>(BinaryOp::floor_divide, kMin, -1) == kMin);
    CHECK(value_of<T>(BinaryOp::mod, kMin, -1) == 0);
    CHECK(value_of<T>(BinaryOp::divide, -7, 2) == -3);
    CHECK(value_of<T>(BinaryOp::floor_divide, -7, 2) == -4);
    CHECK(value_of<T>(BinaryOp::floor_divide, 7, -2) == -4);
    CHECK(value_of<T>(BinaryOp::floor_divide, -8, 2) == -4);
    CHECK(value_of<T>(BinaryOp::mod, -7, 3) == -1);
    CHECK(value_of<T>(BinaryOp::mod, 7, -3) == 1);
    CHECK(value_of<T>(BinaryOp::floor_mod, -7, 3) == 2);
    CHECK(value_of<T>(BinaryOp::floor_mod, 7, -3) == -2);
    CHECK(value_of<T>(BinaryOp::power, -1, -3) == -1);
    CHECK(value_of<T>(BinaryOp::power, -1, -2) == 1);
    CHECK(value_of<T>(BinaryOp::power, 2, -1) == 0);
    CHECK(value_of<T>(BinaryOp::bitwise_right_shift, -8, 1) == -4);
    CHECK(value_of<T>(BinaryOp::bitwise_right_shift, -8, 100) == -1);
    CHECK(value_of<T>(BinaryOp::bitwise_left_shift, 1, -1) == 0);
    CHECK(value_of<T>(BinaryOp::prelu, -3, 4) == -12);
  }
}

TEMPLATE_TEST_CASE("integer functions follow their definitions under broadcasting", "", std::int16_t,
                   std::uint64_t) {
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    const BroadcastPlan plan(shapes.output, {shapes.a, shapes.b});
    GuardedBuffer<TestType> a(ir::test::count_of(shapes.a), 1);
    GuardedBuffer<TestType> b(ir::test::count_of(shapes.b), 3);
    GuardedBuffer<TestType> out(ir::test::count_of(shapes.output), 2);
    fill(a, 1);
    fill(b, 2);
    ir::kernels::binary(BinaryOp::multiply, plan, a.data(), b.data(), out.data());
    bool all_equal = true;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const TestType x = a[ir::test::operand_index(shapes.output, shapes.a, i)];
      const TestType y = b[ir::test::operand_index(shapes.output, shapes.b, i)];
      all_equal = all_equal && out[i] == static_cast<TestType>(x * y);
    }
    CHECK(all_equal);
    CHECK(out.guards_intact());
  }
}

TEST_CASE("powers that have formulas are those of pow, whether one exponent serves all or each its own") {
  IR_FOR_EACH_TARGET();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x{
      0.0F,   -0.0F,  1.0F,    -1.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
      1e-40F, 1e-30F, -1e-13F, 1e13F, -1e20F,    3.4e38F};
  x.resize(41);
  for (std::size_t i = 13; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.37F - 8.0F;
  for (const float exponent : {2.0F, 3.0F, 0.5F, -1.0F, 0.25F, 4.0F, 0.0F}) {
    INFO("exponent " << exponent);
    const std::vector<float> exponents(x.size(), exponent);
    std::vector<float> one_for_all(x.size());
    std::vector<float> own(x.size());
    ir::kernels::binary_span(BinaryOp::power, {x.data(), false}, {&exponent, true}, one_for_all.data(),
                             x.size());
    ir::kernels::binary_span(BinaryOp::power, {x.data(), false}, {exponents.data(), false}, own.data(),
                             x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO("x " << x[i] << " gives " << one_for_all[i]);
      const auto exact = static_cast<float>(std::pow(double{x[i]}, double{exponent}));
      CHECK(ir::test::close(one_for_all[i], exact, 3e-7, 2e-45));
      CHECK((std::isnan(exact) || std::signbit(one_for_all[i]) == std::signbit(exact)));
      CHECK(std::bit_cast<std::uint32_t>(one_for_all[i]) == std::bit_cast<std::uint32_t>(own[i]));
    }
  }
}

TEST_CASE("powers are within 0.6 ULP of pow for values of all kinds, each beside others") {
  IR_FOR_EACH_TARGET();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::vector<float> specials{
      0.0F,      -0.0F,      1.0F,     -1.0F,  2.0F, -2.0F, 0.5F,    -3.0F,
      kInfinity, -kInfinity, kLargest, 1e-45F, 1.5F, 1e30F, -1e-30F, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> x;
  std::vector<float> y;
  for (const float a : specials) {
    for (const float b : specials) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  // Bases of every magnitude with exponents that leave their power within floats or just outside, bases near
  // 1, and whole powers of negative numbers.
  constexpr std::size_t kEach = 20000;
  std::vector<float> exponents(kEach);
  std::vector<float> units(kEach);
  ir::test::fill_random(exponents, -60, 60, 1);
  ir::test::fill_random(units, -1, 1, 2);
  for (std::size_t i = 0; i < kEach; ++i) {
    x.push_back(std::exp2(exponents[i]));
    y.push_back(150.0F * units[i] / (i % 2 == 0 ? exponents[i] : 60.0F));
    x.push_back(1.0F + exponents[i] * 1e-4F);
    y.push_back(9000.0F * units[i]);
    x.push_back(-std::exp2(exponents[i] / 10));
    y.push_back(std::round(20.0F * units[i]));
  }
  std::vector<float> out(x.size());
  ir::kernels::binary_span(BinaryOp::power, {x.data(), false}, {y.data(), false}, out.data(), out.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::pow(double{x[i]}, double{y[i]});
    const auto rounded = static_cast<float>(exact);
    INFO(x[i] << " to " << y[i] << " gives " << out[i] << " instead of " << rounded);
    if (std::isnan(exact) || std::isinf(rounded) || rounded == 0) {
      CHECK((std::isnan(exact) ? std::isnan(out[i]) : out[i] == rounded));
      CHECK((std::isnan(exact) || std::signbit(out[i]) == std::signbit(exact)));
    } else {
      // x^3 is rounded twice.
      const double unit = std::ldexp(1.0, std::max(std::ilogb(rounded), -126) - 23);
      const double error = std::abs(double{out[i]} - exact) / unit;
      CHECK(error <= (y[i] == 3.0F ? 1.5 : 0.6));
      worst = std::max(worst, error);
    }
  }
  CHECK(worst > 0.4);
}

TEST_CASE("angles are within 1.7 ULP of atan2 for values of all kinds, each beside others") {
  IR_FOR_EACH_TARGET();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::vector<float> specials{
      0.0F,   -0.0F,  1.0F,    -1.0F, kInfinity, -kInfinity, kLargest,
      1e-45F, 1e-40F, -1e-38F, 1e30F, -1e-30F,   -kLargest,  std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> y;
  std::vector<float> x;
  for (const float a : specials) {
    for (const float b : specials) {
      y.push_back(a);
      x.push_back(b);
    }
  }
  // All around, near and far from the axes.
  constexpr std::size_t kEach = 100000;
  std::vector<float> units(2 * kEach);
  std::vector<float> exponents(kEach);
  ir::test::fill_random(units, -1, 1, 1);
  ir::test::fill_random(exponents, -30, 30, 2);
  for (std::size_t i = 0; i < kEach; ++i) {
    y.push_back(units[2 * i] * (i % 2 == 0 ? 1.0F : std::exp2(exponents[i])));
    x.push_back(units[2 * i + 1]);
  }
  std::vector<float> out(x.size());
  ir::kernels::binary_span(BinaryOp::atan2, {y.data(), false}, {x.data(), false}, out.data(), out.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::atan2(double{y[i]}, double{x[i]});
    INFO("atan2(" << y[i] << ", " << x[i] << ") is " << out[i] << " instead of " << exact);
    REQUIRE(std::isnan(out[i]) == std::isnan(exact));
    if (std::isnan(exact)) continue;
    REQUIRE(std::signbit(out[i]) == std::signbit(exact));
    const auto rounded = static_cast<float>(exact);
    const double unit = std::ldexp(1.0, std::max(rounded == 0 ? -126 : std::ilogb(rounded), -126) - 23);
    worst = std::max(worst, std::abs(double{out[i]} - exact) / unit);
  }
  CHECK(worst < 1.7);
  CHECK(worst > 0.4);
}

TEST_CASE("a span of two scalars is filled") {
  IR_FOR_EACH_TARGET();
  const float a = 3;
  const float b = 4;
  std::vector<float> out(19);
  ir::kernels::binary_span(BinaryOp::subtract, {&a, true}, {&b, true}, out.data(), out.size());
  CHECK(out == std::vector<float>(19, -1.0F));
}

TEST_CASE("binary results do not depend on the number of threads") {
  const ir::test::Shape output{50, 40, 61};
  const ir::test::Shape row{61};
  const BroadcastPlan plan(output, {output, row});
  std::vector<float> a(ir::test::count_of(output));
  std::vector<float> b(row[0]);
  ir::test::fill_random(a, -9, 9, 1);
  ir::test::fill_random(b, 1, 9, 2);
  std::vector<float> one(a.size());
  std::vector<float> two(a.size());
  ir::kernels::ThreadPool(1).run([&] { binary(BinaryOp::divide, plan, a.data(), b.data(), one.data()); });
  ir::kernels::ThreadPool(2).run([&] { binary(BinaryOp::divide, plan, a.data(), b.data(), two.data()); });
  CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
}
