#include "ir_runtime/ops/nms_rotated.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

// A square, the same turned by 45 degrees (they overlap by sqrt(1 / 2)), and one that stands apart.
std::vector<Tensor> squares(std::int64_t most, float overlap) {
  return {f32({1, 3, 5}, {0, 0, 1, 1, 0, 0, 0, 1, 1, 0.7853982F, 5, 5, 1, 1, 1}),
          f32({1, 1, 3}, {0.7F, 0.9F, 0.8F}), i64({}, {most}), f32({}, {overlap}), f32({}, {0})};
}

std::vector<ValueInfo> shapes() {
  std::vector<ValueInfo> shapes{value(ElementType::f32, {3, 100, 5}), value(ElementType::f32, {3, 5, 100}),
                                value_of(i64({}, {10}))};
  shapes.resize(5, value(ElementType::f32, PartialShape(Shape{})));
  return shapes;
}

}  // namespace

TEST_CASE("NMSRotated drops boxes by their overlap at an angle") {
  const op::v13::NMSRotated op;
  const std::vector<Tensor> results = evaluate(op, squares(10, 0.7F));
  REQUIRE(results.size() == 3);
  check_equal<std::int64_t>(results[0], {2, 3}, {0, 0, 1, 0, 0, 2});
  check_equal<float>(results[1], {2, 3}, {0, 0, 0.9F, 0, 0, 0.8F});
  check_equal<std::int64_t>(results[2], {1}, {2});
  check_equal<std::int64_t>(evaluate(op, squares(10, 0.71F))[0], {3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0});
  check_equal<std::int64_t>(evaluate(op, squares(1, 0.71F))[0], {1, 3}, {0, 0, 1});
  CHECK(evaluate(op, squares(0, 0.71F))[0].shape() == Shape{0, 3});
}

TEST_CASE("NMSRotated turns clockwise or not, and sorts over classes or not") {
  // Box 0 lies along one of the diagonals, box 1 on that of equal signs.
  std::vector<Tensor> inputs{f32({1, 2, 5}, {0, 0, 10, 2, 0.7853982F, 3, 3, 2, 2, 0}),
                             f32({1, 2, 2}, {0.5F, 0.4F, 0.6F, 0.1F}), i32({1}, {5}), f32({1}, {0.05F}),
                             f32({1}, {0.3F})};
  op::v13::NMSRotated op;
  op.output_type = ElementType::i32;
  check_equal<std::int32_t>(evaluate(op, inputs)[0], {2, 3}, {0, 1, 0, 0, 0, 0});
  op.clockwise = false;
  check_equal<std::int32_t>(evaluate(op, inputs)[0], {3, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 1});
  op.sort_result_descending = false;
  check_equal<std::int32_t>(evaluate(op, inputs)[0], {3, 3}, {0, 0, 0, 0, 0, 1, 0, 1, 0});
}

TEST_CASE("NMSRotated takes f64, halves and any integer limit") {
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    std::vector<Tensor> inputs = squares(3, 0.5F);
    for (const std::size_t index : {0, 1, 3, 4}) inputs[index] = inputs[index].converted(type);
    inputs[2] = inputs[2].converted(ElementType::u8);
    const std::vector<Tensor> results = evaluate(op::v13::NMSRotated(), inputs);
    check_equal<std::int64_t>(results[0], {2, 3}, {0, 0, 1, 0, 0, 2});
    CHECK(results[1].element_type() == ElementType::f32);
  }
}

TEST_CASE("The rows of NMSRotated are bounded by what is known of shapes and the limit") {
  const op::v13::NMSRotated op;
  CHECK(infer_shape(op, shapes()) == PartialShape{Dimension(0, 150), 3});
  CHECK(infer_shape(op, shapes(), 2) == PartialShape{1});
  std::vector<ValueInfo> inputs = shapes();
  inputs[2].constant = nullptr;
  CHECK(infer_shape(op, inputs, 1) == PartialShape{Dimension(0, 1500), 3});
  inputs[0].shape = inputs[1].shape = PartialShape();
  CHECK(infer_shape(op, inputs) == PartialShape{Dimension(), 3});
}

TEST_CASE("NMSRotated refuses inputs that do not fit together") {
  const op::v13::NMSRotated op;
  std::vector<ValueInfo> inputs = shapes();
  inputs.pop_back();
  CHECK(failure_of(op, inputs) == "IR-input-count: has 4 inputs, NMSRotated takes 5");
  inputs = shapes();
  inputs[0].shape[2] = 4;
  CHECK(failure_of(op, inputs) ==
        "IR-shape: input 0 has shape [3,100,4]: axis 2 is 4, but the size of a box is 5");
  inputs = shapes();
  inputs[1].shape[0] = 2;
  CHECK(failure_of(op, inputs) ==
        "IR-shape: input 1 has shape [2,5,100]: axis 0 is 2, but the number of batches is 3");
  inputs = shapes();
  inputs[3] = value(ElementType::i32, {1});
  CHECK(failure_of(op, inputs) ==
        "IR-element-type: input 3 is of type i32, NMSRotated takes a floating-point type");
  op::v13::NMSRotated bad;
  bad.output_type = ElementType::f32;
  CHECK(failure_of(bad, shapes()) == "IR-attribute-value: output_type is f32; it takes i32 or i64");
}

}  // namespace ir::test
