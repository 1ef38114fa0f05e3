// ReadValue and Assign: types, shapes, and what they give outside of a plan.
#include "ir_runtime/ops/state.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

op::v6::ReadValue read_value(ElementType type = ElementType::dynamic, PartialShape shape = {}) {
  op::v6::ReadValue op;
  op.variable_id = "v";
  op.variable_type = type;
  op.variable_shape = std::move(shape);
  return op;
}

template <class T>
T named() {
  T op;
  op.variable_id = "v";
  return op;
}

}  // namespace

TEST_CASE("Assign and ReadValue-3 have the type and shape of their input") {
  const PartialShape shape{2, Dimension(), Dimension(1, 8)};
  for (const Op& op : {Op(named<op::v3::ReadValue>()), Op(named<op::v3::Assign>()),
                       Op(named<op::v6::Assign>()), Op(read_value())}) {
    const std::vector<ValueInfo> outputs = infer_outputs(op, std::vector{value(ElementType::i8, shape)});
    REQUIRE(outputs.size() == 1);
    CHECK(outputs[0].type == ElementType::i8);
    CHECK(outputs[0].shape == shape);
    CHECK_FALSE(infer_shape(op, {value(ElementType::f32, {})}).has_rank());
    check_equal<float>(run(op, {f32({2}, {1, 2})}), {2}, {1, 2});
    CHECK(failure_of(op, {value(ElementType::f32, {1}), value(ElementType::f32, {1})})
              .starts_with("IR-input-count: has 2 inputs, "));
  }
}

TEST_CASE("Elements do not flow through variables") {
  const ValueInfo known = value_of(i64({2}, {3, 4}));
  for (const Op& op :
       {Op(named<op::v3::ReadValue>()), Op(named<op::v3::Assign>()), Op(named<op::v6::Assign>()),
        Op(read_value()), Op(read_value(ElementType::i64, {2}))}) {
    const ValueInfo output = infer_outputs(op, std::vector{known}).at(0);
    CHECK(output.constant == nullptr);
    CHECK_FALSE(output.elements.has_value());
  }
}

TEST_CASE("ReadValue-6 has the variable's type and shape") {
  const auto op = read_value(ElementType::f32, {Dimension(), 12, Dimension(), 64});
  CHECK(infer_shape(op, {value(ElementType::f32, {1, 12, 0, 64})}) == op.variable_shape);
  CHECK(infer_shape(op, {}) == op.variable_shape);
  CHECK(infer_outputs(op, {}).at(0).type == ElementType::f32);
  // One attribute says that the other one is open.
  CHECK(infer_shape(read_value(ElementType::dynamic, {Dimension()}), {value(ElementType::f32, {3})}) ==
        PartialShape{Dimension()});
  CHECK(infer_outputs(read_value(ElementType::dynamic, {Dimension()}),
                      std::vector{value(ElementType::f32, {3})})
            .at(0)
            .type == ElementType::f32);
  CHECK(infer_shape(read_value(ElementType::f32), {value(ElementType::f32, {3})}) ==
        PartialShape{Dimension()});
}

TEST_CASE("ReadValue-6 outside of a plan gives the first value") {
  const auto op = read_value(ElementType::f32, {Dimension(), 2});
  check_equal<float>(run(op, {f32({1, 2}, {5, 6})}), {1, 2}, {5, 6});
  check_equal<float>(run(op, {}), {0, 2}, {});
  check_equal<float>(run(read_value(ElementType::f32, {3}), {}), {3}, {0, 0, 0});
}

TEST_CASE("ReadValue-6 explains its dims") {
  const auto rules = explain_outputs(read_value(ElementType::f32, {Dimension(), 2}), {});
  CHECK(rules == std::vector<std::vector<std::string>>{
                     {"dim 0 of variable_shape is ?", "dim 1 of variable_shape is 2"}});
}

TEST_CASE("A ReadValue-6 that contradicts its input is refused") {
  const auto op = read_value(ElementType::f32, {Dimension(), 2});
  CHECK(failure_of(op, {value(ElementType::f16, {1, 2})}) ==
        "IR-element-type: input 0 is of type f16, variable_type is f32");
  CHECK(failure_of(op, {value(ElementType::f32, {1, 3})}) ==
        "IR-shape: input 0 has shape [1,3], variable_shape is [?,2]");
  CHECK(failure_of(op, {value(ElementType::f32, {2})}) ==
        "IR-shape: input 0 has shape [2], variable_shape is [?,2]");
  CHECK(
      failure_of(read_value(), {}) ==
      "IR-attribute-value: variable_type is dynamic and variable_shape is [...]; without an input they must "
      "say what the variable holds");
  CHECK(failure_of(op::v6::ReadValue(), {value(ElementType::f32, {2})}) ==
        "IR-attribute-value: variable_id is empty");
  CHECK(failure_of(op::v3::Assign(), {value(ElementType::f32, {2})}) ==
        "IR-attribute-value: variable_id is empty");
  CHECK(failure_of(named<op::v3::ReadValue>(), {}) == "IR-input-count: has 0 inputs, ReadValue takes 1");
}

}  // namespace ir::test
