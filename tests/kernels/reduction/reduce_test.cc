#include "kernels/reduction/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/base/broadcast_reference.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::AxesPlan;
using ir::kernels::ReduceOp;
using ir::test::GuardedBuffer;
using ir::test::Shape;

const ReduceOp kOps[] = {ReduceOp::l1,         ReduceOp::l2,   ReduceOp::logical_and,
                         ReduceOp::logical_or, ReduceOp::max,  ReduceOp::mean,
                         ReduceOp::min,        ReduceOp::prod, ReduceOp::sum};

struct Case {
  Shape dims;
  Shape axes;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {{}, {}},
      {{7}, {}},
      {{7}, {0}},
      {{1, 1}, {0, 1}},
      {{300}, {0}},
      {{5000}, {0}},
      {{5, 67}, {1}},
      {{37, 12}, {1}},
      {{2003, 12}, {1}},
      {{3, 21, 7, 7}, {2, 3}},
      {{64, 5}, {1}},
      {{5, 67}, {0}},
      {{70, 3}, {0}},
      {{3, 200, 70}, {1}},
      {{2, 3, 4, 5}, {2, 3}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{2, 3, 4, 5}, {1}},
      {{2, 3, 4, 5}, {3, 0}},
      {{2, 3, 4, 5}, {0, 2}},
      {{2, 3, 4, 5}, {1, 3}},
      {{2, 1, 4, 1}, {1, 2}},
      {{2, 3, 2, 3, 2, 3}, {0, 2, 4}},
      {{2, 3, 2, 3, 2, 3}, {1, 3, 5}},
      {{2, 0, 3}, {1}},
      {{2, 0}, {0}},
      {{3, 17, 130}, {0, 1}},
  };
  return kCases;
}

Shape kept_dims(const Case& c) {
  Shape kept;
  for (std::size_t i = 0; i < c.dims.size(); ++i) {
    if (std::find(c.axes.begin(), c.axes.end(), i) == c.axes.end()) kept.push_back(c.dims[i]);
  }
  return kept;
}

/// The input indices behind each output element, one coordinate at a time.
std::vector<std::vector<std::size_t>> sources(const Case& c) {
  std::vector<std::vector<std::size_t>> result(ir::test::count_of(kept_dims(c)));
  for (std::size_t index = 0; index < ir::test::count_of(c.dims); ++index) {
    std::size_t rest = index;
    std::size_t target = 0;
    std::size_t stride = 1;
    for (std::size_t i = c.dims.size(); i-- > 0; rest /= c.dims[i]) {
      if (std::find(c.axes.begin(), c.axes.end(), i) != c.axes.end()) continue;
      target += rest % c.dims[i] * stride;
      stride *= c.dims[i];
    }
    result[target].push_back(index);
  }
  return result;
}

double exact(ReduceOp op, const std::vector<double>& x) {
  const double inf = std::numeric_limits<double>::infinity();
  double sum = 0, magnitudes = 0, squares = 0, product = 1, largest = -inf, smallest = inf, all = 1, any = 0;
  for (const double v : x) {
    sum += v;
    magnitudes += std::abs(v);
    squares += v * v;
    product *= v;
    largest = std::max(largest, v);
    smallest = std::min(smallest, v);
    if (v == 0) all = 0;
    if (v != 0) any = 1;
  }
  switch (op) {
    case ReduceOp::sum:
      return sum;
    case ReduceOp::mean:
      return sum / static_cast<double>(x.size());
    case ReduceOp::l1:
      return magnitudes;
    case ReduceOp::l2:
      return std::sqrt(squares);
    case ReduceOp::prod:
      return product;
    case ReduceOp::max:
      return largest;
    case ReduceOp::min:
      return smallest;
    case ReduceOp::logical_and:
      return all;
    case ReduceOp::logical_or:
      break;
  }
  return any;
}

}  // namespace

TEMPLATE_TEST_CASE("reductions of floats over any axes", "", float, double) {
  IR_FOR_EACH_TARGET();
  const double epsilon = static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const Case& c : cases()) {
    const AxesPlan plan(c.dims, c.axes);
    const auto from = sources(c);
    REQUIRE(plan.input_count() == ir::test::count_of(c.dims));
    REQUIRE(plan.output_count() == from.size());
    GuardedBuffer<TestType> in(plan.input_count(), 1);
    GuardedBuffer<TestType> out(plan.output_count(), 3);
    for (const ReduceOp op : kOps) {
      INFO("op " << static_cast<int>(op) << " over " << c.axes.size() << " axes of " << c.dims.size());
      if (op == ReduceOp::prod) {
        ir::test::fill_random(in, 0.99, 1.01, 5);
      } else {
        ir::test::fill_random(in, -1, 1, 5);
      }
      if (in.size() > 3) in[3] = 0;
      ir::kernels::reduce(op, plan, in.data(), out.data());
      bool all_close = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        std::vector<double> x;
        for (const std::size_t index : from[i]) x.push_back(static_cast<double>(in[index]));
        const double scale = op == ReduceOp::mean ? 1.0 : exact(ReduceOp::l1, x);
        const double tolerance = 70 * epsilon * std::min(scale, 1e3);
        all_close =
            all_close && ir::test::close(static_cast<double>(out[i]), exact(op, x), 70 * epsilon, tolerance);
      }
      CHECK(all_close);
      CHECK(out.guards_intact());
    }
  }
}

