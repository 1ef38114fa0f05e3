#include "ir_runtime/ops/type_conversion.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::v0::Convert;
using op::v1::ConvertLike;
using op::v14::ConvertPromoteTypes;
using E = ElementType;

ConvertPromoteTypes unsafe() {
  ConvertPromoteTypes op;
  op.promote_unsafe = true;
  return op;
}

std::vector<ValueInfo> pair(ElementType a, ElementType b, Shape shape_a = {2}, Shape shape_b = {2}) {
  return {value(a, std::move(shape_a)), value(b, std::move(shape_b))};
}

std::string promoted(const ConvertPromoteTypes& op, const std::vector<ValueInfo>& inputs) {
  const std::vector<ValueInfo> outputs = infer_outputs(op, inputs);
  CHECK(outputs[0].type == outputs[1].type);
  CHECK(outputs[0].shape == inputs[0].shape);
  CHECK(outputs[1].shape == inputs[1].shape);
  return std::string(name_of(outputs[0].type));
}

}  // namespace

TEST_CASE("Convert gives another type") {
  check_equal<std::int32_t>(run(Convert(E::i32), {f32({3}, {1.9F, -1.9F, 3})}), {3}, {1, -1, 3});
  check_equal<float>(run(Convert(E::f32), {i64({2}, {-1, 2})}), {2}, {-1, 2});
  check_equal<bool>(run(Convert(E::boolean), {f32({3}, {0, 0.5F, -2})}), {3}, {false, true, true});
  check_equal<float>(run(Convert(E::f32), {f32({2}, {1, 2})}), {2}, {1, 2});
  const Tensor half = run(Convert(E::f16), {f32({2}, {1, 2})});
  CHECK(half.element_type() == E::f16);
  check_equal<float>(run(Convert(E::f32), {half}), {2}, {1, 2});
  const Tensor packed = run(Convert(E::u4), {i32({3}, {1, 15, 7})});
  CHECK(packed.byte_size() == 2);
  check_equal<std::int32_t>(run(Convert(E::i32), {packed}), {3}, {1, 15, 7});
}

TEST_CASE("Convert carries dims from one integer type to another") {
  ValueInfo dims = value(E::i64, Shape{2});
  dims.elements = std::vector<Dimension>{Dimension(), 4};
  CHECK(infer_outputs(Convert(E::i32), std::vector{dims})[0].elements == dims.elements);
  CHECK_FALSE(infer_outputs(Convert(E::f32), std::vector{dims})[0].elements.has_value());
}

TEST_CASE("Convert rejects strings") {
  CHECK(failure_of(Convert(E::i32), {value(E::string, Shape{1})}) ==
        "IR-element-type: input 0 is of type string, which has no conversion");
  CHECK(failure_of(Convert(E::string), {value(E::i32, Shape{1})}) ==
        "IR-attribute-value: destination_type is string, to which nothing is converted");
}

TEST_CASE("ConvertLike takes the type of input 1") {
  check_equal<std::int32_t>(run(ConvertLike{}, {f32({2}, {1.5F, 2}), i32({3}, {0, 0, 0})}), {2}, {1, 2});
  const auto outputs =
      infer_outputs(ConvertLike{}, std::vector{value(E::f16, PartialShape()), value(E::u8, PartialShape())});
  CHECK(outputs[0].type == E::u8);
  CHECK(outputs[0].shape == PartialShape());
}

TEST_CASE("ConvertPromoteTypes follows the examples of the specification") {
  CHECK(promoted({}, pair(E::i8, E::f32)) == "f32");
  CHECK(promoted({}, pair(E::i32, E::u8)) == "i32");
  CHECK(promoted({}, pair(E::f16, E::f32)) == "f32");
  CHECK(promoted({}, pair(E::boolean, E::u8)) == "u8");
  CHECK(promoted({}, pair(E::f16, E::f16)) == "f16");
  CHECK(promoted({}, pair(E::dynamic, E::f16)) == "dynamic");
  CHECK(promoted({}, pair(E::u8, E::u64)) == "u64");
  CHECK(promoted(unsafe(), pair(E::f16, E::i64)) == "f16");
  CHECK(promoted(unsafe(), pair(E::f64, E::u64)) == "f64");
  CHECK(promoted(unsafe(), pair(E::i8, E::u8)) == "i16");
  CHECK(promoted(unsafe(), pair(E::i16, E::u32)) == "i64");
  CHECK(promoted(unsafe(), pair(E::f16, E::bf16)) == "f32");
  CHECK(promoted(unsafe(), pair(E::f8e4m3, E::f8e5m2)) == "f16");
  CHECK(promoted(unsafe(), pair(E::u64, E::i8)) == "f32");
  CHECK(promoted(unsafe(), pair(E::u1, E::i4)) == "i4");
}

TEST_CASE("ConvertPromoteTypes gives a scalar the type of a tensor, as PyTorch does") {
  ConvertPromoteTypes op = unsafe();
  op.pytorch_scalar_promotion = true;
  CHECK(promoted(op, pair(E::i64, E::u8, {}, {2})) == "u8");
  CHECK(promoted(op, pair(E::f16, E::i8, {}, {2})) == "f16");
  CHECK(promoted(op, pair(E::i8, E::i64, {2}, {})) == "i8");
  const std::vector<ValueInfo> unknown{value(E::i64, PartialShape()), value(E::u8, Shape{2})};
  CHECK(promoted(op, unknown) == "dynamic");
  op.promote_unsafe = false;
  CHECK(promoted(op, pair(E::i8, E::i64, {}, {2})) == "i64");
  CHECK(
      failure_of(op, pair(E::i64, E::i8, {}, {2})) ==
      "IR-element-type: a scalar of type i64 does not become i8 without loss; promote_unsafe would allow it");
}

TEST_CASE("ConvertPromoteTypes rejects promotions with loss unless they are allowed") {
  CHECK(failure_of(ConvertPromoteTypes{}, pair(E::f16, E::i64)) ==
        "IR-element-type: i64 does not become f16 without loss; promote_unsafe would allow it");
  CHECK(failure_of(ConvertPromoteTypes{}, pair(E::i8, E::u8)) ==
        "IR-element-type: i8 and u8 have no common type that is one of them; promote_unsafe would allow a "
        "wider "
        "one");
  CHECK(failure_of(ConvertPromoteTypes{}, pair(E::f16, E::bf16)) ==
        "IR-element-type: f16 and bf16 have no common type; promote_unsafe would allow a wider one");
  CHECK(failure_of(unsafe(), pair(E::u4, E::u4, {}, {})) == "no failure");
  CHECK(failure_of(unsafe(), pair(E::f8e8m0, E::f8e5m2)) ==
        "IR-element-type: f8e8m0 and f8e5m2 have no common type");
  CHECK(failure_of(unsafe(), pair(E::string, E::u4)) ==
        "IR-element-type: input 0 is of type string, which has no conversion");
}

TEST_CASE("ConvertPromoteTypes converts both inputs") {
  const std::vector<Tensor> out =
      evaluate(unsafe(), std::vector{tensor<std::int8_t>({1}, {-3}), tensor<std::uint8_t>({2}, {200, 1})});
  check_equal<std::int16_t>(out.at(0), {1}, {-3});
  check_equal<std::int16_t>(out.at(1), {2}, {200, 1});
  const std::vector<Tensor> same = evaluate(unsafe(), std::vector{i32({1}, {1}), i32({1}, {2})});
  check_equal<std::int32_t>(same.at(1), {1}, {2});
}

}  // namespace ir::test
