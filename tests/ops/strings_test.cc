#include "ir_runtime/ops/strings.h"

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/select.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/slicing.h"
#include "ir_runtime/ops/type_conversion.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const std::string kLong = "a string that is too long to be kept in place";

Tensor strings(Shape shape, std::vector<std::string> values) {
  return tensor<std::string>(std::move(shape), std::move(values));
}

Tensor characters(const std::string& text) {
  return tensor<std::uint8_t>({static_cast<std::int64_t>(text.size())}, {text.begin(), text.end()});
}

ValueInfo string_value(PartialShape shape) { return value(ElementType::string, std::move(shape)); }

}  // namespace

TEST_CASE("StringTensorPack cuts characters into strings") {
  const op::v15::StringTensorPack op;
  check_equal<std::string>(run(op, {i64({2, 2}, {0, 5, 13, 16}), i64({2, 2}, {5, 13, 16, 21}),
                                    characters("IntelOpenVINOOMZGenAI")}),
                           {2, 2}, {"Intel", "OpenVINO", "OMZ", "GenAI"});
  check_equal<std::string>(run(op, {i32({2}, {0, 8}), i32({2}, {1, 9}), characters("123456789")}), {2},
                           {"1", "9"});
  check_equal<std::string>(run(op, {i32({1, 3}, {0, 0, 0}), i32({1, 3}, {0, 0, 0}), characters("")}), {1, 3},
                           {"", "", ""});
  CHECK(run(op, {i32({0}, {}), i32({0}, {}), characters("")}).shape() == Shape{0});
}

TEST_CASE("StringTensorUnpack puts the characters of strings together") {
  const auto results =
      evaluate(op::v15::StringTensorUnpack(), std::vector{strings({1, 3}, {"OMZ", "", "Gen\xC3\xA4"})});
  check_equal<std::int32_t>(results[0], {1, 3}, {0, 3, 3});
  check_equal<std::int32_t>(results[1], {1, 3}, {3, 3, 8});
  check_equal<std::uint8_t>(results[2], {8}, {'O', 'M', 'Z', 'G', 'e', 'n', 0xC3, 0xA4});
  CHECK(evaluate(op::v15::StringTensorUnpack(), std::vector{strings({0}, {})})[2].shape() == Shape{0});
}

TEST_CASE("String tensors have the shapes of their indices") {
  const auto index = value(ElementType::i32, {2, Dimension()});
  const auto symbols = value(ElementType::u8, PartialShape{Dimension()});
  const op::v15::StringTensorPack pack;
  const op::v15::StringTensorUnpack unpack;
  CHECK(infer_shape(pack, {index, value(ElementType::i32, {Dimension(), 3}), symbols}) == PartialShape{2, 3});
  CHECK(infer_outputs(pack, std::vector{index, index, symbols})[0].type == ElementType::string);
  CHECK(infer_shape(unpack, {string_value({2, Dimension()})}, 1) == PartialShape{2, Dimension()});
  CHECK(infer_shape(unpack, {string_value(PartialShape())}, 2) == PartialShape{Dimension()});
  // Constants are evaluated.
  const auto known = infer_outputs(unpack, std::vector{value_of(strings({2}, {"ab", "c"}))});
  CHECK(known[2].shape == PartialShape{3});
  REQUIRE(known[1].constant);
  check_equal<std::int32_t>(*known[1].constant, {2}, {2, 3});
}

TEST_CASE("String operations refuse other types and ranges outside of the characters") {
  const auto index = value(ElementType::i32, PartialShape{2});
  const auto symbols = value(ElementType::u8, PartialShape{9});
  const op::v15::StringTensorPack pack;
  CHECK(failure_of(pack, {index, index}) == "IR-input-count: has 2 inputs, StringTensorPack takes 3");
  CHECK(failure_of(pack, {value(ElementType::u32, PartialShape{2}), index, symbols}) ==
        "IR-element-type: input 0 is of type u32, StringTensorPack takes i32, i64");
  CHECK(failure_of(pack, {value(ElementType::i64, PartialShape{2}), index, symbols}) ==
        "IR-element-type: inputs 0 and 1 are of types i64 and i32, StringTensorPack takes one type");
  CHECK(failure_of(pack, {index, index, value(ElementType::i8, PartialShape{9})}) ==
        "IR-element-type: input 2 is of type i8, StringTensorPack takes u8");
  CHECK(failure_of(pack, {index, index, value(ElementType::u8, {3, 3})}) ==
        "IR-rank: input 2 has shape [3,3] of rank 2, StringTensorPack takes rank 1");
  CHECK(failure_of(pack, {index, value(ElementType::i32, PartialShape{3}), symbols}) ==
        "IR-shape: the beginnings have shape [2], the ends [3]");
  CHECK(failure_of(op::v15::StringTensorUnpack(), {symbols}) ==
        "IR-element-type: input 0 is of type u8, StringTensorUnpack takes string");
  CHECK(error_of(pack, {i32({1}, {1}), i32({1}, {4}), characters("abc")}) ==
        "IR-value: string 0 goes from 1 to 4; there are 3 characters, and strings may have 2147483647");
}

