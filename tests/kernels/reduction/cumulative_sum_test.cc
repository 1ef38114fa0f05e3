#include "kernels/reduction/cumulative_sum.h"

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class T>
std::vector<T> run(const CumulativeSumParams& params, const std::vector<T>& in) {
  GuardedBuffer<T> out(in.size(), 1);
  cumulative_sum(params, in.data(), out.data());
  REQUIRE(out.guards_intact());
  std::vector<T> in_place = in;
  cumulative_sum(params, in_place.data(), in_place.data());
  REQUIRE(std::equal(out.begin(), out.end(), in_place.begin()));
  return in_place;
}

}  // namespace

TEST_CASE("cumulative_sum of the specification's examples") {
  using Values = std::vector<float>;
  const Values in{1, 2, 3, 4, 5};
  CHECK(run({1, 5, 1, false, false}, in) == Values{1, 3, 6, 10, 15});
  CHECK(run({1, 5, 1, true, false}, in) == Values{0, 1, 3, 6, 10});
  CHECK(run({1, 5, 1, false, true}, in) == Values{15, 14, 12, 9, 5});
  CHECK(run({1, 5, 1, true, true}, in) == Values{14, 12, 9, 5, 0});
}

TEMPLATE_TEST_CASE("cumulative_sum agrees with a sum in double", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  const bool exclusive = GENERATE(false, true);
  const bool reverse = GENERATE(false, true);
  for (const std::size_t inner : {1, 3, 63, 64, 65, 130, 1100}) {
    const CumulativeSumParams params{2, 9, inner, exclusive, reverse};
    std::vector<TestType> in(2 * 9 * inner);
    test::fill_random(in, 0, 10, static_cast<std::uint32_t>(inner));
    const std::vector<TestType> got = run(params, in);
    for (std::size_t outer = 0; outer < 2; ++outer) {
      for (std::size_t j = 0; j < inner; ++j) {
        double sum = 0;
        for (std::size_t step = 0; step < 9; ++step) {
          const std::size_t row = reverse ? 8 - step : step;
          const std::size_t at = (outer * 9 + row) * inner + j;
          const double after = sum + static_cast<double>(in[at]);
          REQUIRE(test::close(static_cast<double>(got[at]), exclusive ? sum : after, 1e-6, 0));
          sum = after;
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("cumulative_sum adds one element after the other", "", float, double, std::int32_t) {
  const bool exclusive = GENERATE(false, true);
  const bool reverse = GENERATE(false, true);
  for (const std::size_t inner : {1, 2, 4, 5, 64}) {
    for (const std::size_t outer : {1, 2, 3, 4, 5, 9}) {
      for (const std::size_t axis : {1, 2, 7, 130}) {
        CAPTURE(inner, outer, axis);
        std::vector<TestType> in(outer * axis * inner);
        test::fill_random(in, -1000, 1000, static_cast<std::uint32_t>(axis));
        std::vector<TestType> expected(in.size());
        for (std::size_t line = 0; line < outer * inner; ++line) {
          TestType sum{0};
          for (std::size_t step = 0; step < axis; ++step) {
            const std::size_t row = reverse ? axis - 1 - step : step;
            const std::size_t at = (line / inner * axis + row) * inner + line % inner;
            const TestType after = sum + in[at];
            expected[at] = exclusive ? sum : after;
            sum = after;
          }
        }
        REQUIRE(run({outer, axis, inner, exclusive, reverse}, in) == expected);
      }
    }
  }
}

TEST_CASE("cumulative_sum wraps integers and keeps the sign of zero") {
  CHECK(run({1, 3, 1, false, false}, std::vector<std::int8_t>{100, 100, 100}) ==
        std::vector<std::int8_t>{100, -56, 44});
  CHECK(run({1, 2, 1, false, false}, std::vector<std::int64_t>{INT64_MAX, 1})[1] == INT64_MIN);
  CHECK(std::signbit(run({1, 1, 1, false, false}, std::vector<float>{-0.0F})[0]));
}

TEST_CASE("cumulative_sum accepts empty tensors") {
  CHECK(run({0, 3, 2, false, false}, std::vector<float>{}).empty());
  CHECK(run({2, 0, 2, false, true}, std::vector<float>{}).empty());
}

TEST_CASE("cumulative_sum has the same bits for any number of threads") {
  std::vector<float> in(50 * 100 * 70);
  test::fill_random(in, -1, 1, 2);
  for (const CumulativeSumParams& params :
       {CumulativeSumParams{50, 100, 70, false, false}, CumulativeSumParams{3499, 100, 1, false, false}}) {
    const std::vector<float> part(in.begin(), in.begin() + params.outer * params.axis * params.inner);
    std::vector<float> one;
    std::vector<float> two;
    ThreadPool(1).run([&] { one = run(params, part); });
    ThreadPool(2).run([&] { two = run(params, part); });
    CHECK(one == two);
  }
}

}  // namespace ir::kernels
