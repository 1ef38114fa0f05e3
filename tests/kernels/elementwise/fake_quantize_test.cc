#include "kernels/elementwise/fake_quantize.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/base/broadcast_reference.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::BroadcastPlan;
using ir::kernels::Quantization;
using ir::test::GuardedBuffer;
using ir::test::Shape;

/// The operation's formula in single f32 steps: kernels promise these very bits.
float quantize(float x, float il, float ih, float ol, float oh, float steps) {
  if (x <= std::fmin(il, ih)) return ol;
  if (x > std::fmax(il, ih)) return oh;
  return std::nearbyint((x - il) / (ih - il) * steps) / steps * (oh - ol) + ol;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Every level, every tie between two, and their neighbours; both ends of the range and what lies far away.
std::vector<float> telling_inputs(const Quantization& q) {
  std::vector<float> numbers{0.0F, -0.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  for (const float number : {std::numeric_limits<float>::max(), std::numeric_limits<float>::min(),
                             std::numeric_limits<float>::denorm_min(), 1.0F, 255.0F}) {
    numbers.insert(numbers.end(), {number, -number});
  }
  const auto add_with_neighbours = [&](double exact) {
    const auto number = static_cast<float>(exact);
    float below = number;
    float above = number;
    numbers.push_back(number);
    for (int i = 0; i < 3; ++i) {
      numbers.push_back(below = std::nextafter(below, -kInfinity));
      numbers.push_back(above = std::nextafter(above, kInfinity));
    }
  };
  add_with_neighbours(q.in_low);
  add_with_neighbours(q.in_high);
  // In halves of levels; of many levels some.
  const std::size_t halves = 2 * static_cast<std::size_t>(q.steps);
  for (std::size_t half = 0; half <= halves; half += 1 + halves / 5000) {
    add_with_neighbours(q.in_low + (static_cast<double>(q.in_high) - q.in_low) * static_cast<double>(half) /
                                       static_cast<double>(halves));
  }
  return numbers;
}

/// The same bits, but for the kind of a NaN.
bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

/// Compares with the formula, out of place and in place, shifted by an element.
void check_exact(const Quantization& q, const std::vector<float>& in) {
  GuardedBuffer<float> x(in.size(), 1);
  GuardedBuffer<float> out(in.size(), 3);
  std::copy(in.begin(), in.end(), x.begin());
  ir::kernels::fake_quantize_span(q, x.data(), out.data(), x.size());
  CAPTURE(q.in_low, q.in_high, q.out_low, q.out_high, q.steps);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float expected = quantize(in[i], q.in_low, q.in_high, q.out_low, q.out_high, q.steps);
    if (same(out[i], expected)) continue;
    CAPTURE(i, in[i], out[i], expected);
    FAIL("other bits than the formula's");
  }
  CHECK(out.guards_intact());
  ir::kernels::fake_quantize_span(q, x.data(), x.data(), x.size());
  CHECK(std::equal(x.begin(), x.end(), out.begin(), same));
  CHECK(x.guards_intact());
}

}  // namespace

TEST_CASE("FakeQuantize rounds halves to even and saturates, by hand") {
  IR_FOR_EACH_TARGET();
  // 5 levels over [0, 4] to [0, 40]: levels at 0, 10, ..., 40.
  const std::vector<float> x{
      -1, 0, 0.4F, 0.5F, 0.6F, 1.5F, 2.5F, 3.9F, 4, 5, std::numeric_limits<float>::quiet_NaN()};
  const float il = 0;
  const float ih = 4;
  const float ol = 0;
  const float oh = 40;
  std::vector<float> out(x.size());
  const Shape dims{x.size()};
  const BroadcastPlan plan(dims, {dims, {}, {}, {}, {}});
  ir::kernels::fake_quantize(plan, x.data(), {&il, &ih, &ol, &oh}, 5, out.data());
  const std::vector<float> expected{0, 0, 0, 0, 10, 20, 20, 40, 40, 40};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(out[i] == expected[i]);
  CHECK(std::isnan(out.back()));
}

