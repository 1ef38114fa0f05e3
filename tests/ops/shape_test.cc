#include "ir_runtime/ops/shape.h"

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/movement.h"
#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const Dimension kAny;

op::v1::Reshape reshape(bool special_zero) {
  op::v1::Reshape op;
  op.special_zero = special_zero;
  return op;
}

PartialShape reshaped(const PartialShape& data, std::vector<std::int64_t> target, bool special_zero) {
  const auto count = static_cast<std::int64_t>(target.size());
  return infer_shape(reshape(special_zero),
                     {value(ElementType::f32, data), value_of(i64({count}, std::move(target)))});
}

std::string reshape_failure(const PartialShape& data, std::vector<std::int64_t> target, bool special_zero) {
  const auto count = static_cast<std::int64_t>(target.size());
  return failure_of(reshape(special_zero),
                    {value(ElementType::f32, data), value_of(i64({count}, std::move(target)))});
}

}  // namespace

TEST_CASE("ShapeOf gives the dims, known or not") {
  check_equal<std::int64_t>(run(op::v0::ShapeOf{}, {f32({2, 3}, {1, 2, 3, 4, 5, 6})}), {2}, {2, 3});
  op::v3::ShapeOf narrow;
  narrow.output_type = ElementType::i32;
  check_equal<std::int32_t>(run(narrow, {f32({0, 3}, {})}), {2}, {0, 3});
  check_equal<std::int64_t>(run(op::v3::ShapeOf{}, {f32({}, {1})}), {0}, {});

  const ValueInfo open =
      infer_outputs(op::v0::ShapeOf{}, std::vector{value(ElementType::f32, {kAny, 3, Dimension(1, 8)})})[0];
  CHECK(open.shape == PartialShape{3});
  CHECK(open.elements == std::vector{kAny, Dimension(3), Dimension(1, 8)});
  CHECK(open.constant == nullptr);
  const ValueInfo known =
      infer_outputs(op::v0::ShapeOf{}, std::vector{value(ElementType::f32, Shape{4, 5})})[0];
  REQUIRE(known.constant != nullptr);
  check_equal<std::int64_t>(*known.constant, {2}, {4, 5});
  CHECK(infer_shape(op::v0::ShapeOf{}, {value(ElementType::f32, PartialShape())}) == PartialShape{kAny});

  narrow.output_type = ElementType::f32;
  CHECK(failure_of(narrow, {value(ElementType::f32, Shape{1})}) ==
        "IR-attribute-value: output_type is f32; it takes i32 or i64");
}

TEST_CASE("Reshape keeps the elements") {
  const Tensor data = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  check_equal<float>(run(reshape(false), {data, i64({2}, {3, 2})}), {3, 2}, {1, 2, 3, 4, 5, 6});
  check_equal<float>(run(reshape(false), {data, i32({1}, {-1})}), {6}, {1, 2, 3, 4, 5, 6});
  check_equal<float>(run(reshape(false), {f32({1, 1}, {7}), i64({0}, {})}), {}, {7});
}

TEST_CASE("Reshape follows the specification's examples") {
  CHECK(reshaped(Shape{2, 5, 5, 0}, {0, 4}, false) == Shape{0, 4});
  CHECK(reshaped(Shape{2, 5, 5, 24}, {0, -1, 4}, true) == Shape{2, 150, 4});
  CHECK(reshaped(Shape{2, 2, 3}, {0, 0, 1, -1}, true) == Shape{2, 2, 1, 3});
  CHECK(reshaped(Shape{3, 1, 1}, {-1, 0}, true) == Shape{3, 1});
  CHECK(reshaped(Shape{3, 1, 1}, {0, -1}, true) == Shape{3, 1});
}

