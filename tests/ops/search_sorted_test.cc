#include "ir_runtime/ops/search_sorted.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

constexpr std::initializer_list<ElementType> kNumbers{ElementType::f16, ElementType::bf16, ElementType::f32,
                                                      ElementType::f64, ElementType::i8,   ElementType::i16,
                                                      ElementType::i32, ElementType::i64,  ElementType::u8,
                                                      ElementType::u16, ElementType::u32,  ElementType::u64};

op::v15::SearchSorted searching(bool right) {
  op::v15::SearchSorted op;
  op.right_mode = right;
  return op;
}

}  // namespace

TEST_CASE("SearchSorted searches a vector for values of any shape") {
  const Tensor sorted = i32({5}, {1, 3, 5, 7, 9});
  const Tensor values = i32({2, 1, 3}, {3, 6, 20, 9, 0, 1});
  check_equal<std::int64_t>(run(searching(false), {sorted, values}), {2, 1, 3}, {1, 3, 5, 4, 0, 0});
  check_equal<std::int64_t>(run(searching(true), {sorted, values}), {2, 1, 3}, {2, 3, 5, 5, 0, 1});
  check_equal<std::int64_t>(run(searching(true), {sorted, i32({}, {5})}), {}, {3});
}

TEST_CASE("SearchSorted searches each row for the values of that row") {
  const Tensor sorted = f32({2, 1, 3}, {1, 3, 5, 2, 4, 4});
  const Tensor values = f32({2, 1, 2}, {3, 6, 3, 4});
  check_equal<std::int64_t>(run(searching(false), {sorted, values}), {2, 1, 2}, {1, 3, 1, 1});
  check_equal<std::int64_t>(run(searching(true), {sorted, values}), {2, 1, 2}, {2, 3, 1, 3});
}

TEST_CASE("SearchSorted takes every numeric type and empty tensors") {
  for (const ElementType type : kNumbers) {
    check_equal<std::int64_t>(
        run(searching(true), {f32({3}, {1, 2, 3}).converted(type), f32({2}, {2, 9}).converted(type)}), {2},
        {2, 3});
  }
  check_equal<std::int64_t>(run(searching(false), {f32({0}, {}), f32({2}, {2, 9})}), {2}, {0, 0});
  check_equal<std::int64_t>(run(searching(false), {f32({2, 0}, {}), f32({2, 1}, {2, 9})}), {2, 1}, {0, 0});
  CHECK(run(searching(false), {f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({2, 0}, {})}).shape() == Shape{2, 0});
}

TEST_CASE("SearchSorted gives the type of positions that is asked for") {
  op::v15::SearchSorted op = searching(true);
  op.output_type = ElementType::i32;
  check_equal<std::int32_t>(run(op, {i32({5}, {1, 3, 5, 7, 9}), i32({2, 2}, {3, 6, 20, 9})}), {2, 2},
                            {2, 3, 5, 5});
  op.output_type = ElementType::f32;
  CHECK(failure_of(op, {value(ElementType::f32, {3}), value(ElementType::f32, {3})}) ==
        "IR-attribute-value: output_type is f32; it takes i32 or i64");
}

TEST_CASE("SearchSorted has the shape of the values") {
  const auto infer = [](PartialShape sorted, PartialShape values) {
    return infer_shape(searching(false), {value(ElementType::f32, std::move(sorted)),
                                          value(ElementType::f32, std::move(values))});
  };
  CHECK(infer({7, 256, 200, 200}, {7, 256, 200, 10}) == PartialShape{7, 256, 200, 10});
  CHECK(infer({Dimension(2, 4), 9}, {Dimension(3, 8), Dimension()}) ==
        PartialShape{Dimension(3, 4), Dimension()});
  CHECK(infer({3, 9}, PartialShape()) == PartialShape{3, Dimension()});
  CHECK(infer({9}, PartialShape()) == PartialShape());
  CHECK(infer(PartialShape(), {3, Dimension()}) == PartialShape{3, Dimension()});
}