TEST_CASE("Strings move as other elements do") {
  const Tensor six = strings({2, 3}, {"a", kLong, "c", "d", "", "f"});
  op::v0::Concat concat;
  concat.axis = 1;
  check_equal<std::string>(run(concat, {six, strings({2, 1}, {"x", "y"}), strings({2, 0}, {})}), {2, 4},
                           {"a", kLong, "c", "x", "d", "", "f", "y"});
  check_equal<std::string>(run(op::v1::Transpose(), {six, i64({2}, {1, 0})}), {3, 2},
                           {"a", "d", kLong, "", "c", "f"});
  op::v1::Reshape reshape;
  check_equal<std::string>(run(reshape, {six, i64({1}, {-1})}), {6}, {"a", kLong, "c", "d", "", "f"});
  check_equal<std::string>(run(op::v0::Unsqueeze(), {six, i64({1}, {0})}), {1, 2, 3},
                           {"a", kLong, "c", "d", "", "f"});
  check_equal<std::string>(run(op::v0::Squeeze(), {strings({1, 1}, {kLong})}), {}, {kLong});
  check_equal<std::string>(run(op::v8::Gather(), {six, i32({2}, {2, -2}), i64({}, {1})}), {2, 2},
                           {"c", kLong, "f", ""});
  // Gather of one known row is a view elsewhere.
  check_equal<std::string>(run(op::v8::Gather(), {six, i32({}, {1}), i64({}, {0})}), {3}, {"d", "", "f"});
  // What Gather-8 makes up is empty.
  check_equal<std::string>(run(op::v8::Gather(), {six, i32({2}, {0, 7}), i64({}, {0})}), {2, 3},
                           {"a", kLong, "c", "", "", ""});
  check_equal<std::string>(run(op::v8::Slice(), {six, i64({2}, {0, 2}), i64({2}, {2, 0}), i64({2}, {1, -1})}),
                           {2, 2}, {"c", kLong, "f", ""});
  check_equal<std::string>(run(op::v3::Broadcast(), {strings({2, 1}, {"a", kLong}), i64({2}, {2, 2})}),
                           {2, 2}, {"a", "a", kLong, kLong});
  check_equal<std::string>(run(op::v0::Tile(), {strings({1}, {"ab"}), i64({1}, {2})}), {2}, {"ab", "ab"});
  op::v1::Split split;
  split.num_splits = 2;
  const auto halves = evaluate(split, std::vector{six, i64({}, {0})});
  check_equal<std::string>(halves[1], {1, 3}, {"d", "", "f"});
  check_equal<std::int64_t>(run(op::v3::ShapeOf(), {six}), {2}, {2, 3});
}

TEST_CASE("Results that are views of strings are copies") {
  Tensor source = strings({2}, {"a", "b"});
  const Tensor seen = run(op::v1::Reshape(), {source, i64({2}, {2, 1})});
  source.data<std::string>()[0] = "changed";
  check_equal<std::string>(seen, {2, 1}, {"a", "b"});
}

TEST_CASE("What computes refuses strings") {
  const auto two = string_value({2});
  op::v0::Convert convert;
  convert.destination_type = ElementType::i32;
  CHECK(failure_of(convert, {two}) == "IR-element-type: input 0 is of type string, which has no conversion");
  CHECK(failure_of(op::v1::Add(), {two, two}) ==
        "IR-element-type: input 0 is of type string, Add takes a numeric type");
  CHECK(failure_of(op::v1::Equal(), {two, two}) ==
        "IR-element-type: input 0 is of type string, Equal takes a numeric type");
  CHECK(failure_of(op::v1::Select(), {value(ElementType::boolean, Shape{2}), two, two}) ==
        "IR-element-type: input 1 is of type string, which Select does not take");
}

}  // namespace ir::test