TEST_CASE("Reshape compares what is not copied where no elements are left") {
  // Neither has elements; with any other first dim they would not agree.
  CHECK(reshape_failure(Shape{0, 15, 4}, {0, 3, 2}, true) ==
        "IR-shape: input 0 of shape [0,15,4] has 60 elements without the dims that are copied, the new shape "
        "[0,3,2] "
        "has 6");
}

TEST_CASE("Reshape resolves -1 for dims that are not known") {
  // Dims that are copied cancel out.
  CHECK(reshaped({kAny, 3, 4}, {0, -1}, true) == PartialShape{kAny, 12});
  CHECK(reshaped({kAny, 3, 4}, {-1, 6}, true) == PartialShape{kAny, 6});
  CHECK(reshaped({Dimension(2, 5), 6}, {-1, 4}, false) == PartialShape{Dimension(3, 7), 4});
  CHECK(reshaped({Dimension(1, 5), 6}, {3, -1}, false) == PartialShape{3, Dimension(2, 10)});
  CHECK(reshaped(PartialShape(), {2, -1}, false) == PartialShape{2, kAny});
  CHECK(reshaped(PartialShape(), {0, 2}, true) == PartialShape{kAny, 2});
}

TEST_CASE("Reshape takes targets that are known in part") {
  const auto shape_for = [](const PartialShape& data, std::vector<Dimension> target, bool special_zero) {
    return infer_shape(reshape(special_zero),
                       {value(ElementType::f32, data), partly_known(std::move(target))});
  };
  CHECK(shape_for({kAny, 12}, {kAny, Dimension(-1)}, false) == PartialShape{kAny, kAny});
  CHECK(shape_for({Dimension(1, 4), 12}, {Dimension(1, 4), Dimension(-1)}, false) ==
        PartialShape{Dimension(1, 4), Dimension(3, 48)});
  // A number that may be 0 may stand for the input's dim.
  CHECK(shape_for({9, 12}, {Dimension(0, 4), Dimension(12)}, true) == PartialShape{Dimension(0, 9), 12});
  // A number that may be -1 says nothing.
  CHECK(shape_for({9, 12}, {Dimension(-1, 4), Dimension(12)}, false) == PartialShape{kAny, 12});
  CHECK(infer_shape(reshape(false), {value(ElementType::f32, {2}), value(ElementType::i64, {3})}) ==
        PartialShape::of_rank(3));
  CHECK(infer_shape(reshape(false), {value(ElementType::f32, {2}), value(ElementType::i64, {kAny})}) ==
        PartialShape());
  CHECK(infer_shape(reshape(false), {value(ElementType::f32, {1}), value(ElementType::i64, Shape{})}) ==
        PartialShape::of_rank(0));
}

TEST_CASE("Reshape rejects what does not add up") {
  CHECK(reshape_failure(Shape{2, 3}, {4, 2}, false) ==
        "IR-shape: input 0 of shape [2,3] has 6 elements, the new shape [4,2] has 8");
  CHECK(reshape_failure(Shape{2, 3}, {-1, 4}, false) ==
        "IR-shape: -1 stands for 6 / (4), and 6 is no multiple of 4");
  CHECK(reshape_failure(Shape{2, 3}, {-1, 0}, false) ==
        "IR-shape: -1 cannot make 6 elements of a new shape that has a dim of size 0");
  CHECK(reshape_failure(Shape{2, 3}, {-1, 2, -1}, false) ==
        "IR-value: dims 0 and 2 of the new shape are -1; one may be");
  CHECK(reshape_failure(Shape{2, 3}, {6, -2}, false) == "IR-value: dim 1 of the new shape is -2");
  CHECK(reshape_failure(Shape{6}, {6, 0}, true) ==
        "IR-value: dim 1 of the new shape is 0 and stands for the same dim of input 0, whose shape is [6]");
  CHECK(reshape_failure({Dimension(7)}, {3, 3}, false) ==
        "IR-shape: input 0 of shape [7] has 7 elements, the new shape [3,3] has 9");
  CHECK(failure_of(reshape(false), {value(ElementType::f32, {1}), value_of(i64({}, {2}))}) ==
        "IR-value: the new shape is the scalar 2; a scalar must be 1");
  CHECK(failure_of(reshape(false), {value(ElementType::f32, {1}), value(ElementType::f32, {1})}) ==
        "IR-element-type: input 1 is of type f32, Reshape takes an integer type");
  CHECK(reshape_failure(Shape{2}, {std::int64_t{1} << 40, std::int64_t{1} << 40}, false) ==
        "IR-shape: input 0 of shape [2] has 2 elements, the new shape [1099511627776,1099511627776] has "
        "9223372036854775807");
}

