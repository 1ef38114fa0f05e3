#include "kernels/indexing/one_hot.h"

#include <bit>

#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class Index, class T>
std::vector<T> run(const std::vector<Index>& indices, std::size_t outer, std::size_t depth, std::size_t inner,
                   T on, T off, NegativeIndices negative = NegativeIndices::ignore) {
  GuardedBuffer<T> out(outer * depth * inner, 1);
  one_hot({outer, depth, inner}, negative, indices.data(), on, off, out.data());
  REQUIRE(out.guards_intact());
  return {out.begin(), out.end()};
}

}  // namespace

TEST_CASE("one_hot of the specification's examples") {
  using Values = std::vector<std::uint32_t>;
  CHECK(run<std::int64_t, std::uint32_t>({0, -5, -2, 2}, 4, 3, 1, 1, 2, NegativeIndices::normalize) ==
        Values{1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 1});
  CHECK(run<std::int64_t, std::uint32_t>({0, -5, -2, 2}, 4, 3, 1, 1, 2) ==
        Values{1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1});
  // The axis in the middle, an index beyond the depth.
  CHECK(run<std::int32_t, std::uint32_t>({0, 3, 1, 1, 2, 4}, 2, 3, 3, 1, 0) ==
        Values{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0});
}

TEST_CASE("one_hot copies bit patterns of every width") {
  const std::vector<std::uint8_t> index{1};
  CHECK(run<std::uint8_t, std::uint8_t>(index, 1, 2, 1, 200, 3) == std::vector<std::uint8_t>{3, 200});
  CHECK(run<std::uint8_t, std::uint16_t>(index, 1, 2, 1, 40000, 3) == std::vector<std::uint16_t>{3, 40000});
  const auto nan = std::bit_cast<std::uint32_t>(NAN);
  CHECK(run<std::uint8_t, std::uint32_t>(index, 1, 2, 1, nan, 3) == std::vector<std::uint32_t>{3, nan});
  CHECK(run<std::uint8_t, std::uint64_t>(index, 1, 2, 1, ~std::uint64_t{0}, 3) ==
        std::vector<std::uint64_t>{3, ~std::uint64_t{0}});
}

TEMPLATE_TEST_CASE("one_hot takes every index type", "", std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  std::vector<TestType> indices(7 * 5);
  test::fill_random(indices, std::is_signed_v<TestType> ? -6 : 0, 6, 1);
  indices[3] = std::numeric_limits<TestType>::max();
  indices[4] = std::numeric_limits<TestType>::min();
  const std::size_t depth = GENERATE(0, 1, 4);
  for (const auto negative : {NegativeIndices::ignore, NegativeIndices::normalize}) {
    const auto got = run<TestType, std::uint16_t>(indices, 7, depth, 5, 9, 4, negative);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto index = static_cast<double>(indices[i / (depth * 5) * 5 + i % 5]);
      const auto at = static_cast<double>(i / 5 % depth);
      const bool on = at == index || (negative == NegativeIndices::normalize && index < 0 &&
                                      at == index + static_cast<double>(depth));
      REQUIRE(got[i] == (on ? 9 : 4));
    }
  }
}

TEST_CASE("one_hot has the same results for any number of threads") {
  std::vector<std::int32_t> indices(5000);
  test::fill_random(indices, 0, 100, 2);
  std::vector<std::uint32_t> one;
  std::vector<std::uint32_t> two;
  ThreadPool(1).run([&] { one = run<std::int32_t, std::uint32_t>(indices, 5000, 100, 1, 1, 0); });
  ThreadPool(2).run([&] { two = run<std::int32_t, std::uint32_t>(indices, 5000, 100, 1, 1, 0); });
  CHECK(one == two);
}

}  // namespace ir::kernels
