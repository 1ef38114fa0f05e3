#include "kernels/reduction/histogram.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::fill_random;

// Around what one part takes, and more parts than one.
const std::vector<std::size_t> kCounts{0, 1, 7, 32767, 65536, 65537, 200001};

template <class T>
std::vector<T> bins_of(const std::vector<T>& values, HistogramParams params) {
  params.count = values.size();
  std::vector<T> out(params.bins, T{-1});
  std::vector<std::int64_t> scratch(histogram_scratch_bytes(params) / sizeof(std::int64_t) + 1, 77);
  histogram(params, values.data(), out.data(), reinterpret_cast<std::byte*>(scratch.data()));
  return out;
}

/// Histc by its definition, of a finite range.
template <class T>
std::vector<T> twin(const std::vector<T>& values, const HistogramParams& params) {
  std::vector<T> out(params.bins);
  double low = params.low;
  double high = params.high;
  if (low == 0 && high == 0 && !values.empty()) {
    low = static_cast<double>(*std::min_element(values.begin(), values.end()));
    high = static_cast<double>(*std::max_element(values.begin(), values.end()));
  }
  const double step = (high - low) / static_cast<double>(params.bins);
  for (const T element : values) {
    const auto value = static_cast<double>(element);
    if (!(value >= low && value <= high)) continue;
    const auto bin = low == high ? 0 : static_cast<std::size_t>((value - low) / step);
    ++out[std::min(bin, params.bins - 1)];
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("count_values counts values of any integer type", "", std::int32_t, std::int64_t,
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const std::size_t count : kCounts) {
    for (const std::size_t size : {200U, 5000U}) {
      INFO(count << " values, " << size << " counters");
      std::vector<TestType> values(count);
      fill_random(values, 0, 199, 3);
      std::vector<std::int64_t> expected(size);
      std::size_t needed = 0;
      for (const TestType value : values) {
        ++expected[static_cast<std::size_t>(value)];
        needed = std::max(needed, static_cast<std::size_t>(value) + 1);
      }
      const CounterNumber counters = counters_for(values.data(), count);
      CHECK_FALSE(counters.bad);
      CHECK(counters.needed == needed);
      std::vector<std::int64_t> out(size, -1);
      count_values(values.data(), count, size, out.data());
      CHECK(out == expected);
    }
  }
}

TEST_CASE("counters_for finds the first value that cannot be counted") {
  std::vector<std::int64_t> values(100000, 5);
  values[40000] = std::numeric_limits<std::int64_t>::max() - 1;
  CHECK(counters_for(values.data(), values.size()).needed ==
        static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()));
  values[90000] = -7;
  values[70001] = std::numeric_limits<std::int64_t>::max();
  const CounterNumber counters = counters_for(values.data(), values.size());
  REQUIRE(counters.bad);
  CHECK(counters.bad->position == 70001);
  CHECK(counters.bad->value == std::numeric_limits<std::int64_t>::max());
  const std::vector<std::uint64_t> large{1, std::uint64_t{1} << 63};
  CHECK(counters_for(large.data(), 2).bad->position == 1);
}

TEMPLATE_TEST_CASE("sum_weights adds weights in their order", "", float, double, std::int32_t, std::int64_t) {
  std::vector<std::int32_t> values(70000);
  std::vector<TestType> weights(values.size());
  fill_random(values, 0, 50, 1);
  fill_random(weights, -1000, 1000, 2);
  std::vector<TestType> expected(60);
  for (std::size_t i = 0; i < values.size(); ++i) expected[static_cast<std::size_t>(values[i])] += weights[i];
  std::vector<TestType> out(60, TestType{9});
  sum_weights(values.data(), weights.data(), values.size(), out.size(), out.data());
  CHECK(out == expected);
}

TEST_CASE("sum_weights wraps integers") {
  const std::vector<std::int32_t> values{1, 1};
  const std::vector<std::int32_t> weights{std::numeric_limits<std::int32_t>::max(), 1};
  std::array<std::int32_t, 2> out{};
  sum_weights(values.data(), weights.data(), 2, 2, out.data());
  CHECK(out == std::array<std::int32_t, 2>{0, std::numeric_limits<std::int32_t>::min()});
}

TEMPLATE_TEST_CASE("histogram agrees with its definition", "", float, double) {
  for (const std::size_t count : kCounts) {
    std::vector<TestType> values(count);
    fill_random(values, -3, 3, 4);
    for (const HistogramParams& params :
         {HistogramParams{0, 1, -1, 1}, HistogramParams{0, 10, 0, 0}, HistogramParams{0, 7, -5, 0.5},
          HistogramParams{0, 100, 0, 3}, HistogramParams{0, 5000, -3, 3}, HistogramParams{0, 4, 5, 5}}) {
      INFO(count << " values, " << params.bins << " bins from " << params.low << " to " << params.high);
      CHECK(bins_of(values, params) == twin(values, params));
    }
  }
  CHECK(bins_of<TestType>({1, 2}, {0, 0, 0, 1}).empty());
}

TEMPLATE_TEST_CASE("histogram leaves out NaN and values outside, and stays in its bins", "", float, double) {
  constexpr TestType kNan = std::numeric_limits<TestType>::quiet_NaN();
  constexpr TestType kInf = std::numeric_limits<TestType>::infinity();
  constexpr TestType kMax = std::numeric_limits<TestType>::max();
  using Values = std::vector<TestType>;
  CHECK(bins_of<TestType>({kNan, -kInf, 0, 1, 2, kInf, -1}, {0, 2, 0, 2}) == Values{1, 2});
  CHECK(bins_of<TestType>({1, kNan, 3}, {0, 2, 0, 0}) == Values{1, 1});
  CHECK(bins_of<TestType>({kNan, 1, 3}, {0, 2, 0, 0}) == Values{0, 0});
  CHECK(bins_of<TestType>({2, 2, 3}, {0, 3, 2, 2}) == Values{2, 0, 0});
  // Ranges that have no step.
  CHECK(bins_of<TestType>({1, kInf, 5}, {0, 3, 0, 0}) == Values{2, 0, 1});
  CHECK(bins_of<TestType>({-kInf, 1, kInf}, {0, 3, 0, 0}) == Values{2, 0, 1});
  CHECK(bins_of<TestType>({-kMax, kMax}, {0, 2, 0, 0}) == Values{1, 1});
  CHECK(bins_of<TestType>({kInf, kInf}, {0, 2, 0, 0}) == Values{2, 0});
}

TEST_CASE("histograms are the same on any number of threads") {
  std::vector<float> values(300000);
  fill_random(values, -1, 1, 9);
  std::vector<std::int32_t> integers(values.size());
  fill_random(integers, 0, 3000, 5);
  std::vector<float> bins;
  std::vector<std::int64_t> counts(3000);
  for (const int threads : {1, 2, 3}) {
    ThreadPool(threads).run([&] {
      const std::vector<float> found = bins_of(values, {0, 64, 0, 0});
      std::vector<std::int64_t> counted(3000);
      count_values(integers.data(), integers.size(), 3000, counted.data());
      if (threads == 1) {
        bins = found;
        counts = counted;
      }
      CHECK(found == bins);
      CHECK(counted == counts);
      CHECK(counters_for(integers.data(), integers.size()).needed == 3000);
    });
  }
}

}  // namespace ir::kernels