TEST_CASE("Reshape explains its dims") {
  const auto rules = explain_outputs(
      reshape(true), std::vector{value(ElementType::f32, Shape{2, 5, 24}), value_of(i64({3}, {0, -1, 4}))});
  REQUIRE(rules.size() == 1);
  CHECK(rules[0] == std::vector<std::string>{"0: axis 0 of the input = 2", "-1: (5 * 24) / (4) = 30",
                                             "element 2 of input 1 = 4"});
}

TEST_CASE("Squeeze removes ones") {
  const op::v0::Squeeze squeeze;
  CHECK(run(squeeze, {f32({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6}), i64({2}, {0, 2})}).shape() == Shape{3, 2});
  CHECK(run(squeeze, {f32({1, 3, 1, 1}, {1, 2, 3}), i64({}, {-1})}).shape() == Shape{1, 3, 1});
  CHECK(run(squeeze, {f32({1, 3, 1}, {1, 2, 3})}).shape() == Shape{3});
  CHECK(run(squeeze, {f32({1}, {1}), i64({1}, {0})}).shape() == Shape{});
  // A dim that is not 1 stays, and no axes mean all.
  CHECK(run(squeeze, {f32({1, 3, 1}, {1, 2, 3}), i64({2}, {0, 1})}).shape() == Shape{3, 1});
  CHECK(run(squeeze, {f32({1, 3, 1}, {1, 2, 3}), i64({0}, {})}).shape() == Shape{3});

  const ValueInfo open = value(ElementType::f32, {kAny, 3, kAny});
  CHECK(infer_shape(squeeze, {open, value_of(i64({1}, {0}))}) == PartialShape{3, kAny});
  CHECK(infer_shape(squeeze, {open}) == PartialShape());
  CHECK(infer_shape(squeeze, {value(ElementType::f32, {Dimension(2, 5), 3, 1})}) ==
        PartialShape{Dimension(2, 5), 3});
  op::v15::Squeeze skip;
  CHECK(infer_shape(skip, {open, value_of(i64({1}, {0}))}) == PartialShape{3, kAny});
  skip.allow_axis_skip = true;
  CHECK(infer_shape(skip, {open, value_of(i64({1}, {0}))}) == PartialShape());
  CHECK(infer_shape(skip, {open, value_of(i64({1}, {1}))}) == PartialShape{kAny, 3, kAny});

  CHECK(failure_of(squeeze, {value(ElementType::f32, Shape{1, 2}), value_of(i64({1}, {2}))}) ==
        "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
}

TEST_CASE("Squeeze takes axis 0 of a scalar") {
  for (const Op& squeeze : {Op(op::v0::Squeeze()), Op(op::v15::Squeeze())}) {
    check_equal<float>(run(squeeze, {f32({}, {7}), i64({1}, {0})}), {}, {7});
    CHECK(infer_shape(squeeze, {value(ElementType::f32, Shape{}), value_of(i64({}, {0}))}) ==
          PartialShape(Shape{}));
    CHECK(failure_of(squeeze, {value(ElementType::f32, Shape{}), value_of(i64({}, {-1}))}) ==
          "IR-axis: axis -1 lies outside of [0, 0] for a scalar");
  }
}

TEST_CASE("Unsqueeze inserts ones") {
  const op::v0::Unsqueeze unsqueeze;
  CHECK(run(unsqueeze, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {0, 3})}).shape() == Shape{1, 2, 3, 1});
  CHECK(run(unsqueeze, {f32({}, {1}), i64({1}, {0})}).shape() == Shape{1});
  CHECK(run(unsqueeze, {f32({2}, {1, 2}), i64({}, {-1})}).shape() == Shape{2, 1});
  CHECK(infer_shape(unsqueeze, {value(ElementType::f32, {kAny, 2}), value(ElementType::i64, {1})}) ==
        PartialShape::of_rank(3));
  CHECK(infer_shape(unsqueeze, {value(ElementType::f32, PartialShape()), value_of(i64({1}, {0}))}) ==
        PartialShape());
  CHECK(infer_shape(unsqueeze, {value(ElementType::f32, {kAny, 2}), value(ElementType::i64, Shape{})}) ==
        PartialShape::of_rank(3));
  // Both may be one axis.
  CHECK(infer_shape(unsqueeze, {value(ElementType::f32, {kAny, 2}), value(ElementType::i64, {2})}) ==
        PartialShape());
  CHECK(failure_of(unsqueeze, {value(ElementType::f32, {2}), value_of(i64({0}, {}))}) ==
        "IR-shape: input 1 names no axes; it takes one or more");
  CHECK(failure_of(unsqueeze, {value(ElementType::f32, {2}), value_of(i64({1}, {2}))}) ==
        "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
}

