#include "kernels/creation/range.h"

#include "kernels/base/float16.h"
#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class T>
std::vector<T> run(T start, T step, std::size_t count) {
  GuardedBuffer<T> out(count, 1);
  fill_range(start, step, count, out.data());
  REQUIRE(out.guards_intact());
  return {out.begin(), out.end()};
}

}  // namespace

TEST_CASE("fill_range of the specification's examples") {
  CHECK(run<std::int32_t>(2, 3, 7) == std::vector<std::int32_t>{2, 5, 8, 11, 14, 17, 20});
  CHECK(run<std::int32_t>(23, -3, 7) == std::vector<std::int32_t>{23, 20, 17, 14, 11, 8, 5});
  CHECK(run<float>(1, 0.5F, 3) == std::vector<float>{1, 1.5F, 2});
  CHECK(run<double>(1, -0.5, 3) == std::vector<double>{1, 0.5, 0});
  CHECK(run<std::uint8_t>(250, 3, 4) == std::vector<std::uint8_t>{250, 253, 0, 3});
  CHECK(run<std::int64_t>(INT64_MAX, 1, 2)[1] == INT64_MIN);
  CHECK(run<float>(0, 1, 0).empty());
}

TEST_CASE("fill_range rounds products and sums to 16-bit floats") {
  // 5 * 0.19995 lies halfway between two f16 and rounds up to 1.
  const auto got = run(Float16(-1.0F), Float16(0.2F), 10);
  CHECK(static_cast<float>(got[5]) == 0.0F);
  CHECK(static_cast<float>(got[9]) == 0.7998046875F);
  CHECK(static_cast<float>(run(BFloat16(1.0F), BFloat16(0.5F), 3)[2]) == 2.0F);
}

TEST_CASE("fill_range has the same bits for any number of threads") {
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = run<float>(0.1F, 0.37F, 200001); });
  ThreadPool(2).run([&] { two = run<float>(0.1F, 0.37F, 200001); });
  CHECK(one == two);
}

}  // namespace ir::kernels