TEST_CASE("FakeQuantize gives the formula's bits for limits of any shape") {
  IR_FOR_EACH_TARGET();
  struct Shapes {
    Shape x;
    Shape in;
    Shape out;
  };
  for (const Shapes& shapes : {Shapes{{67}, {}, {}}, Shapes{{2, 5, 7, 11}, {5, 1, 1}, {5, 1, 1}},
                               Shapes{{2, 5, 7, 11}, {1}, {1, 5, 1, 1}}, Shapes{{30, 13}, {13}, {1}},
                               Shapes{{3, 300}, {3, 1}, {300}}, Shapes{{3, 4, 5}, {3, 4, 5}, {1, 4, 1}},
                               Shapes{{2, 0, 3}, {}, {3}}}) {
    for (const std::size_t levels : {std::size_t{2}, std::size_t{16}, std::size_t{255}, std::size_t{65536}}) {
      GuardedBuffer<float> x(ir::test::count_of(shapes.x), 1);
      GuardedBuffer<float> out(x.size(), 3);
      std::vector<float> il(ir::test::count_of(shapes.in));
      std::vector<float> ih(il.size());
      std::vector<float> ol(ir::test::count_of(shapes.out));
      std::vector<float> oh(ol.size());
      ir::test::fill_random(x, -3, 3, 1);
      ir::test::fill_random(il, -2, 0, 2);
      ir::test::fill_random(ih, -1, 2, 3);  // at times below il, as the formula allows
      ir::test::fill_random(ol, -5, 5, 4);
      ir::test::fill_random(oh, -5, 5, 5);
      if (!il.empty()) ih[0] = il[0];  // an empty range
      const BroadcastPlan plan(shapes.x, {shapes.x, shapes.in, shapes.in, shapes.out, shapes.out});
      ir::kernels::fake_quantize(plan, x.data(), {il.data(), ih.data(), ol.data(), oh.data()}, levels,
                                 out.data());
      bool all_equal = true;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t in_index = ir::test::operand_index(shapes.x, shapes.in, i);
        const std::size_t out_index = ir::test::operand_index(shapes.x, shapes.out, i);
        const float expected = quantize(x[i], il[in_index], ih[in_index], ol[out_index], oh[out_index],
                                        static_cast<float>(levels - 1));
        all_equal = all_equal && out[i] == expected;
      }
      CHECK(all_equal);
      CHECK(out.guards_intact());
      ir::kernels::fake_quantize(plan, x.data(), {il.data(), ih.data(), ol.data(), oh.data()}, levels,
                                 x.data());
      CHECK(std::equal(x.begin(), x.end(), out.begin()));
      CHECK(x.guards_intact());
    }
  }
}

TEST_CASE("FakeQuantize with one range gives the formula's bits at all levels and ties") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t levels :
       {2U, 3U, 4U, 15U, 16U, 17U, 255U, 256U, 257U, 1000U, 1023U, 1024U, 1025U, 2048U, 65535U, 65536U}) {
    const auto top = static_cast<float>(levels - 1);
    for (const Quantization& q : {
             Quantization{0, top, 0, top, levels},  // exact ties
             Quantization{-top, top, -1, 1, levels}, Quantization{0, 2.5499F, 0, 2.5499F, levels},
             Quantization{-1.2839F, 1.2739F, -1.2839F, 1.2739F, levels},
             Quantization{-0.1F, 6.3F, 7.1F, -0.3F, levels},
             Quantization{3.3F, -0.7F, -2, 5, levels},  // upside down
         }) {
      check_exact(q, telling_inputs(q));
    }
  }
}

TEST_CASE("FakeQuantize with one range gives the formula's bits for all of its results") {
  IR_FOR_EACH_TARGET();
  // Every quotient of a level and a number of steps that the products have to get right.
  for (std::size_t levels = 2; levels <= 1026; ++levels) {
    const auto top = static_cast<float>(levels - 1);
    std::vector<float> in;
    for (std::size_t level = 0; level < levels; ++level) in.push_back(static_cast<float>(level));
    check_exact({0, top, 0, 1, levels}, in);
  }
}