TEST_CASE("Unsqueeze inserts an axis that is named twice once") {
  const op::v0::Unsqueeze unsqueeze;
  const auto shape = [&](Shape data, std::vector<std::int64_t> axes) {
    const auto count = static_cast<std::int64_t>(axes.size());
    return infer_shape(unsqueeze, {value(ElementType::f32, data), value_of(i64({count}, axes))});
  };
  CHECK(shape({5}, {1, 1}) == PartialShape{5, 1});
  CHECK(shape({5}, {-1, -1}) == PartialShape{5, 1});
  CHECK(shape({2, 3, 4}, {1, 1, 3, 3}) == PartialShape{2, 1, 3, 1, 4});
  // Numbers that differ and mean one axis count for the rank from which negative ones count.
  CHECK(shape({2, 3, 4}, {1, -4}) == PartialShape{2, 1, 3, 4});
  CHECK(shape({2, 3, 4}, {-1, 4}) == PartialShape{2, 3, 4, 1});
  CHECK(shape({2, 3, 4}, {4, 4, -2, -2, -1, -1}) == PartialShape{2, 3, 4, 1, 1});
  check_equal<float>(run(unsqueeze, {f32({2}, {1, 2}), i64({2}, {0, 0})}), {1, 2}, {1, 2});
  CHECK(failure_of(unsqueeze, {value(ElementType::f32, Shape{}), value_of(i64({4}, {3, -1, 2, -2}))}) ==
        "IR-axis: axis 2 is given for a tensor of rank 0");
}

TEST_CASE("What a run evaluates has memory of its own, what is folded may be the constant's") {
  const Tensor data = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector inputs{data, i64({1}, {0})};
  CHECK(evaluate(op::v0::Unsqueeze(), inputs)[0].raw() != data.raw());
  const Tensor folded = evaluate_constants(op::v0::Unsqueeze(), inputs)[0];
  CHECK(folded.raw() == data.raw());
  CHECK(folded.shape() == Shape{1, 2, 3});
}