TEMPLATE_TEST_CASE("the largest and the smallest of floats are not NaN if one is a number", "", float,
                   double) {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    const AxesPlan plan(c.dims, c.axes);
    const auto from = sources(c);
    GuardedBuffer<TestType> in(plan.input_count(), 1);
    GuardedBuffer<TestType> out(plan.output_count(), 3);
    ir::test::fill_random(in, -1, 1, 5);
    for (std::size_t i = 0; i < in.size(); i += 3) in[i] = std::numeric_limits<TestType>::quiet_NaN();
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
      ir::kernels::reduce(op, plan, in.data(), out.data());
      bool all_equal = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        std::vector<double> numbers;
        for (const std::size_t index : from[i]) {
          if (!std::isnan(in[index])) numbers.push_back(static_cast<double>(in[index]));
        }
        if (!numbers.empty()) all_equal = all_equal && static_cast<double>(out[i]) == exact(op, numbers);
      }
      CHECK(all_equal);
    }
  }
}

TEMPLATE_TEST_CASE("reductions of integers over any axes are exact", "", std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const Case& c : cases()) {
    if (ir::test::count_of(c.dims) > 400) continue;  // so that sums of any type stay exact in double
    const AxesPlan plan(c.dims, c.axes);
    const auto from = sources(c);
    GuardedBuffer<TestType> in(plan.input_count(), 1);
    GuardedBuffer<TestType> out(plan.output_count(), 3);
    ir::test::fill_random(in, std::is_signed_v<TestType> ? -3 : 0, 4, 5);
    for (const ReduceOp op : kOps) {
      INFO("op " << static_cast<int>(op));
      if (from.empty() || (op == ReduceOp::prod && from[0].size() > 20)) continue;
      ir::kernels::reduce(op, plan, in.data(), out.data());
      bool all_equal = true;
      for (std::size_t i = 0; i < out.size() && !from[i].empty(); ++i) {
        std::vector<double> x;
        for (const std::size_t index : from[i]) x.push_back(static_cast<double>(in[index]));
        const double whole = op == ReduceOp::l2 ? std::round(exact(op, x)) : std::trunc(exact(op, x));
        const auto expected = static_cast<TestType>(static_cast<std::int64_t>(whole));
        all_equal = all_equal && out[i] == expected;
      }
      CHECK(all_equal);
      CHECK(out.guards_intact());
    }
  }
}

TEMPLATE_TEST_CASE("nothing to reduce gives the identity", "", float, double, std::int32_t, std::uint8_t) {
  IR_FOR_EACH_TARGET();
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  const Shape dims{2, 0};
  const Shape axes{1};
  const AxesPlan plan(dims, axes);
  const auto value = [&](ReduceOp op) {
    std::vector<T> out(2, T{77});
    ir::kernels::reduce(op, plan, static_cast<const T*>(nullptr), out.data());
    return out[1];
  };
  CHECK(value(ReduceOp::sum) == 0);
  CHECK(value(ReduceOp::l1) == 0);
  CHECK(value(ReduceOp::l2) == 0);
  CHECK(value(ReduceOp::prod) == 1);
  CHECK(value(ReduceOp::logical_and) == 1);
  CHECK(value(ReduceOp::logical_or) == 0);
  CHECK(value(ReduceOp::max) == (Limits::has_infinity ? -Limits::infinity() : Limits::lowest()));
  CHECK(value(ReduceOp::min) == (Limits::has_infinity ? Limits::infinity() : Limits::max()));
  if constexpr (Limits::has_quiet_NaN) {
    CHECK(std::isnan(value(ReduceOp::mean)));
  } else {
    CHECK(value(ReduceOp::mean) == 0);
  }
}

TEST_CASE("integer means truncate and sums wrap") {
  const Shape dims{3};
  const Shape axes{0};
  const AxesPlan plan(dims, axes);
  const std::vector<std::int8_t> in{-100, -100, -101};
  std::int8_t out = 0;
  ir::kernels::reduce(ReduceOp::mean, plan, in.data(), &out);
  CHECK(out == -100);
  ir::kernels::reduce(ReduceOp::sum, plan, in.data(), &out);
  CHECK(out == static_cast<std::int8_t>(-301));
}

TEST_CASE("a long f32 sum does not drift") {
  IR_FOR_EACH_TARGET();
  const Shape dims{1 << 20};
  const Shape axes{0};
  std::vector<float> in(dims[0], 0.1F);
  float sum = 0;
  ir::kernels::reduce(ReduceOp::sum, AxesPlan(dims, axes), in.data(), &sum);
  const double expected = static_cast<double>(0.1F) * static_cast<double>(dims[0]);
  CHECK(ir::test::close(static_cast<double>(sum), expected, 3e-6, 0));
}

TEST_CASE("reductions do not depend on the number of threads") {
  for (const Case& c : {Case{{60, 3000}, {1}}, Case{{60, 50, 70}, {1}}, Case{{60, 50, 70}, {0, 2}}}) {
    const AxesPlan plan(c.dims, c.axes);
    std::vector<float> in(plan.input_count());
    ir::test::fill_random(in, -1, 1, 1);
    std::vector<float> one(plan.output_count());
    std::vector<float> two(plan.output_count());
    ir::kernels::ThreadPool(1).run([&] { ir::kernels::reduce(ReduceOp::l2, plan, in.data(), one.data()); });
    ir::kernels::ThreadPool(2).run([&] { ir::kernels::reduce(ReduceOp::l2, plan, in.data(), two.data()); });
    CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
  }
}
