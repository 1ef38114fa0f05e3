#include "ir_runtime/ops/inverse.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::v14::Inverse;

Inverse adjoint() {
  Inverse op;
  op.adjoint = true;
  return op;
}

}  // namespace

TEST_CASE("Inverse inverts matrices", "[inverse]") {
  check_close(run(Inverse(), {f32({2, 2}, {0.5F, 1, 3, 2})}), {2, 2}, {-1, 0.5F, 1.5F, -0.25F});
  check_close(run(adjoint(), {f32({2, 2}, {0.5F, 1, 3, 2})}), {2, 2}, {-1, 1.5F, 0.5F, -0.25F});
  const Tensor batch = f32({2, 1, 3, 3}, {2, -1, 0, -1, 2, -1, 0, -1, 2, 3, 1, 2, 0, 4, 1, 2, -2, 0});
  check_close(run(Inverse(), {batch}), {2, 1, 3, 3},
              {0.75F, 0.5F, 0.25F, 0.5F, 1, 0.5F, 0.25F, 0.5F, 0.75F, -0.25F, 0.5F, 0.875F, -0.25F, 0.5F,
               0.375F, 1, -1, -1.5F});
}

TEST_CASE("Inverse takes every real type", "[inverse]") {
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const Tensor result = run(Inverse(), {f32({2, 2}, {0.5F, 1, 3, 2}).converted(type)});
    CHECK(result.element_type() == type);
    check_close(result.converted(ElementType::f32), {2, 2}, {-1, 0.5F, 1.5F, -0.25F}, 1e-2);
  }
}

TEST_CASE("Inverse of nothing is empty", "[inverse]") {
  CHECK(run(Inverse(), {f32({0, 2, 2}, {})}).shape() == Shape{0, 2, 2});
  CHECK(run(Inverse(), {f32({3, 0, 0}, {})}).shape() == Shape{3, 0, 0});
}

TEST_CASE("Inverse keeps the shape and knows that matrices are square", "[inverse]") {
  const auto shape = [](PartialShape input) {
    return infer_shape(Inverse(), {value(ElementType::f32, std::move(input))});
  };
  CHECK(shape({5, 4, 3, 3}) == PartialShape{5, 4, 3, 3});
  CHECK(shape({Dimension(), Dimension(), 3}) == PartialShape{Dimension(), 3, 3});
  CHECK(shape({Dimension(2, 5), Dimension(4, 9)}) == PartialShape{Dimension(4, 5), Dimension(4, 5)});
  CHECK(shape(PartialShape()) == PartialShape());
}

TEST_CASE("Inverse refuses what is no matrix", "[inverse]") {
  CHECK(failure_of(Inverse(), {}) == "IR-input-count: has 0 inputs, Inverse takes 1");
  CHECK(failure_of(Inverse(), {value(ElementType::f32, {2, 3})}) ==
        "IR-shape: input 0 has shape [2,3]: matrices of 2 rows and 3 columns are not square");
  CHECK(failure_of(Inverse(), {value(ElementType::f32, {3})}) ==
        "IR-rank: input 0 has shape [3]; it takes a rank of at least 2");
  CHECK(failure_of(Inverse(), {value(ElementType::i32, {3, 3})}) ==
        "IR-element-type: input 0 is of type i32, Inverse takes a floating-point type");
}

}  // namespace ir::test