TEST_CASE("What is folded takes the memory of an input that nobody else holds") {
  const auto negated = [](Tensor input) {
    return evaluate_constants(op::v0::Negative(), std::span(&input, 1))[0];
  };
  const auto elements = [](const Tensor& tensor) {
    const auto data = tensor.data<float>();
    return std::vector<float>(data.begin(), data.end());
  };
  Tensor own = f32({3}, {1, 2, 3});
  const void* const memory = own.raw();
  Tensor folded = negated(std::move(own));
  CHECK(folded.raw() == memory);
  CHECK(elements(folded) == std::vector<float>{-1, -2, -3});

  SECTION("but not of one that has a copy") {
    const Tensor again = negated(folded);
    CHECK(again.raw() != folded.raw());
    CHECK(elements(again) == std::vector<float>{1, 2, 3});
    CHECK(elements(folded) == std::vector<float>{-1, -2, -3});
  }
  SECTION("nor of halves, which become floats before") {
    const Tensor halves = folded.converted(ElementType::f16);
    const Tensor again = negated(halves);
    CHECK(again.element_type() == ElementType::f16);
    CHECK(elements(again.converted(ElementType::f32)) == std::vector<float>{1, 2, 3});
    CHECK(elements(halves.converted(ElementType::f32)) == std::vector<float>{-1, -2, -3});
  }
  SECTION("nor of both operands where they are the same") {
    const Tensor square = evaluate_constants(op::v1::Multiply(), std::vector<Tensor>{folded, folded})[0];
    CHECK(elements(square) == std::vector<float>{1, 4, 9});
    CHECK(elements(folded) == std::vector<float>{-1, -2, -3});
  }
  SECTION("nor when the program runs it") {
    std::vector<Tensor> inputs{f32({3}, {1, 2, 3})};
    const Tensor result = evaluate(op::v0::Negative(), inputs)[0];
    CHECK(result.raw() != inputs[0].raw());
    CHECK(elements(inputs[0]) == std::vector<float>{1, 2, 3});
  }
  SECTION("nor of one that is too small") {
    std::vector<Tensor> inputs{f32({3, 1}, {1, 2, 3}), f32({1, 2}, {1, 10})};
    const Tensor table = evaluate_constants(op::v1::Multiply(), inputs)[0];
    CHECK(elements(table) == std::vector<float>{1, 10, 2, 20, 3, 30});
  }
  SECTION("nor of a file, which never changes") {
    const auto owner = std::make_shared<const std::vector<float>>(std::vector<float>{1, 2, 3});
    const Tensor result = negated(Tensor::of_file(ElementType::f32, {3}, owner->data(), owner));
    CHECK(result.raw() != owner->data());
    CHECK(*owner == std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("shape arithmetic flows through a model with a dynamic batch") {
  // Flattens [N, 3, 8, 8] to [N, -1] as exporters write it: the batch is taken out of the shape.
  Model model;
  Node& data = model.add_parameter(ElementType::f32, {kAny, 3, 8, 8});
  Node& shape = model.add(op::v3::ShapeOf{}, {data});
  Node& batch = model.add(op::v8::Gather{},
                          {shape, model.add_constant(std::int64_t{0}), model.add_constant(std::int64_t{0})});
  Node& row = model.add(op::v0::Unsqueeze{}, {batch, model.add_constant(std::int64_t{0})});
  op::v0::Concat concat;
  concat.axis = 0;
  Node& target = model.add(concat, {row, model.add_constant(std::vector<std::int64_t>{-1})});
  CHECK(target.output(0).elements == std::vector{kAny, Dimension(-1)});
  Node& flat = model.add(reshape(false), {data, target});
  CHECK(flat.output(0).shape.rank() == 2);

  // Known dims give a constant target, through arithmetic too.
  Node& doubled =
      model.add(op::v1::Multiply{}, {shape, model.add_constant(std::vector<std::int64_t>{1, 2, 1, 1})});
  Node& two = model.add(op::v8::Gather{}, {doubled, model.add_constant(std::vector<std::int64_t>{1, 2}),
                                           model.add_constant(std::int64_t{0})});
  REQUIRE(two.output(0).constant != nullptr);
  check_equal<std::int64_t>(*two.output(0).constant, {2}, {6, 8});
}

}  // namespace ir::test
