#include "ir_runtime/ops/sparse.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

const op::v16::SparseFillEmptyRows kFill;

}  // namespace

TEST_CASE("SparseFillEmptyRows gives each empty row an entry") {
  const auto results = evaluate(kFill, std::vector{f32({4}, {1, 2, 3, 4}), i32({2}, {5, 6}),
                                                   i32({4, 2}, {4, 4, 0, 1, 1, 2, 3, 3}), f32({}, {99})});
  check_equal<std::int32_t>(results[0], {5, 2}, {0, 1, 1, 2, 2, 0, 3, 3, 4, 4});
  check_equal<float>(results[1], {5}, {2, 3, 99, 4, 1});
  check_equal<bool>(results[2], {5}, {false, false, true, false, false});
}

TEST_CASE("SparseFillEmptyRows fills a matrix without entries, and one without rows") {
  auto results =
      evaluate(kFill, std::vector{i64({0}, {}), i64({2}, {3, 4}), i64({0, 2}, {}), i64({1}, {-1})});
  check_equal<std::int64_t>(results[0], {3, 2}, {0, 0, 1, 0, 2, 0});
  check_equal<std::int64_t>(results[1], {3}, {-1, -1, -1});
  results = evaluate(kFill, std::vector{i64({0}, {}), i64({2}, {0, 4}), i64({0, 2}, {}), i64({}, {-1})});
  CHECK(results[0].shape() == Shape{0, 2});
}

TEST_CASE("SparseFillEmptyRows moves values of any type, strings included") {
  const auto places = i64({2, 2}, {2, 0, 0, 1});
  for (const ElementType type : all_element_types()) {
    if (type == ElementType::string || bits_of(type) < 8 || type == ElementType::f8e8m0) continue;
    INFO(name_of(type));
    const auto results = evaluate(kFill, std::vector{f32({2}, {1, 0}).converted(type), i64({2}, {3, 2}),
                                                     places, f32({}, {1}).converted(type)});
    CHECK(results[1].element_type() == type);
    check_equal<float>(results[1].converted(ElementType::f32), {3}, {0, 1, 1});
  }
  const auto results = evaluate(
      kFill, std::vector{tensor<std::string>({2}, {"a", "b"}), i64({2}, {3, 2}), places,
                         tensor<std::string>({}, {"a string that is too long to be kept in place"})});
  check_equal<std::string>(results[1], {3}, {"b", "a string that is too long to be kept in place", "a"});
  check_equal<bool>(results[2], {3}, {false, true, false});
}

TEST_CASE("SparseFillEmptyRows knows its shapes from the places and the matrix") {
  const auto values = value(ElementType::f32, PartialShape{4});
  const auto places = value(ElementType::i32, {4, 2});
  const auto one = value(ElementType::f32, Shape());
  const auto shape = value(ElementType::i32, PartialShape{2});
  const auto known = value_of(i32({2}, {6, 3}));
  CHECK(infer_shape(kFill, {values, known, value_of(i32({4, 2}, {0, 0, 5, 1, 5, 0, 2, 2})), one}) ==
        PartialShape{7, 2});
  CHECK(infer_shape(kFill, {values, known, places, one}, 1) == PartialShape{{6, 10}});
  CHECK(infer_shape(kFill, {values, known, places, one}, 2) == PartialShape{6});
  CHECK(infer_shape(kFill, {values, shape, places, one}, 1) == PartialShape{{4, Dimension::kUnbounded}});
  CHECK(infer_shape(
            kFill,
            {value(ElementType::f32, PartialShape()), shape, value(ElementType::i32, PartialShape()), one},
            2) == PartialShape{Dimension()});
}

TEST_CASE("SparseFillEmptyRows refuses what is no sparse matrix") {
  const auto values = value(ElementType::f32, PartialShape{4});
  const auto places = value(ElementType::i32, {4, 2});
  const auto one = value(ElementType::f32, Shape());
  const auto shape = value(ElementType::i32, PartialShape{2});
  CHECK(failure_of(kFill, {values, shape, places}) ==
        "IR-input-count: has 3 inputs, SparseFillEmptyRows takes 4");
  CHECK(failure_of(kFill, {values, shape, places, value(ElementType::f64, Shape())}) ==
        "IR-element-type: inputs 0 and 3 are of types f32 and f64, SparseFillEmptyRows takes one type");
  CHECK(failure_of(kFill, {values, value(ElementType::i64, PartialShape{2}), places, one}) ==
        "IR-element-type: inputs 1 and 2 are of types i64 and i32, SparseFillEmptyRows takes one type");
  CHECK(failure_of(kFill,
                   {values, value(ElementType::u8, PartialShape{2}), value(ElementType::u8, {4, 2}), one}) ==
        "IR-element-type: input 1 is of type u8, SparseFillEmptyRows takes i32, i64");
  CHECK(failure_of(kFill, {values, value(ElementType::i32, PartialShape{3}), places, one}) ==
        "IR-shape: input 1 has shape [3]: axis 0 is 3, but the rank of the matrix is 2");
  CHECK(failure_of(kFill, {values, shape, value(ElementType::i32, {5, 2}), one}) ==
        "IR-shape: input 2 has shape [5,2]: axis 0 is 5, but the number of values is 4");
  CHECK(failure_of(kFill, {values, value_of(i32({2}, {-1, 2})), places, one}) ==
        "IR-value: dim 0 of the matrix is -1");
  CHECK(failure_of(kFill, {value(ElementType::f32, PartialShape{1}), value_of(i32({2}, {3, 2})),
                           value_of(i32({1, 2}, {0, 2})), one}) ==
        "IR-value: value 0 lies at [0,2], outside of the matrix of shape [3,2]");
}

}  // namespace ir::test
