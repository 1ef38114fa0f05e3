#include "kernels/indexing/embedding.h"

#include <limits>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class T>
std::vector<T> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<T> values(count);
  test::fill_random(values, std::is_signed_v<T> ? -9 : 0, 9, seed);
  return values;
}

struct BagCase {
  std::size_t rows = 11;
  std::size_t depth = 3;
  std::vector<std::int32_t> indices;
  std::vector<std::size_t> borders;
};

BagCase random_bags(std::size_t bags, std::size_t depth, std::uint32_t seed) {
  BagCase one;
  one.depth = depth;
  std::mt19937 random(seed);
  one.borders.push_back(0);
  for (std::size_t bag = 0; bag < bags; ++bag) one.borders.push_back(one.borders.back() + random() % 4);
  for (std::size_t i = 0; i < one.borders.back(); ++i)
    one.indices.push_back(static_cast<std::int32_t>(random() % one.rows));
  return one;
}

template <class T>
std::vector<T> reduced(const BagCase& one, const std::vector<T>& table, const T* weights,
                       std::optional<std::size_t> default_row, BagReduction reduction) {
  const std::size_t bags = one.borders.size() - 1;
  GuardedBuffer<T> out(bags * one.depth, 1);
  REQUIRE_FALSE(reduce_bags<T>({table.data(), one.rows, one.depth},
                               {one.indices.data(), one.indices.size(), weights},
                               {bags, 0, one.borders.data()}, {reduction, default_row}, out.data()));
  REQUIRE(out.guards_intact());
  return {out.begin(), out.end()};
}

}  // namespace

TEMPLATE_TEST_CASE("reduce_bags agrees with plain sums", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  const std::size_t depth = GENERATE(1, 2, 7, 16, 33);
  const bool weighted = GENERATE(false, true);
  const BagCase one = random_bags(40, depth, static_cast<std::uint32_t>(depth));
  const auto table = numbers<TestType>(one.rows * depth, 5);
  const auto weights = numbers<TestType>(one.indices.size(), 6);
  const auto default_row = GENERATE(std::optional<std::size_t>(), std::optional<std::size_t>(4));
  const auto got = reduced(one, table, weighted ? weights.data() : nullptr, default_row, BagReduction::sum);
  const auto mean = reduced<TestType>(one, table, nullptr, default_row, BagReduction::mean);
  for (std::size_t bag = 0; bag + 1 < one.borders.size(); ++bag) {
    for (std::size_t i = 0; i < depth; ++i) {
      const auto row = [&](std::size_t r) { return static_cast<double>(table[r * depth + i]); };
      const std::size_t first = one.borders[bag];
      const std::size_t last = one.borders[bag + 1];
      double sum = first == last && default_row ? row(*default_row) : 0;
      double plain = sum;
      for (std::size_t at = first; at < last; ++at) {
        const double value = row(static_cast<std::size_t>(one.indices[at]));
        sum += value * (weighted ? static_cast<double>(weights[at]) : 1.0);
        plain += value;
      }
      double average = first == last ? plain : plain / static_cast<double>(last - first);
      if constexpr (std::is_integral_v<TestType>) {
        average = std::trunc(average);
        const auto wrapped = static_cast<TestType>(static_cast<std::int64_t>(sum));
        REQUIRE(got[bag * depth + i] == wrapped);
        REQUIRE(static_cast<double>(mean[bag * depth + i]) == average);
      } else {
        REQUIRE(test::close(static_cast<double>(got[bag * depth + i]), sum, 1e-6, 1e-5));
        REQUIRE(test::close(static_cast<double>(mean[bag * depth + i]), average, 1e-6, 1e-6));
      }
    }
  }
}

TEST_CASE("reduce_bags writes nothing when an index is no row") {
  const std::vector<float> table{1, 2, 3, 4};
  std::vector<float> out{7, 7};
  for (const std::int64_t bad :
       {std::int64_t{-1}, std::int64_t{2}, std::numeric_limits<std::int64_t>::min()}) {
    const std::vector<std::int64_t> indices{1, bad};
    const auto result = reduce_bags<float>({table.data(), 2, 2}, {indices.data(), 2}, {1, 2}, {}, out.data());
    REQUIRE(result);
    CHECK(result->position == 1);
    CHECK(result->value == bad);
  }
  CHECK(out == std::vector<float>{7, 7});
}

