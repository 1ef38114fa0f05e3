#include "ir_runtime/ops/scatter.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const Dimension kAny;

ValueInfo f32_value(const PartialShape& shape) { return value(ElementType::f32, shape); }
ValueInfo index_value(const PartialShape& shape) { return value(ElementType::i64, shape); }
ValueInfo axis_value(std::int64_t axis) { return value_of(i64({}, {axis})); }

op::v12::ScatterElementsUpdate elements(op::ElementsReduction reduction, bool use_init_val = true) {
  op::v12::ScatterElementsUpdate op;
  op.reduction = reduction;
  op.use_init_val = use_init_val;
  return op;
}

op::v15::ScatterNDUpdate slices(op::SlicesReduction reduction) {
  op::v15::ScatterNDUpdate op;
  op.reduction = reduction;
  return op;
}

}  // namespace

TEST_CASE("ScatterUpdate replaces slices along an axis") {
  const op::v3::ScatterUpdate op;
  check_equal<float>(run(op, {f32({3, 5}, {-1, 1, -1, 3, 4, -1, 6, -1, 8, 9, -1, 11, 1, 13, 14}),
                              i64({2}, {0, 2}), f32({3, 2}, {1, 1, 1, 1, 1, 2}), i64({1}, {1})}),
                     {3, 5}, {1, 1, 1, 3, 4, 1, 6, 1, 8, 9, 1, 11, 2, 13, 14});
  check_equal<std::int32_t>(run(op, {i32({3}, {1, 2, 3}), i32({}, {1}), i32({}, {9}), i32({}, {0})}), {3},
                            {1, 9, 3});
  CHECK(infer_shape(op, {f32_value({kAny, 3}), index_value({2}), f32_value({2, kAny}), axis_value(0)}) ==
        PartialShape{kAny, 3});
  CHECK(error_of(op, {i32({2}, {1, 2}), i32({1}, {2}), i32({1}, {9}), i32({}, {0})}) ==
        "IR-value: element 0 of input 1 (indices) is 2, which addresses nothing");
  CHECK(failure_of(op, {f32_value({3, 5}), index_value({2}), f32_value({5}), axis_value(0)}) ==
        "IR-rank: input 2 has shape [5] of rank 1, ScatterUpdate takes rank 2");
  CHECK(
      failure_of(op, {f32_value({3, 5}), index_value({2}), value(ElementType::i32, {2, 5}), axis_value(0)}) ==
      "IR-element-type: inputs 0 and 2 are of types f32 and i32, ScatterUpdate takes one type");
}

TEST_CASE("ScatterUpdate takes updates of one shape when its axis is known") {
  const op::v3::ScatterUpdate op;
  const auto failure = [&](const PartialShape& updates, const ValueInfo& axis) {
    return failure_of(op, {f32_value({2, 3, 4}), index_value({2, 1}), f32_value(updates), axis});
  };
  CHECK(failure({2, 1, 3, 4}, axis_value(0)) == "no failure");
  CHECK(failure({2, 2, 1, 4}, axis_value(-2)) == "no failure");
  CHECK(failure({2, 3, 1, 4}, axis_value(1)) ==
        "IR-shape: the updates have shape [2,3,1,4]; data of shape [2,3,4] and indices of shape [2,1] along "
        "axis 1 take [2,2,1,4]");
  CHECK(failure({2, 2, 1, 5}, axis_value(1)) ==
        "IR-shape: the updates have shape [2,2,1,5]; data of shape [2,3,4] and indices of shape [2,1] along "
        "axis 1 take [2,2,1,4]");
  CHECK(failure({kAny, Dimension(3, 5), 1, 4}, axis_value(1)) ==
        "IR-shape: the updates have shape [?,3..5,1,4]; data of shape [2,3,4] and indices of shape [2,1] "
        "along axis 1 take [2,2,1,4]");
  CHECK(failure({2, 3, 1, 4}, value(ElementType::i64, Shape{})) == "no failure");
  CHECK(failure_of(op, {f32_value({kAny, 3}), index_value({kAny}), f32_value({2, 4}), axis_value(0)}) ==
        "IR-shape: the updates have shape [2,4]; data of shape [?,3] and indices of shape [?] along axis 0 "
        "take [?,3]");
}

TEST_CASE("ScatterUpdate takes updates of another shape as OpenVINO does when only a run knows the axis") {
  const op::v3::ScatterUpdate op;
  std::vector<std::int32_t> many(24);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int32_t>(i) + 1;
  const Tensor zeros = i32({2, 2, 2}, std::vector<std::int32_t>(8));
  check_equal<std::int32_t>(run(op, {zeros, i32({1, 2}, {0, 1}), i32({2, 2, 3, 2}, many), i32({}, {1})}),
                            {2, 2, 2}, {1, 2, 3, 4, 13, 14, 15, 16});
  check_equal<std::int32_t>(run(op, {zeros, i32({2, 1}, {1, 0}), i32({2, 2, 3, 2}, many), i32({}, {2})}),
                            {2, 2, 2}, {2, 1, 8, 7, 14, 13, 20, 19});
}

