// How far outputs lie apart, as `run_ir compare` shows it.
#include "samples/run_ir/deviation.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"

namespace {

using ir::Tensor;
using run_ir::describe;
using run_ir::Deviation;
using run_ir::deviation_of;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor f32(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

std::string described(const Tensor& a, const Tensor& b) { return describe(deviation_of(a, b), a, b); }

TEST_CASE("equal tensors are identical, NaN and infinities included") {
  const Tensor tensor = f32({1, kNan, -kInfinity, 0});
  CHECK(deviation_of(tensor, tensor).different == 0);
  CHECK(described(tensor, f32({1, kNan, -kInfinity, -0.0F})) == "  identical, 4 elements\n");
  CHECK(described(Tensor(ir::ElementType::f32, {0}), Tensor(ir::ElementType::f32, {0})) ==
        "  identical, 0 elements\n");
}

TEST_CASE("the largest errors and the first difference have their places") {
  const Tensor a = Tensor::of<float>({2, 2}, {3, 4, 0, 0.5F});
  const Tensor b = Tensor::of<float>({2, 2}, {3, 5, 0, 0.25F});
  const Deviation deviation = deviation_of(a, b);
  CHECK(deviation.elements == 4);
  CHECK(deviation.different == 2);
  CHECK(deviation.first == 1);
  CHECK(deviation.absolute == 1);
  CHECK(deviation.absolute_at == 1);
  CHECK(deviation.relative == 0.5);
  CHECK(deviation.relative_at == 3);
  CHECK(deviation.relative_l2 == Approx(std::sqrt((1 + 0.0625) / 25.25)));
  CHECK(describe(deviation, a, b) ==
        "  2 of 4 elements differ, first at [0,1]: 4 / 5\n"
        "  largest absolute error 1 at [0,1]: 4 / 5\n"
        "  largest relative error 0.5 at [1,1]: 0.5 / 0.25\n"
        "  relative L2 error 0.2051\n");
}

TEST_CASE("what only one side has is infinitely far off") {
  CHECK(deviation_of(f32({1, kNan}), f32({1, 2})).absolute == kInfinity);
  CHECK(deviation_of(f32({1, 2}), f32({1, kInfinity})).relative_l2 == kInfinity);
  CHECK(deviation_of(f32({kInfinity}), f32({-kInfinity})).relative == kInfinity);
}

TEST_CASE("an error against zero is absolute") {
  const Deviation deviation = deviation_of(f32({0, 0}), f32({3, 4}));
  CHECK(deviation.relative_l2 == 5);
  CHECK(deviation.relative == 1);
}

TEST_CASE("element types may differ") {
  const Tensor halves = f32({1, 0.1F}).converted(ir::ElementType::f16);
  const Deviation deviation = deviation_of(f32({1, 0.1F}), halves);
  CHECK(deviation.different == 1);
  CHECK(deviation.relative_l2 < 1e-3);
}

TEST_CASE("64-bit integers that are equal as doubles differ") {
  const std::int64_t large = std::int64_t{1} << 62;
  const Tensor a = Tensor::of<std::int64_t>({2}, {1, large});
  const Tensor b = Tensor::of<std::int64_t>({2}, {1, large + 1});
  CHECK(deviation_of(a, b).different == 1);
  CHECK(described(a, b).starts_with(
      "  1 of 2 elements differ, first at [1]: 4611686018427387904 / 4611686018427387905\n"));
}

TEST_CASE("strings differ or not") {
  const Tensor a = Tensor::of<std::string>({2}, {"a", "b"});
  const Tensor b = Tensor::of<std::string>({2}, {"a", "c"});
  CHECK(deviation_of(a, a).different == 0);
  CHECK(deviation_of(a, b).relative_l2 == 0.5);
  CHECK(described(a, b) == "  1 of 2 elements differ, first at [1]: 'b' / 'c'\n");
}

}  // namespace