TEST_CASE("FakeQuantize with one range gives the formula's bits for ranges of any size") {
  IR_FOR_EACH_TARGET();
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kMin = std::numeric_limits<float>::min();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  for (const std::size_t levels : {std::size_t{2}, std::size_t{256}, std::size_t{65536}}) {
    for (const Quantization& q : {
             Quantization{0, kMax, 0, kMax, levels},
             Quantization{-kMax, kMax, -1, 1, levels},
             Quantization{0, kMin, 0, 1, levels},
             Quantization{0, kTiny, 0, 1, levels},
             Quantization{0, 300 * kTiny, 0, 300 * kTiny, levels},
             Quantization{0, 300 * kMin, 0, 1, levels},
             Quantization{0, 1e-30F, -kMax, kMax, levels},
             Quantization{0, 1e30F, 0, kMin, levels},
             Quantization{1, 1, 0, 1, levels},
             Quantization{0, kInfinity, 0, 1, levels},
             Quantization{-kInfinity, 0, 0, 1, levels},
             Quantization{0, 1, -kInfinity, kInfinity, levels},
             Quantization{0, 1, 0, kInfinity, levels},
             Quantization{0, 1, -0.0F, -1, levels},
             Quantization{0, 1, -1, -0.0F, levels},
             Quantization{1e6F, 1e6F + 1, 1e6F, 1e6F + 1, levels},
         }) {
      check_exact(q, telling_inputs(q));
    }
  }
}

TEST_CASE("FakeQuantize with one range gives the formula's bits for random ranges and inputs") {
  IR_FOR_EACH_TARGET();
  std::vector<float> limits(400);
  std::vector<float> in(997);
  ir::test::fill_random(limits, -4, 4, 1);
  for (std::size_t i = 0; i + 4 <= limits.size(); i += 4) {
    const Quantization q{limits[i], limits[i + 1], limits[i + 2], limits[i + 3], i % 3 == 0 ? 255U : 256U};
    ir::test::fill_random(in, -4, 4, static_cast<std::uint32_t>(i));
    check_exact(q, in);
  }
}

