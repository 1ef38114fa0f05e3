#include "kernels/indexing/unique.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using Numbers = std::vector<std::size_t>;

template <class T>
std::vector<T> values_at(const std::vector<T>& in, const SlicedShape& shape, const Numbers& positions) {
  std::vector<T> out(shape.outer * positions.size() * shape.inner);
  copy_slices(in.data(), shape, positions, out.data());
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("find_distinct_slices of single elements", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  const std::vector<TestType> in{4, 9, 4, 2, 9, 9};
  const SlicedShape shape{1, 6, 1};
  const DistinctSlices sorted = find_distinct_slices(in.data(), shape, true);
  CHECK(sorted.firsts == Numbers{3, 0, 1});
  CHECK(sorted.counts == Numbers{1, 2, 3});
  CHECK(sorted.matches == Numbers{1, 2, 1, 0, 2, 2});
  CHECK(values_at(in, shape, sorted.firsts) == std::vector<TestType>{2, 4, 9});
  const DistinctSlices as_they_come = find_distinct_slices(in.data(), shape, false);
  CHECK(as_they_come.firsts == Numbers{0, 1, 3});
  CHECK(as_they_come.counts == Numbers{2, 3, 1});
  CHECK(as_they_come.matches == Numbers{0, 1, 0, 2, 1, 1});
}

TEST_CASE("find_distinct_slices compares whole slices, the first rows first") {
  // [2, 3, 2]: the slices are {1, 2, 5, 6}, {1, 2, 5, 5} and {1, 2, 5, 6}.
  const std::vector<float> in{1, 2, 1, 2, 1, 2, 5, 6, 5, 5, 5, 6};
  const SlicedShape shape{2, 3, 2};
  const DistinctSlices sorted = find_distinct_slices(in.data(), shape, true);
  CHECK(sorted.firsts == Numbers{1, 0});
  CHECK(sorted.counts == Numbers{1, 2});
  CHECK(sorted.matches == Numbers{1, 0, 1});
  CHECK(values_at(in, shape, sorted.firsts) == std::vector<float>{1, 2, 1, 2, 5, 5, 5, 6});
  CHECK(find_distinct_slices(in.data(), shape, false).firsts == Numbers{0, 1});
}

TEST_CASE("find_distinct_slices: zeros are equal, NaN is not and comes last") {
  const std::vector<float> in{NAN, 0, 1, -0.0F, NAN};
  const DistinctSlices sorted = find_distinct_slices(in.data(), {1, 5, 1}, true);
  CHECK(sorted.firsts == Numbers{1, 2, 0, 4});
  CHECK(sorted.matches == Numbers{2, 0, 1, 0, 3});
  CHECK(find_distinct_slices(in.data(), {1, 5, 1}, false).firsts == Numbers{0, 1, 2, 4});
}

TEMPLATE_TEST_CASE("find_distinct_slices of many elements has the order of a few", "", float, double,
                   std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  using Limits = std::numeric_limits<TestType>;
  std::vector<TestType> in;
  for (const int step : {7, 11, 13}) {
    for (int i = 0; i < 400; ++i) in.push_back(static_cast<TestType>(i * step % 101 - 50));
  }
  in.insert(in.begin() + 500, {Limits::max(), Limits::lowest(), TestType{0}, Limits::max()});
  if constexpr (std::is_floating_point_v<TestType>) {
    in.insert(in.begin() + 300,
              {Limits::infinity(), Limits::quiet_NaN(), -Limits::infinity(), TestType{-0.0}});
    in.push_back(-Limits::quiet_NaN());
    in.push_back(Limits::denorm_min());
  }
  const bool sorted = GENERATE(true, false);
  const SlicedShape shape{1, in.size(), 1};
  const DistinctSlices found = find_distinct_slices(in.data(), shape, sorted);
  // The same slices, each element twice, are compared.
  std::vector<TestType> twice;
  for (const TestType value : in) twice.insert(twice.end(), 2, value);
  const DistinctSlices compared = find_distinct_slices(twice.data(), {1, in.size(), 2}, sorted);
  CHECK(found.firsts == compared.firsts);
  CHECK(found.counts == compared.counts);
  CHECK(found.matches == compared.matches);
}

TEST_CASE("find_distinct_slices of nothing") {
  const DistinctSlices none = find_distinct_slices<float>(nullptr, {3, 0, 2}, true);
  CHECK(none.firsts.empty());
  CHECK(none.matches.empty());
  // Empty slices are all the same; their number of rows costs nothing.
  const SlicedShape empty{std::size_t{1} << 60, 3, 0};
  const DistinctSlices one = find_distinct_slices<float>(nullptr, empty, true);
  CHECK(one.firsts == Numbers{0});
  CHECK(one.counts == Numbers{3});
  copy_slices<float>(nullptr, empty, one.firsts, nullptr);
}

}  // namespace ir::kernels
