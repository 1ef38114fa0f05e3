#include "kernels/reduction/softmax.h"

#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::AxisShape;
using ir::test::GuardedBuffer;

/// Shapes around lane multiples, along and across memory.
std::vector<AxisShape> shapes() {
  std::vector<AxisShape> result;
  for (const std::size_t length : ir::test::sizes_around_lanes(130)) {
    if (length == 0) continue;
    result.push_back({3, length, 1});
  }
  for (std::size_t length = 1; length <= 9; ++length) {  // lines that are taken side by side
    for (const std::size_t outer : {1, 2, 7, 16, 37}) result.push_back({outer, length, 1});
  }
  for (const std::size_t inner : ir::test::sizes_around_lanes(100)) {
    if (inner > 1) result.push_back({2, 5, inner});
  }
  result.push_back({1, 1000, 3});
  result.push_back({2, 3000, 1});
  // Elements of a column that meet in a few sets of a cache.
  result.push_back({2, 20, 1024});
  result.push_back({1, 300, 1024});
  result.push_back({1, 600, 1024});
  result.push_back({1, 130, 272});
  return result;
}

/// Softmax of one line in double.
std::vector<double> exact_line(const std::vector<double>& x, bool log) {
  double maximum = x[0];
  for (const double v : x) maximum = std::fmax(maximum, v);
  double sum = 0;
  for (const double v : x) sum += std::exp(v - maximum);
  std::vector<double> result;
  result.reserve(x.size());
  for (const double v : x) result.push_back(log ? v - maximum - std::log(sum) : std::exp(v - maximum) / sum);
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("softmax and its logarithm along any axis", "", float, double) {
  IR_FOR_EACH_TARGET();
  const bool log = GENERATE(false, true);
  const double unit = static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const AxisShape& shape : shapes()) {
    const std::size_t count = shape.outer * shape.length * shape.inner;
    GuardedBuffer<TestType> in(count, 1);
    GuardedBuffer<TestType> out(count, 3);
    ir::test::fill_random(in, -10, 10, static_cast<std::uint32_t>(count));
    const auto run = [&](const TestType* from, TestType* to) {
      log ? ir::kernels::log_softmax(shape, from, to) : ir::kernels::softmax(shape, from, to);
    };
    run(in.data(), out.data());
    bool all_close = true;
    for (std::size_t o = 0; o < shape.outer; ++o) {
      for (std::size_t j = 0; j < shape.inner; ++j) {
        std::vector<double> line;
        const auto index = [&](std::size_t i) { return (o * shape.length + i) * shape.inner + j; };
        for (std::size_t i = 0; i < shape.length; ++i) line.push_back(static_cast<double>(in[index(i)]));
        const auto expected = exact_line(line, log);
        for (std::size_t i = 0; i < shape.length; ++i) {
          const bool ok =
              log ? ir::test::close(static_cast<double>(out[index(i)]), expected[i], 2 * unit, 8 * unit)
                  : ir::test::close(static_cast<double>(out[index(i)]), expected[i], 20 * unit, 0);
          all_close = all_close && ok;
        }
      }
    }
    INFO(shape.outer << " x " << shape.length << " x " << shape.inner);
    CHECK(all_close);
    CHECK(out.guards_intact());
    run(in.data(), in.data());
    CHECK(std::memcmp(in.data(), out.data(), count * sizeof(TestType)) == 0);
    CHECK(in.guards_intact());
  }
}

TEST_CASE("softmax by hand, and with values that would overflow") {
  IR_FOR_EACH_TARGET();
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x{1000, 1000, -inf, 1000, 1000};
  ir::kernels::softmax<float>({1, x.size(), 1}, x.data(), x.data());
  CHECK(x == std::vector<float>{0.25F, 0.25F, 0, 0.25F, 0.25F});
  std::vector<float> y{-1000, -1000};
  std::vector<float> out(2);
  ir::kernels::log_softmax<float>({1, 2, 1}, y.data(), out.data());
  CHECK(out[0] == Approx(-std::log(2.0)));
}

TEST_CASE("short lines without a finite maximum become NaN and leave their neighbours alone") {
  IR_FOR_EACH_TARGET();
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> in;
  for (std::size_t line = 0; line < 21; ++line) {
    const float bad[] = {-inf, inf, std::numeric_limits<float>::quiet_NaN()};
    in.insert(in.end(), 3, line % 4 == 3 ? bad[line % 3] : 1.0F);
  }
  std::vector<float> out(in.size());
  ir::kernels::softmax<float>({21, 3, 1}, in.data(), out.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    wrong += i / 3 % 4 == 3 ? !std::isnan(out[i]) : std::abs(out[i] - 1.0F / 3) > 1e-7F;
  CHECK(wrong == 0);
}

TEST_CASE("a line without a finite maximum becomes NaN and leaves its neighbours alone") {
  IR_FOR_EACH_TARGET();
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {-inf, inf, nan}) {
    const float rest = bad == -inf ? -inf : 0.0F;
    for (const bool across : {false, true}) {
      // Two lines of 19; the first holds the bad value.
      std::vector<float> in(38, 1.0F);
      const AxisShape shape = across ? AxisShape{1, 19, 2} : AxisShape{2, 19, 1};
      const auto index = [&](std::size_t line, std::size_t i) {
        return across ? i * 2 + line : line * 19 + i;
      };
      for (std::size_t i = 0; i < 19; ++i) in[index(0, i)] = i == 11 ? bad : rest;
      std::vector<float> out(38);
      ir::kernels::softmax(shape, in.data(), out.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < 19; ++i) {
        wrong += !std::isnan(out[index(0, i)]);
        wrong += std::abs(out[index(1, i)] - 1.0F / 19) > 1e-7F;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("softmax does not depend on the number of threads") {
  for (const AxisShape& shape : {AxisShape{300, 517, 1}, AxisShape{3, 77, 500}}) {
    std::vector<float> in(shape.outer * shape.length * shape.inner);
    ir::test::fill_random(in, -5, 5, 1);
    std::vector<float> one(in.size());
    std::vector<float> two(in.size());
    ir::kernels::ThreadPool(1).run([&] { ir::kernels::softmax(shape, in.data(), one.data()); });
    ir::kernels::ThreadPool(2).run([&] { ir::kernels::softmax(shape, in.data(), two.data()); });
    CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
  }
}