TEST_CASE("ScatterElementsUpdate follows the specification's examples") {
  using op::ElementsReduction;
  const Tensor data = f32({4}, {2, 3, 4, 6});
  const Tensor indices = i64({6}, {1, 0, 0, -2, -1, 2});
  const Tensor updates = f32({6}, {10, 20, 30, 40, 70, 60});
  const Tensor axis = i64({1}, {0});
  check_close(run(elements(ElementsReduction::sum), {data, indices, updates, axis}), {4}, {52, 13, 104, 76});
  check_close(run(elements(ElementsReduction::sum, false), {data, indices, updates, axis}), {4},
              {50, 10, 100, 70});
  check_close(run(elements(ElementsReduction::mean), {data, indices, updates, axis}), {4},
              {52.0F / 3, 6.5F, 104.0F / 3, 38});
  check_close(run(elements(ElementsReduction::min), {data, indices, updates, axis}), {4}, {2, 3, 4, 6});
  check_close(run(elements(ElementsReduction::max), {data, indices, updates, axis}), {4}, {30, 10, 60, 70});

  const Tensor pairs = i64({2, 2}, {1, 2, 0, 3});
  const Tensor numbers = i32({2, 2}, {11, 12, 13, 14});
  check_equal<std::int32_t>(run(op::v3::ScatterElementsUpdate{},
                                {i32({3, 4}, std::vector<std::int32_t>(12)), pairs, numbers, i64({}, {1})}),
                            {3, 4}, {0, 11, 12, 0, 13, 0, 0, 14, 0, 0, 0, 0});
  check_equal<std::int32_t>(
      run(elements(ElementsReduction::prod),
          {i32({3, 4}, std::vector<std::int32_t>(12, 2)), i64({2, 2}, {1, 1, 0, 3}), numbers, i64({}, {1})}),
      {3, 4}, {2, 264, 2, 2, 26, 2, 2, 28, 2, 2, 2, 2});
  // Booleans: sum is or, prod is and.
  const auto truth = [](std::vector<std::uint8_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return tensor<std::uint8_t>({count}, std::move(values)).converted(ElementType::boolean);
  };
  check_equal<bool>(
      run(elements(ElementsReduction::sum), {truth({0, 1}), i64({2}, {0, 1}), truth({1, 0}), axis}), {2},
      {true, true});
  check_equal<bool>(
      run(elements(ElementsReduction::prod), {truth({1, 1}), i64({2}, {0, 1}), truth({1, 0}), axis}), {2},
      {true, false});
}

TEST_CASE("ScatterElementsUpdate infers and rejects") {
  const op::v3::ScatterElementsUpdate op;
  CHECK(infer_shape(op, {f32_value({2, kAny, 5}), index_value({kAny, 2, 2}), f32_value({2, 2, kAny}),
                         value(ElementType::i16, PartialShape())}) == PartialShape{2, kAny, 5});
  CHECK(failure_of(op, {f32_value({2, 5}), index_value({2, 2}), f32_value({2, 3}), axis_value(0)}) ==
        "IR-shape: the indices have shape [2,2], the updates [2,3]");
  CHECK(failure_of(op, {f32_value({2, 5}), index_value({2}), f32_value({2}), axis_value(0)}) ==
        "IR-rank: the indices have shape [2], which is not of the rank of input 0 of shape [2,5]");
  CHECK(failure_of(op, {f32_value({2, 5}), index_value({3, 6}), f32_value({3, 6}), axis_value(0)}) ==
        "IR-shape: axis 1 of the indices has 6 elements, input 0 has 5");
  CHECK(failure_of(op, {f32_value({2, 5}), index_value({3, 5}), f32_value({3, 5}), axis_value(0)}) ==
        "no failure");
}

