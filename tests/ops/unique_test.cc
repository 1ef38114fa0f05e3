#include "ir_runtime/ops/unique.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

op::v10::Unique unique(bool sorted) {
  op::v10::Unique op;
  op.sorted = sorted;
  return op;
}

}  // namespace

TEST_CASE("Unique lists distinct elements, sorted or in order of occurrence") {
  const std::vector<Tensor> inputs{i32({2, 3}, {4, 9, 4, 2, 9, 9})};
  std::vector<Tensor> results = evaluate(unique(true), inputs);
  REQUIRE(results.size() == 4);
  check_equal<std::int32_t>(results[0], {3}, {2, 4, 9});
  check_equal<std::int64_t>(results[1], {3}, {3, 0, 1});
  check_equal<std::int64_t>(results[2], {6}, {1, 2, 1, 0, 2, 2});
  check_equal<std::int64_t>(results[3], {3}, {1, 2, 3});

  op::v10::Unique op = unique(false);
  op.index_element_type = ElementType::i32;
  op.count_element_type = ElementType::i32;
  results = evaluate(op, inputs);
  check_equal<std::int32_t>(results[0], {3}, {4, 9, 2});
  check_equal<std::int32_t>(results[1], {3}, {0, 1, 3});
  check_equal<std::int32_t>(results[2], {6}, {0, 1, 0, 2, 1, 1});
  check_equal<std::int32_t>(results[3], {3}, {2, 3, 1});
}

TEST_CASE("Unique along an axis lists distinct slices") {
  const Tensor data = f32({3, 3}, {2, 1, 2, 2, 0, 2, 2, 1, 2});
  std::vector<Tensor> results = evaluate(unique(true), std::vector{data, i64({1}, {0})});
  check_equal<float>(results[0], {2, 3}, {2, 0, 2, 2, 1, 2});
  check_equal<std::int64_t>(results[1], {2}, {1, 0});
  check_equal<std::int64_t>(results[2], {3}, {1, 0, 1});
  check_equal<std::int64_t>(results[3], {2}, {1, 2});
  results = evaluate(unique(false), std::vector{data, i32({}, {-1})});
  check_equal<float>(results[0], {3, 2}, {2, 1, 2, 0, 2, 1});
  check_equal<std::int64_t>(results[2], {3}, {0, 1, 0});
}

TEST_CASE("Unique of scalars, of nothing and of empty slices") {
  std::vector<Tensor> results = evaluate(unique(true), std::vector{f32({}, {5})});
  check_equal<float>(results[0], {1}, {5});
  check_equal<std::int64_t>(results[2], {1}, {0});
  results = evaluate(unique(true), std::vector{f32({0, 2}, {})});
  CHECK(results[0].shape() == Shape{0});
  CHECK(results[3].shape() == Shape{0});
  results = evaluate(unique(true), std::vector{f32({0, 2}, {}), i64({}, {0})});
  CHECK(results[0].shape() == Shape{0, 2});
  results = evaluate(unique(true), std::vector{f32({0, 2}, {}), i64({}, {1})});
  CHECK(results[0].shape() == Shape{0, 1});
  check_equal<std::int64_t>(results[3], {1}, {2});
}

TEST_CASE("Unique takes every element type") {
  for (const ElementType type :
       {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64, ElementType::i8,
        ElementType::i16, ElementType::i32, ElementType::i64, ElementType::u8, ElementType::u16,
        ElementType::u32, ElementType::u64, ElementType::u4, ElementType::i4, ElementType::boolean}) {
    INFO(name_of(type));
    const std::vector<Tensor> results =
        evaluate(unique(true), std::vector{f32({4}, {1, 0, 1, 1}).converted(type)});
    CHECK(results[0].element_type() == type);
    check_equal<float>(results[0].converted(ElementType::f32), {2}, {0, 1});
    check_equal<std::int64_t>(results[3], {2}, {1, 3});
  }
}

TEST_CASE("Unique has at least one distinct element of some, and at most all") {
  const auto infer = [](const std::vector<ValueInfo>& inputs) {
    std::vector<PartialShape> shapes;
    for (const ValueInfo& output : infer_outputs(unique(true), inputs)) shapes.push_back(output.shape);
    return shapes;
  };
  const ValueInfo data = value(ElementType::f32, {3, Dimension(0, 4), Dimension()});
  const Dimension some(1, 3);
  CHECK(infer({value(ElementType::f32, {3, 3})}) ==
        std::vector<PartialShape>{{Dimension(1, 9)}, {Dimension(1, 9)}, {9}, {Dimension(1, 9)}});
  CHECK(infer({value(ElementType::f32, {0})})[0] == PartialShape{0});
  CHECK(infer({data, value_of(i64({}, {0}))}) ==
        std::vector<PartialShape>{{some, Dimension(0, 4), Dimension()}, {some}, {3}, {some}});
  CHECK(infer({data, value_of(i64({1}, {-2}))})[0] == data.shape);
  // An axis that is not known yet.
  CHECK(infer({value(ElementType::f32, {3, 2}), value(ElementType::i64, {1})}) ==
        std::vector<PartialShape>{
            {some, Dimension(1, 2)}, {Dimension(0, 3)}, {Dimension(0, 3)}, {Dimension(0, 3)}});
  const ValueInfo unknown = value(ElementType::f32, PartialShape());
  CHECK(infer({unknown})[0] == PartialShape{Dimension()});
  CHECK(infer({unknown, value_of(i64({}, {0}))})[0] == PartialShape());
}

TEST_CASE("Unique refuses an axis that the tensor has not") {
  const ValueInfo data = value(ElementType::f32, {3, 3});
  CHECK(failure_of(unique(true), {}) == "IR-input-count: has 0 inputs, Unique takes 1 to 2");
  CHECK(failure_of(unique(true), {data, value_of(i64({}, {2}))}) ==
        "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(unique(true), {data, value(ElementType::i64, {2})}) ==
        "IR-shape: input 1 has shape [2]; it takes one element");
  CHECK(failure_of(unique(true), {data, value(ElementType::f32, {1})}) ==
        "IR-element-type: input 1 is of type f32, Unique takes an integer type");
  CHECK(failure_of(unique(true),
                   {value(ElementType::f32, PartialShape(Shape{})), value(ElementType::i64, {1})}) ==
        "IR-rank: input 0 is a scalar, which has no axis");
  CHECK(failure_of(unique(true), {value(ElementType::string, {3})}) ==
        "IR-element-type: input 0 is of type string, which Unique does not take");
  op::v10::Unique bad;
  bad.index_element_type = ElementType::u32;
  CHECK(failure_of(bad, {data}) == "IR-attribute-value: index_element_type is u32; it takes i32 or i64");
  bad = {};
  bad.count_element_type = ElementType::f32;
  CHECK(failure_of(bad, {data}) == "IR-attribute-value: count_element_type is f32; it takes i32 or i64");
}

}  // namespace ir::test