TEST_CASE("SearchSorted refuses inputs that do not fit together") {
  const auto failure = [](const ValueInfo& sorted, const ValueInfo& values) {
    return failure_of(searching(false), {sorted, values});
  };
  const ValueInfo scalar = value(ElementType::f32, PartialShape(Shape{}));
  const ValueInfo matrix = value(ElementType::f32, {2, 3});
  CHECK(failure_of(searching(false), {matrix}) == "IR-input-count: has 1 inputs, SearchSorted takes 2");
  CHECK(failure(scalar, matrix) == "IR-rank: input 0 is a scalar, SearchSorted takes rank 1 and above");
  CHECK(failure(matrix, scalar) == "IR-rank: input 1 has shape [] of rank 0, SearchSorted takes rank 2");
  CHECK(failure(matrix, value(ElementType::f32, {3, 3})) ==
        "IR-shape: inputs 0 and 1 have shapes [2,3] and [3,3]: all axes but the last agree, axis 0 does not");
  CHECK(failure(matrix, value(ElementType::i32, {2, 3})) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and i32, SearchSorted takes one type");
  CHECK(failure(value(ElementType::boolean, {3}), value(ElementType::boolean, {3})) ==
        "IR-element-type: input 0 is of type boolean, SearchSorted takes a numeric type");
}

TEST_CASE("Bucketize gives the specification's example") {
  op::v3::Bucketize op;
  const std::vector<Tensor> inputs{i32({2, 2}, {3, 50, 10, -1}), i64({3}, {0, 5, 10})};
  check_equal<std::int64_t>(run(op, inputs), {2, 2}, {1, 3, 2, 0});
  op.with_right_bound = false;
  op.output_type = ElementType::i32;
  check_equal<std::int32_t>(run(op, inputs), {2, 2}, {1, 3, 3, 0});
}

TEST_CASE("Bucketize takes every pair of numeric types, and no boundaries") {
  for (const ElementType data : kNumbers) {
    for (const ElementType boundaries : kNumbers) {
      INFO(name_of(data) << " in " << name_of(boundaries));
      check_equal<std::int64_t>(run(op::v3::Bucketize(), {f32({3}, {1, 4, 5}).converted(data),
                                                          f32({2}, {1, 4}).converted(boundaries)}),
                                {3}, {0, 1, 2});
    }
  }
  check_equal<std::int64_t>(run(op::v3::Bucketize(), {f32({2}, {1, 4}), f32({0}, {})}), {2}, {0, 0});
  CHECK(run(op::v3::Bucketize(), {f32({0, 3}, {}), f32({1}, {1})}).shape() == Shape{0, 3});
}

TEST_CASE("Bucketize has the shape of its elements and takes a vector of boundaries") {
  const op::v3::Bucketize op;
  const ValueInfo vector = value(ElementType::i32, {Dimension()});
  CHECK(infer_shape(op, {value(ElementType::f32, {2, Dimension(1, 5)}), vector}) ==
        PartialShape{2, Dimension(1, 5)});
  CHECK(infer_shape(op, {value(ElementType::f32, PartialShape()), vector}) == PartialShape());
  CHECK(failure_of(op, {vector}) == "IR-input-count: has 1 inputs, Bucketize takes 2");
  CHECK(failure_of(op, {vector, value(ElementType::f32, {2, 3})}) ==
        "IR-rank: input 1 has shape [2,3] of rank 2, Bucketize takes rank 1");
  CHECK(failure_of(op, {value(ElementType::boolean, {2}), vector}) ==
        "IR-element-type: input 0 is of type boolean, Bucketize takes a numeric type");
  op::v3::Bucketize bad;
  bad.output_type = ElementType::f32;
  CHECK(failure_of(bad, {vector, vector}) == "IR-attribute-value: output_type is f32; it takes i32 or i64");
}

}  // namespace ir::test
