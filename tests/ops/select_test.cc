#include "ir_runtime/ops/select.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {

using op::v1::Select;

TEST_CASE("Select takes elements by the condition") {
  const Tensor condition = Tensor::of<bool>({2, 1}, {true, false});
  check_equal<float>(run(Select{}, {condition, f32({2}, {1, 2}), f32({}, {9})}), {2, 2}, {1, 2, 9, 9});
  const Tensor words = tensor<std::int16_t>({2}, {1, 2});
  check_equal<std::int16_t>(
      run(Select{}, {Tensor::of<bool>({2}, {false, true}), words, tensor<std::int16_t>({2}, {7, 8})}), {2},
      {7, 2});
}

TEST_CASE("Select spreads its operands over input 1 by the PaddlePaddle rule") {
  Select select;
  select.auto_broadcast = op::AutoBroadcast::pdpd;
  select.auto_broadcast_axis = 0;
  check_equal<float>(
      run(select, {Tensor::of<bool>({2}, {true, false}), f32({2, 2}, {1, 2, 3, 4}), f32({}, {9})}), {2, 2},
      {1, 2, 9, 9});
}

TEST_CASE("Select carries elements that are partly known") {
  ValueInfo dims = value(ElementType::i64, Shape{3});
  dims.elements = std::vector<Dimension>{Dimension(), 4, Dimension(2, 5)};
  const ValueInfo ones = value_of(i64({}, {1}));
  const auto elements = [&](const ValueInfo& condition) {
    return infer_outputs(Select{}, std::vector{condition, dims, ones})[0].elements;
  };
  CHECK(elements(value_of(Tensor::of<bool>({3}, {true, false, true}))) ==
        std::vector<Dimension>{Dimension(), 1, Dimension(2, 5)});
  CHECK(elements(value(ElementType::boolean, Shape{3})) ==
        std::vector<Dimension>{Dimension(), Dimension(1, 4), Dimension(1, 5)});
}

TEST_CASE("Select follows no elements of large vectors") {
  // As many as memory does not hold.
  const ValueInfo large = value(ElementType::i64, Shape{std::int64_t{1} << 40});
  const ValueInfo selected =
      infer_outputs(Select{}, std::vector{value(ElementType::boolean, Shape{}), large, large})[0];
  CHECK(selected.shape == large.shape);
  CHECK_FALSE(selected.elements.has_value());
}

TEST_CASE("Select takes packed types") {
  const Tensor condition = tensor<std::uint8_t>({3}, {1, 0, 1}).converted(ElementType::boolean);
  for (const ElementType type : {ElementType::u4, ElementType::i4, ElementType::u2, ElementType::u1}) {
    const auto packed = [&](std::vector<std::int32_t> values) {
      const auto count = static_cast<std::int64_t>(values.size());
      return i32({count}, std::move(values)).converted(type);
    };
    const Tensor got = run(Select{}, {condition, packed({1, 1, 0}), packed({0})});
    CHECK(got.element_type() == type);
    check_equal<std::int32_t>(got.converted(ElementType::i32), {3}, {1, 0, 0});
  }
}

TEST_CASE("Select rejects other inputs") {
  const ValueInfo data = value(ElementType::f32, Shape{2});
  const ValueInfo condition = value(ElementType::boolean, Shape{2});
  CHECK(failure_of(Select{}, {data, data, data}) ==
        "IR-element-type: input 0 is of type f32, Select takes boolean");
  const ValueInfo text = value(ElementType::string, Shape{2});
  CHECK(failure_of(Select{}, {condition, text, text}) ==
        "IR-element-type: input 1 is of type string, which Select does not take");
  CHECK(failure_of(Select{}, {condition, data, value(ElementType::i32, Shape{2})}) ==
        "IR-element-type: inputs 1 and 2 are of types f32 and i32, Select takes one type");
  CHECK(
      failure_of(Select{}, {value(ElementType::boolean, Shape{3}), data, data}) ==
      "IR-broadcast: input 0 of shape [3] does not match [2] of the inputs before it: axis 0 would be 2 and "
      "3");
  CHECK(infer_shape(Select{}, {condition, value(ElementType::f32, PartialShape()), data}) == PartialShape());
}

}  // namespace ir::test