TEST_CASE("integers wrap, and means of many do not divide by a count cut short") {
  const std::vector<std::int8_t> table{100, 1};
  const std::vector<std::int32_t> indices(256, 1);
  std::int8_t out = 0;
  CHECK_FALSE(reduce_bags<std::int8_t>({table.data(), 2, 1}, {indices.data(), 256}, {1, 256},
                                       {BagReduction::mean}, &out));
  CHECK(out == 0);  // 256 wraps to 0, divided by 256
  const std::vector<std::int32_t> twice{0, 0};
  CHECK_FALSE(reduce_bags<std::int8_t>({table.data(), 2, 1}, {twice.data(), 2}, {1, 2}, {}, &out));
  CHECK(out == static_cast<std::int8_t>(200));
}

TEST_CASE("bags_from_offsets wants ascending offsets within the positions") {
  std::vector<std::size_t> borders(4);
  const std::vector<std::int32_t> good{1, 1, 4};
  CHECK_FALSE(bags_from_offsets(good.data(), 3, 4, borders.data()));
  CHECK(borders == std::vector<std::size_t>{1, 1, 4, 4});
  const auto bad = [&](std::vector<std::int32_t> offsets) {
    return bags_from_offsets(offsets.data(), offsets.size(), 4, borders.data()).value().position;
  };
  CHECK(bad({-1, 0}) == 0);
  CHECK(bad({0, 5}) == 1);
  CHECK(bad({0, 2, 1}) == 2);
}

TEST_CASE("bags_from_segments sorts positions by segment and keeps their order") {
  const std::vector<std::int64_t> ids{2, 0, 2, 3, 0};
  std::vector<std::size_t> borders(6);
  std::vector<std::size_t> order(5);
  CHECK_FALSE(bags_from_segments(ids.data(), 5, 5, borders.data(), order.data()));
  CHECK(borders == std::vector<std::size_t>{0, 2, 2, 4, 5, 5});
  CHECK(order == std::vector<std::size_t>{1, 4, 0, 2, 3});
  CHECK(bags_from_segments(ids.data(), 5, 3, borders.data(), order.data()).value().position == 3);
}

TEMPLATE_TEST_CASE("segment_max agrees with a plain search", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  const std::size_t depth = GENERATE(1, 5, 32);
  const std::size_t segments = GENERATE(1, 4, 30);
  const std::size_t rows = 50;
  std::vector<std::int32_t> ids(rows);
  for (std::size_t i = 0; i < rows; ++i) ids[i] = static_cast<std::int32_t>(i / 7 * 2);
  const auto data = numbers<TestType>(rows * depth, 3);
  GuardedBuffer<TestType> out(segments * depth, 1);
  const TestType empty = 77;
  REQUIRE_FALSE(segment_max({rows, depth, segments}, data.data(), ids.data(), empty, out.data()));
  REQUIRE(out.guards_intact());
  for (std::size_t segment = 0; segment < segments; ++segment) {
    for (std::size_t i = 0; i < depth; ++i) {
      std::optional<TestType> expected;
      for (std::size_t row = 0; row < rows; ++row) {
        if (static_cast<std::size_t>(ids[row]) != segment) continue;
        const TestType value = data[row * depth + i];
        expected = expected ? std::max(*expected, value) : value;
      }
      REQUIRE(out[segment * depth + i] == expected.value_or(empty));
    }
  }
}

TEST_CASE("segment_max refuses segments that go back and passes NaN on") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> data{nan, 1, 2, nan};
  std::vector<float> out(2);
  const std::vector<std::int32_t> ids{0, 0, 1, 1};
  CHECK_FALSE(segment_max({4, 1, 2}, data.data(), ids.data(), 0.0F, out.data()));
  CHECK(std::isnan(out[0]));
  CHECK(std::isnan(out[1]));
  const std::vector<std::int32_t> back{0, 1, 0, 1};
  CHECK(segment_max({4, 1, 2}, data.data(), back.data(), 0.0F, out.data()).value().position == 2);
  const std::vector<std::int32_t> negative{-1, 1, 1, 1};
  CHECK(segment_max({4, 1, 2}, data.data(), negative.data(), 0.0F, out.data()).value().value == -1);
}

TEST_CASE("reductions of bags and segments have the same results for any number of threads") {
  const BagCase one = random_bags(3000, 40, 8);
  const auto table = numbers<float>(one.rows * one.depth, 1);
  std::vector<std::int32_t> ids(one.rows);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<float> sums[2];
  std::vector<float> maxima[2];
  for (const int threads : {1, 2}) {
    ThreadPool(threads).run([&] {
      sums[threads - 1] = reduced<float>(one, table, nullptr, 1, BagReduction::mean);
      maxima[threads - 1].resize(20000 * one.depth);
      (void)segment_max({one.rows, one.depth, 20000}, table.data(), ids.data(), -1.0F,
                        maxima[threads - 1].data());
    });
  }
  CHECK(sums[0] == sums[1]);
  CHECK(maxima[0] == maxima[1]);
}

}  // namespace ir::kernels
