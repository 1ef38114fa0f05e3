#include "ir_runtime/ops/gather.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const Dimension kAny;

ValueInfo f32_value(const PartialShape& shape) { return value(ElementType::f32, shape); }
ValueInfo index_value(const PartialShape& shape) { return value(ElementType::i64, shape); }
ValueInfo axis_value(std::int64_t axis) { return value_of(i64({}, {axis})); }

template <class Gather = op::v8::Gather>
Gather gather(std::int64_t batch_dims) {
  Gather op;
  op.batch_dims = batch_dims;
  return op;
}

}  // namespace

TEST_CASE("Gather follows the specification's examples") {
  const Tensor row = i32({5}, {1, 2, 3, 4, 5});
  const Tensor rows = i32({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Tensor indices = i64({2, 3}, {0, 0, 4, 4, 0, 0});
  check_equal<std::int32_t>(run(gather(0), {row, i64({3}, {0, 0, 4}), i64({}, {0})}), {3}, {1, 1, 5});
  check_equal<std::int32_t>(run(gather(1), {rows, indices, i64({}, {1})}), {2, 3}, {1, 1, 5, 10, 6, 6});
  check_equal<std::int32_t>(run(gather(-1), {rows, indices, i64({1}, {1})}), {2, 3}, {1, 1, 5, 10, 6, 6});
  check_equal<std::int32_t>(run(gather(0), {row, i64({3}, {0, -2, -1}), i64({}, {0})}), {3}, {1, 4, 5});
  check_equal<std::int32_t>(run(gather(0), {row, i64({3}, {3, 10, -20}), i64({}, {0})}), {3}, {4, 0, 0});
  Tensor four(ElementType::i32, {2, 1, 5, 4});
  std::int32_t next = 1;
  for (auto& element : four.data<std::int32_t>()) element = next++;
  check_equal<std::int32_t>(
      run(gather(1), {four, i64({2, 3}, {1, 2, 4, 4, 3, 2}), i64({}, {2})}), {2, 1, 3, 4},
      {5, 6, 7, 8, 9, 10, 11, 12, 17, 18, 19, 20, 37, 38, 39, 40, 33, 34, 35, 36, 29, 30, 31, 32});
  // A scalar index takes the axis away; indices of any integer type.
  check_equal<std::int32_t>(run(gather(0), {rows, tensor<std::uint8_t>({}, {1}), i64({}, {0})}), {5},
                            {6, 7, 8, 9, 10});
  check_equal<std::int32_t>(run(op::v1::Gather{}, {rows, i32({1, 2}, {4, 0}), i64({}, {-1})}), {2, 1, 2},
                            {5, 1, 10, 6});
}

TEST_CASE("Gather-1 takes floats, cut off, as indices") {
  const op::v1::Gather op;
  const Tensor rows = i32({3, 2}, {1, 2, 3, 4, 5, 6});
  check_equal<std::int32_t>(run(op, {rows, f32({2, 1}, {2, 0.9F}), i64({}, {0})}), {2, 1, 2}, {5, 6, 1, 2});
  check_equal<std::int32_t>(run(op, {rows, tensor<double>({}, {-1}), i64({}, {1})}), {3}, {2, 4, 6});
  check_equal<std::int32_t>(run(op, {i32({2}, {7, 9}), f32({1}, {1.5F}), i64({}, {0})}), {1}, {9});
  check_equal<std::int32_t>(
      run(op, {i32({2}, {7, 9}), f32({1}, {1}).converted(ElementType::f16), i64({}, {0})}), {1}, {9});
  check_equal<std::string>(run(op, {tensor<std::string>({2}, {"a", "b"}), f32({2}, {1, 0}), i64({}, {0})}),
                           {2}, {"b", "a"});
  const Tensor packed = i32({3}, {1, -2, 3}).converted(ElementType::i4);
  check_equal<std::int32_t>(run(op, {packed, f32({3}, {2, 1, 1}), i64({}, {0})}).converted(ElementType::i32),
                            {3}, {3, -2, -2});
  CHECK(error_of(op, {rows, f32({1}, {3}), i64({}, {0})}) ==
        "IR-value: element 0 of input 1 (indices) is 3, which addresses nothing");
  CHECK(failure_of(op, {f32_value({3, 2}), value(ElementType::boolean, {1}), axis_value(0)}) ==
        "IR-element-type: input 1 is of type boolean, Gather takes a numeric type");
  CHECK(failure_of(gather<op::v7::Gather>(0), {f32_value({3, 2}), f32_value({1}), axis_value(0)}) ==
        "IR-element-type: input 1 is of type f32, Gather takes an integer type");
  CHECK(failure_of(gather(0), {f32_value({3, 2}), f32_value({1}), axis_value(0)}) ==
        "IR-element-type: input 1 is of type f32, Gather takes an integer type");
}

TEST_CASE("an index out of range is an error of Gather-1 and a zero since opset7") {
  const Tensor row = i32({2}, {1, 2});
  CHECK(error_of(op::v1::Gather{}, {row, i64({2}, {0, 2}), i64({}, {0})}) ==
        "IR-value: element 1 of input 1 (indices) is 2, which addresses nothing");
  check_equal<std::int32_t>(run(gather<op::v7::Gather>(0), {row, i64({2}, {0, 2}), i64({}, {0})}), {2},
                            {1, 0});
}

TEST_CASE("Gather infers shapes and elements") {
  CHECK(infer_shape(gather(1), {f32_value({2, 64, 128}), index_value({2, 32, 21}), axis_value(1)}) ==
        PartialShape{2, 32, 21, 128});
  CHECK(infer_shape(gather(0), {f32_value({kAny, 3}), index_value({kAny}), axis_value(0)}) ==
        PartialShape{kAny, 3});
  CHECK(infer_shape(gather(0), {f32_value({4, 3}), index_value({2, 2}), index_value(Shape{})}) ==
        PartialShape::of_rank(3));
  CHECK(infer_shape(gather(0), {f32_value(PartialShape()), index_value({2}), axis_value(0)}) ==
        PartialShape());
  const auto batch = infer_outputs(gather(0), std::vector{partly_known({kAny, Dimension(3), Dimension(4)}),
                                                          value_of(i64({2}, {-1, 0})), axis_value(0)});
  CHECK(batch[0].elements == std::vector{Dimension(4), kAny});
  const auto rules =
      explain_outputs(gather(0), std::vector{f32_value({4, 3}), index_value({2}), axis_value(1)});
  CHECK(rules[0] == std::vector<std::string>{"axis 0 of data = 4", "axis 0 of indices = 2"});

  CHECK(failure_of(gather(1), {f32_value({2, 3}), index_value({4, 3}), axis_value(1)}) ==
        "IR-shape: batch dim 0 of the inputs is 2 and 4");
  CHECK(failure_of(gather(1), {f32_value({2, 3}), index_value({2, 3}), axis_value(0)}) ==
        "IR-axis: batch_dims 1 lies behind axis 0");
  CHECK(failure_of(gather(-1), {f32_value({2, 3}), index_value({2, 3, 4, 5}), index_value({1})}) ==
        "IR-axis: batch_dims 3 lies behind the 2 axes of input 0");
  CHECK(failure_of(gather(3), {f32_value({2, 3}), index_value({2}), axis_value(0)}) ==
        "IR-attribute-range: batch_dims is 3; for inputs of ranks 2 and 1 it takes values from -1 to 1");
  CHECK(failure_of(gather(0), {f32_value({2, 3}), index_value({2}), axis_value(2)}) ==
        "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(gather(0), {f32_value({2}), f32_value({2}), axis_value(0)}) ==
        "IR-element-type: input 1 is of type f32, Gather takes an integer type");
  CHECK(failure_of(gather(0), {f32_value({2}), index_value({2}), index_value({2})}) ==
        "IR-shape: input 2 has shape [2]; it takes one element");
}

TEST_CASE("one slice at a known index is a view") {
  const auto views_of = [](const Shape& data, std::int64_t index, std::int64_t axis) {
    const std::vector<ValueInfo> inputs{f32_value(data), value_of(i64({}, {index})), axis_value(axis)};
    return prepare_kernel(gather(0), inputs, infer_outputs(gather(0), inputs)).views;
  };
  REQUIRE(views_of({3, 4, 5}, -1, 0).size() == 1);
  CHECK(views_of({3, 4, 5}, -1, 0)[0].byte_offset == 2 * 20 * sizeof(float));
  CHECK(views_of({1, 4, 5}, 1, 1)[0].byte_offset == 5 * sizeof(float));
  CHECK(views_of({3, 4, 5}, 1, 1).empty());
  CHECK(views_of({3, 4, 5}, 7, 0).empty());  // zeros
}

TEST_CASE("GatherElements follows the specification's examples") {
  op::v6::GatherElements op;
  check_equal<std::int32_t>(run(op, {i32({2, 2}, {1, 2, 3, 4}), i64({2, 2}, {0, 1, 0, 0})}), {2, 2},
                            {1, 4, 1, 2});
  check_equal<std::int32_t>(
      run(op, {i32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), i32({2, 3}, {1, 0, 1, 1, 2, 0})}), {2, 3},
      {4, 2, 6, 4, 8, 3});
  op.axis = -1;
  check_equal<std::int32_t>(run(op, {i32({2, 2}, {1, 7, 4, 3}), i64({2, 3}, {1, 1, 0, 1, 0, 1})}), {2, 3},
                            {7, 7, 1, 3, 4, 3});
  CHECK(infer_shape(op, {f32_value({3, kAny}), index_value({kAny, 7})}) == PartialShape{3, 7});
  CHECK(infer_shape(op, {f32_value({3, 4}), index_value(PartialShape())}) == PartialShape{3, kAny});
  CHECK(error_of(op, {i32({1, 2}, {1, 2}), i64({1, 1}, {2})}) ==
        "IR-value: element 0 of input 1 (indices) is 2, which addresses nothing");
  CHECK(failure_of(op, {f32_value({3, 4}), index_value({2, 4})}) ==
        "IR-shape: axis 0 of the inputs is 3 and 2; only axis 1 may differ");
  CHECK(failure_of(op, {f32_value({3, 4}), index_value({3})}) ==
        "IR-rank: input 1 has shape [3] of rank 1, GatherElements takes rank 2");
  CHECK(failure_of(op, {f32_value({3, 4}), value(ElementType::u8, {3, 4})}) ==
        "IR-element-type: input 1 is of type u8, GatherElements takes i32, i64");
}

TEST_CASE("GatherND follows the specification's examples") {
  const Tensor two = i32({2, 2}, {1, 2, 3, 4});
  check_equal<std::int32_t>(run(gather<op::v8::GatherND>(0), {two, i64({2, 2}, {0, 0, 1, 0})}), {2}, {1, 3});
  check_equal<std::int32_t>(run(gather<op::v8::GatherND>(0), {two, i64({2, 1, 1}, {1, 0})}), {2, 1, 2},
                            {3, 4, 1, 2});
  check_equal<std::int32_t>(run(gather<op::v8::GatherND>(1), {two, i64({2, 1}, {1, 0})}), {2}, {2, 3});
  check_equal<std::int32_t>(run(gather<op::v8::GatherND>(0), {two, i64({1, 2}, {-1, -2})}), {1}, {3});
  Tensor deep(ElementType::i32, {2, 3, 4});
  std::int32_t next = 1;
  for (auto& element : deep.data<std::int32_t>()) element = next++;
  const Tensor indices = i32({2, 3, 1, 1}, {1, 0, 2, 0, 2, 2});
  check_equal<std::int32_t>(run(gather<op::v8::GatherND>(2), {deep, indices}), {2, 3, 1},
                            {2, 5, 11, 13, 19, 23});
  check_equal<std::int32_t>(run(gather<op::v5::GatherND>(2), {deep, indices}), {6, 1},
                            {2, 5, 11, 13, 19, 23});

  CHECK(infer_shape(gather<op::v8::GatherND>(2), {f32_value({30, 2, 100, 35}), index_value({30, 2, 3, 1})}) ==
        PartialShape{30, 2, 3, 35});
  CHECK(infer_shape(gather<op::v5::GatherND>(2),
                    {f32_value({30, kAny, 100, 35}), index_value({30, 2, 3, 1})}) == PartialShape{60, 3, 35});
  CHECK(infer_shape(gather<op::v8::GatherND>(0), {f32_value({2, 3}), index_value({2, kAny})}) ==
        PartialShape());
  CHECK(failure_of(gather<op::v8::GatherND>(0), {f32_value({2, 3}), index_value({2, 3})}) ==
        "IR-shape: tuples of 3 indices address input 0 of shape [2,3] with 0 batch dims");
  CHECK(failure_of(gather<op::v8::GatherND>(1), {f32_value({2, 3}), index_value({2})}) ==
        "IR-attribute-range: batch_dims is 1; it takes less than the rank of [2]");
  CHECK(failure_of(gather<op::v8::GatherND>(-1), {f32_value({2, 3}), index_value({2})}) ==
        "IR-attribute-range: batch_dims is -1; it takes values of at least 0");
}

TEST_CASE("GatherTree follows beams back, in every numeric type") {
  const std::vector<std::int32_t> steps{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<std::int32_t> parents{0, 0, 0, 0, 1, 1, 2, 1, 2};
  const std::vector<std::int32_t> beams{2, 2, 2, 6, 5, 6, 7, 8, 9};
  for (const ElementType type :
       {ElementType::i32, ElementType::f32, ElementType::u8, ElementType::f16, ElementType::u4}) {
    INFO(name_of(type));
    const Tensor got = run(op::v1::GatherTree{},
                           {i32({3, 1, 3}, steps).converted(type), i32({3, 1, 3}, parents).converted(type),
                            i32({1}, {3}).converted(type), i32({}, {10}).converted(type)});
    CHECK(got.element_type() == type);
    check_equal<std::int32_t>(got.converted(ElementType::i32), {3, 1, 3}, beams);
  }
  CHECK(error_of(op::v1::GatherTree{},
                 {i32({2, 1, 1}, {1, 1}), i32({2, 1, 1}, {0, 3}), i32({1}, {2}), i32({}, {9})}) ==
        "IR-value: element 1 of input 1 (parent beams) is 3, which addresses nothing");
  const auto parts = [](const PartialShape& ids, const PartialShape& lengths) {
    return std::vector{f32_value(ids), f32_value({kAny, 4, kAny}), f32_value(lengths), f32_value(Shape{})};
  };
  CHECK(infer_shape(op::v1::GatherTree{}, parts(PartialShape::of_rank(3), {4})) ==
        PartialShape{kAny, 4, kAny});
  CHECK(failure_of(op::v1::GatherTree{}, parts({3, 4, 2}, {5})) ==
        "IR-shape: input 2 has shape [5]: axis 0 is 5, but batch size is 4");
}

}  // namespace ir::test