TEST_CASE("Levels of rows are those of each row", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Quantization q{-1.25F, 3, -1.25F, 3, 200};
  for (const std::size_t columns : {1U, 7U, 8U, 15U, 16U, 17U, 31U, 32U, 33U, 49U, 64U, 65U, 130U}) {
    INFO(columns << " columns");
    const std::size_t stride = columns + 3;
    constexpr std::size_t kRows = 4;
    GuardedBuffer<float> x(kRows * stride, 1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) * 0.05F - 1.5F;
    GuardedBuffer<std::uint8_t> out(kRows * stride, 3);
    std::fill(out.begin(), out.end(), std::uint8_t{250});
    ir::kernels::levels_of_rows(q, {x.data(), stride, kRows, columns}, out.data(), stride);
    CHECK(out.guards_intact());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint8_t wanted = 250;
      if (i % stride < columns) ir::kernels::levels_of_span(q, &x[i], &wanted, 1);
      wrong += out[i] != wanted;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Quantisation in half of the time finds the same levels, but for those of ties", "[kernels]") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t levels : {2U, 5U, 255U, 256U}) {
    const float top = static_cast<float>(levels - 1);
    for (const Quantization& q :
         {Quantization{0, top, 0, top, levels}, Quantization{0, 2.5499F, 0, 2.5499F, levels},
          Quantization{-1.2839F, 1.2739F, -1.2839F, 1.2739F, levels},
          Quantization{-0.1F, 6.3F, 7.1F, -0.3F, levels}, Quantization{-7, -3, -7, -3, levels}}) {
      CAPTURE(q.in_low, q.in_high, q.out_low, q.out_high, q.steps);
      REQUIRE(q.has_bytes());
      const std::vector<float> in = telling_inputs(q);
      GuardedBuffer<float> x(in.size(), 1);
      std::copy(in.begin(), in.end(), x.begin());
      GuardedBuffer<float> nearly(in.size(), 3);
      GuardedBuffer<std::uint8_t> bytes(in.size(), 5);
      GuardedBuffer<float> values(in.size(), 7);
      ir::kernels::quantize_nearly_span(q, x.data(), nearly.data(), x.size());
      ir::kernels::levels_of_span(q, x.data(), bytes.data(), x.size());
      ir::kernels::values_of_span(q, bytes.data(), values.data(), x.size());
      CHECK(nearly.guards_intact());
      CHECK(bytes.guards_intact());
      CHECK(values.guards_intact());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (std::isnan(in[i])) {
          wrong += !std::isnan(nearly[i]) || bytes[i] != 0;
          continue;
        }
        const double position = (std::clamp(static_cast<double>(in[i]), static_cast<double>(q.in_low),
                                            static_cast<double>(q.in_high)) -
                                 static_cast<double>(q.in_low)) /
                                (static_cast<double>(q.in_high) - static_cast<double>(q.in_low)) *
                                static_cast<double>(q.steps);
        // In levels; roundings of limits that are far from each other's difference count, too.
        const double rounding =
            0x1p-22 * (static_cast<double>(q.steps) +
                       static_cast<double>(std::abs(q.in_low)) * static_cast<double>(q.scale));
        wrong += std::abs(static_cast<double>(bytes[i]) - position) > 0.5 + rounding;
        const double value = static_cast<double>(q.out_low) + static_cast<double>(bytes[i]) *
                                                                  static_cast<double>(q.out_range) /
                                                                  static_cast<double>(q.steps);
        const double most =
            0x1p-22 * (std::abs(static_cast<double>(q.out_low)) + std::abs(static_cast<double>(q.out_range)));
        wrong += std::abs(static_cast<double>(values[i]) - value) > most;
        wrong += !same(values[i], nearly[i]);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Levels are bytes where there are no more of them and the limits are plain numbers", "[kernels]") {
  CHECK(Quantization(0, 1, 0, 1, 256).has_bytes());
  CHECK_FALSE(Quantization(0, 1, 0, 1, 257).has_bytes());
  CHECK_FALSE(Quantization(1, 0, 1, 0, 256).has_bytes());
  CHECK_FALSE(Quantization(1, 1, 1, 1, 256).has_bytes());
  CHECK_FALSE(Quantization(0, kInfinity, 0, 1, 256).has_bytes());
  // Half of a level above another one: 0, and 6.
  CHECK_FALSE(Quantization(-1.1F, 2.3F, -1.1F, 2.3F, 256).has_bytes());
  CHECK_FALSE(Quantization(0, 12, 0, 12, 256).has_bytes());
  // There it is up to what there may be many of.
  Quantization clamped(0, 6, 0, 6, 256);
  CHECK_FALSE(clamped.has_bytes());
  clamped.expect(std::array{0.0F, 6.0F});
  CHECK(clamped.has_bytes());
  clamped.expect(std::array{3.0F});
  CHECK_FALSE(clamped.has_bytes());
}

TEST_CASE("Quantisation in half of the time is the exact one where it does not serve", "[kernels]") {
  IR_FOR_EACH_TARGET();
  for (const Quantization& q :
       {Quantization{3.3F, -0.7F, -2, 5, 256}, Quantization{-1.1F, 2.3F, -1.1F, 2.3F, 256}}) {
    const std::vector<float> in = telling_inputs(q);
    std::vector<float> exact(in.size());
    std::vector<float> nearly(in.size());
    ir::kernels::fake_quantize_span(q, in.data(), exact.data(), in.size());
    ir::kernels::quantize_nearly_span(q, in.data(), nearly.data(), in.size());
    CHECK(std::equal(exact.begin(), exact.end(), nearly.begin(), same));
  }
}