TEST_CASE("ScatterNDUpdate follows the specification's examples") {
  using op::SlicesReduction;
  check_equal<std::int32_t>(
      run(op::v3::ScatterNDUpdate{}, {i32({8}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({6, 1}, {4, 3, 1, 7, -2, -4}),
                                      i32({6}, {9, 10, 11, 12, 13, 14})}),
      {8}, {1, 11, 3, 10, 14, 6, 13, 12});
  const Tensor data = f32({4}, {1, 2, 3, 4});
  const Tensor indices = i32({5, 1}, {0, 2, -3, -3, 0});
  const Tensor updates = f32({5}, {10, 20, 30, 40, 50});
  check_close(run(slices(SlicesReduction::none), {data, indices, updates}), {4}, {50, 40, 20, 4});
  check_close(run(slices(SlicesReduction::sum), {data, indices, updates}), {4}, {61, 72, 23, 4});
  check_close(run(slices(SlicesReduction::sub), {data, indices, updates}), {4}, {-59, -68, -17, 4});
  check_close(run(slices(SlicesReduction::prod), {data, indices, updates}), {4}, {500, 2400, 60, 4});
  check_close(run(slices(SlicesReduction::min), {data, indices, updates}), {4}, {1, 2, 3, 4});
  check_close(run(slices(SlicesReduction::max), {data, indices, updates}), {4}, {50, 40, 20, 4});
  check_equal<std::int32_t>(
      run(op::v3::ScatterNDUpdate{}, {i32({2, 2}, {1, 2, 3, 4}), i64({1, 1}, {1}), i32({1, 2}, {8, 9})}),
      {2, 2}, {1, 2, 8, 9});
  check_equal<std::int32_t>(
      run(op::v3::ScatterNDUpdate{}, {i32({2, 2}, {1, 2, 3, 4}), i64({2}, {0, 1}), i32({1}, {9})}), {2, 2},
      {1, 9, 3, 4});

  for (const ElementType type : {ElementType::i16, ElementType::u32}) {
    CHECK(failure_of(op::v3::ScatterNDUpdate{}, {f32_value({4}), value(type, Shape{5, 1}), f32_value({5})})
              .starts_with("IR-element-type: input 1 is of type "));
  }
  CHECK(failure_of(slices(SlicesReduction::sum),
                   {f32_value({4}), value(ElementType::i16, Shape{5, 1}), f32_value({5})}) ==
        "IR-element-type: input 1 is of type i16, ScatterNDUpdate takes i32, i64");
  CHECK(failure_of(op::v3::ScatterNDUpdate{}, {f32_value({4, 3}), index_value({5, 1}), f32_value({5})}) ==
        "IR-shape: the updates have shape [5]; indices [5,1] into data [4,3] take [5,3]");
  CHECK(failure_of(op::v3::ScatterNDUpdate{}, {f32_value({4}), index_value({5, 2}), f32_value({5})}) ==
        "IR-shape: tuples of 2 indices address input 0 of shape [4]");
  CHECK(error_of(op::v3::ScatterNDUpdate{}, {i32({2}, {1, 2}), i64({1, 1}, {-3}), i32({1}, {8})}) ==
        "IR-value: element 0 of input 1 (indices) is -3, which addresses nothing");
}

TEST_CASE("scatters of types without the arithmetic of a reduction are refused before they are prepared") {
  const auto elements_of = [](op::ElementsReduction reduction, ElementType type) {
    return failure_of(elements(reduction), {value(type, Shape{4}), index_value({2}), value(type, Shape{2}),
                                            value(ElementType::i64, Shape{})});
  };
  CHECK(elements_of(op::ElementsReduction::sum, ElementType::string) ==
        "IR-element-type: input 0 is of type string, which ScatterElementsUpdate does not take");
  CHECK(elements_of(op::ElementsReduction::none, ElementType::string) == "no failure");
  CHECK(failure_of(elements(op::ElementsReduction::sum), {}) ==
        "IR-input-count: has 0 inputs, ScatterElementsUpdate takes 4");
  CHECK(failure_of(slices(op::SlicesReduction::sum), {}) ==
        "IR-input-count: has 0 inputs, ScatterNDUpdate takes 3");
  CHECK(elements_of(op::ElementsReduction::mean, ElementType::boolean) ==
        "IR-element-type: input 0 is of type boolean, of which there is no mean");
  CHECK(elements_of(op::ElementsReduction::sum, ElementType::boolean) == "no failure");
  const auto slices_of = [](op::SlicesReduction reduction) {
    const ValueInfo text = value(ElementType::string, Shape{4});
    return failure_of(slices(reduction), {text, index_value({2, 1}), value(ElementType::string, Shape{2})});
  };
  CHECK(slices_of(op::SlicesReduction::max) ==
        "IR-element-type: input 0 is of type string, which ScatterNDUpdate does not take");
  CHECK(slices_of(op::SlicesReduction::none) == "no failure");
}

TEST_CASE("scatters of packed types replace, and do not compute") {
  const Tensor data = i32({5}, {1, 2, 3, 4, 5}).converted(ElementType::u4);
  const Tensor got = run(elements(op::ElementsReduction::none),
                         {data, i64({2}, {4, 0}), i32({2}, {9, 8}).converted(ElementType::u4), i64({}, {0})});
  check_equal<std::int32_t>(got.converted(ElementType::i32), {5}, {8, 2, 3, 4, 9});
  CHECK(error_of(elements(op::ElementsReduction::sum),
                 {data, i64({1}, {4}), i32({1}, {9}).converted(ElementType::u4), i64({}, {0})}) ==
        "IR-unsupported: no kernel for a scatter reduction of type u4");
}

}  // namespace ir::test
