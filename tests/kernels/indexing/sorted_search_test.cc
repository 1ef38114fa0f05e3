#include "kernels/indexing/sorted_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

template <class T, class B>
std::vector<std::int64_t> buckets_of(std::vector<T> values, const std::vector<B>& boundaries,
                                     bool with_right_bound) {
  std::vector<std::int64_t> out(values.size(), -1);
  bucketize<T, B>(values.data(), values.size(), boundaries, with_right_bound, out.data());
  return out;
}

using Places = std::vector<std::int64_t>;

}  // namespace

TEMPLATE_TEST_CASE("search_sorted counts the smaller elements of each row", "", float, double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  const std::vector<TestType> sorted{1, 3, 3, 7, 2, 4, 6, 8};
  const std::vector<TestType> values{0, 3, 9, 2, 5, 8};
  Places out(6, -1);
  search_sorted<TestType>(sorted.data(), 2, 4, values.data(), 3, false, out.data());
  CHECK(out == Places{0, 1, 4, 0, 2, 3});
  search_sorted<TestType>(sorted.data(), 2, 4, values.data(), 3, true, out.data());
  CHECK(out == Places{0, 3, 4, 1, 2, 4});
  search_sorted<TestType>(sorted.data(), 2, 0, values.data(), 3, true, out.data());
  CHECK(out == Places(6, 0));
}

TEST_CASE("search_sorted puts NaN in front, and stays within rows that do not ascend") {
  const std::vector<float> sorted{5, 1, NAN, 0, 7};
  const std::vector<float> values{NAN, 6, -1};
  for (const bool right : {false, true}) {
    Places out(3, -1);
    search_sorted<float>(sorted.data(), 1, 5, values.data(), 3, right, out.data());
    CHECK(out[0] == 0);
    CHECK(std::ranges::all_of(out, [](std::int64_t place) { return place >= 0 && place <= 5; }));
  }
}

TEST_CASE("search_sorted finds what counting finds, with any number of threads") {
  constexpr std::size_t kRows = 7;
  constexpr std::size_t kLength = 33;
  constexpr std::size_t kValues = 500;
  std::vector<float> sorted(kRows * kLength);
  std::vector<float> values(kRows * kValues);
  test::fill_random(sorted, -5, 5, 1);
  test::fill_random(values, -6, 6, 2);
  for (float& number : sorted) number = std::round(number);
  for (float& number : values) number = std::round(number);
  for (std::size_t row = 0; row < kRows; ++row)
    std::sort(sorted.begin() + row * kLength, sorted.begin() + (row + 1) * kLength);
  for (const bool right : {false, true}) {
    Places expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto first = sorted.begin() + i / kValues * kLength;
      expected.push_back(std::count_if(first, first + kLength, [&](float element) {
        return element < values[i] || (right && element == values[i]);
      }));
    }
    for (const int threads : {1, 2}) {
      Places out(values.size(), -1);
      ThreadPool(threads).run([&] {
        search_sorted<float>(sorted.data(), kRows, kLength, values.data(), kValues, right, out.data());
      });
      CHECK(out == expected);
    }
  }
}

TEST_CASE("bucketize counts the boundaries below a value, or not above it") {
  // The example of Bucketize-3.
  CHECK(buckets_of<std::int32_t, std::int64_t>({3, 50, 10, -1}, {0, 5, 10}, true) == Places{1, 3, 2, 0});
  CHECK(buckets_of<std::int32_t, std::int64_t>({3, 50, 10, -1}, {0, 5, 10}, false) == Places{1, 3, 3, 0});
  CHECK(buckets_of<std::int32_t, std::int64_t>({3, 50}, {}, true) == Places{0, 0});
}

TEST_CASE("bucketize compares numbers of different types by value") {
  CHECK(buckets_of<float, std::int64_t>({0.5F, 1, 1.5F, -3}, {-2, 1}, true) == Places{1, 1, 2, 0});
  CHECK(buckets_of<std::uint8_t, double>({0, 1, 200}, {-0.5, 0.5, 1}, false) == Places{1, 3, 3});
  CHECK(buckets_of<std::int64_t, std::uint64_t>({-1, 0, 1}, {0, 1}, false) == Places{0, 1, 2});
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 63;
  CHECK(buckets_of<std::uint64_t, std::int64_t>({kLarge, 0}, {-1, std::numeric_limits<std::int64_t>::max()},
                                                true) == Places{2, 1});
  CHECK(buckets_of<double, double>({NAN}, {0, 1}, true) == Places{0});
  CHECK(buckets_of<double, double>({NAN}, {0, 1}, false) == Places{2});
}

}  // namespace ir::kernels
