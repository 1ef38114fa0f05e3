#include "ir_runtime/ops/elementwise_binary.h"

#include "runtime/ops/element_arithmetic.h"
#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using namespace op;

constexpr std::int64_t kAny = Dimension::kUnbounded;

// An i64 vector of which some elements are open.
ValueInfo dims(std::vector<Dimension> elements, ElementType type = ElementType::i64) {
  ValueInfo info = value(type, Shape{static_cast<std::int64_t>(elements.size())});
  info.elements = std::move(elements);
  return info;
}

std::vector<Dimension> elements_of(const Op& op, const ValueInfo& a, const ValueInfo& b) {
  const std::vector<ValueInfo> outputs = infer_outputs(op, std::vector{a, b});
  return outputs[0].elements.value_or(std::vector<Dimension>());
}

Tensor bools(std::initializer_list<bool> values) {
  return Tensor::of<bool>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("Arithmetic of two operands") {
  const Tensor a = f32({2, 2}, {7, -7, 3, 0});
  const Tensor b = f32({2}, {2, 4});
  check_equal<float>(run(v1::Add{}, {a, b}), {2, 2}, {9, -3, 5, 4});
  check_equal<float>(run(v1::Subtract{}, {a, b}), {2, 2}, {5, -11, 1, -4});
  check_equal<float>(run(v1::Multiply{}, {a, b}), {2, 2}, {14, -28, 6, 0});
  check_equal<float>(run(v1::Divide{}, {a, b}), {2, 2}, {3.5F, -1.75F, 1.5F, 0});
  check_equal<float>(run(v1::Maximum{}, {a, b}), {2, 2}, {7, 4, 3, 4});
  check_equal<float>(run(v1::Minimum{}, {a, b}), {2, 2}, {2, -7, 2, 0});
  check_close(run(v1::Power{}, {a, b}), {2, 2}, {49, 2401, 9, 0});
  check_equal<float>(run(v1::Mod{}, {a, b}), {2, 2}, {1, -3, 1, 0});
  check_equal<float>(run(v1::FloorMod{}, {a, b}), {2, 2}, {1, 1, 1, 0});
  check_equal<float>(run(v0::SquaredDifference{}, {a, b}), {2, 2}, {25, 121, 1, 16});
}

TEST_CASE("Atan2 is the angle of a point in all four quadrants, for every real type") {
  const Tensor y = f32({2, 1}, {1, -0.0F});
  const Tensor x = f32({4}, {1, -1, 0, -2});
  const std::vector<float> angles{0.7853982F, 2.3561945F,  1.5707963F, 2.6779450F,  //
                                  -0.0F,      -3.1415927F, -0.0F,      -3.1415927F};
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const Tensor out = run(v17::Atan2{}, {y.converted(type), x.converted(type)});
    CHECK(out.element_type() == type);
    check_close(out.converted(ElementType::f32), {2, 4}, angles, type == ElementType::bf16 ? 4e-3 : 1e-3);
  }
  check_close(run(v17::Atan2{}, {y, x}), {2, 4}, angles, 1e-6);
  CHECK(std::signbit(run(v17::Atan2{}, {y, x}).data<float>()[4]));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  check_close(run(v17::Atan2{}, {f32({3}, {kInf, -kInf, 2}), f32({3}, {-kInf, kInf, -kInf})}), {3},
              {2.3561945F, -0.7853982F, 3.1415927F}, 1e-6);
}

TEST_CASE("Atan2 broadcasts as its attribute says, and is folded") {
  v17::Atan2 op;
  op.auto_broadcast = AutoBroadcast::pdpd;
  op.auto_broadcast_axis = 0;
  check_close(run(op, {f32({2, 2}, {1, 1, 1, 1}), f32({2}, {1, 0})}), {2, 2},
              {0.7853982F, 0.7853982F, 1.5707963F, 1.5707963F});
  op.auto_broadcast = AutoBroadcast::none;
  CHECK(failure_of(op, {value(ElementType::f32, Shape{2}), value(ElementType::f32, Shape{1})}) ==
        "IR-broadcast: input 1 of shape [1] does not match [2] of the inputs before it: auto_broadcast none "
        "takes equal shapes");
  const ValueInfo open = value(ElementType::f32, PartialShape{Dimension(), 3});
  CHECK(infer_shape(v17::Atan2{}, {open, value(ElementType::f32, Shape{2, 1})}) == Shape{2, 3});
  const ValueInfo folded =
      infer_outputs(v17::Atan2{}, std::vector{value_of(f32({1}, {2})), value_of(f32({}, {0}))})[0];
  REQUIRE(folded.constant != nullptr);
  check_close(*folded.constant, {1}, {1.5707963F});
}

TEST_CASE("Integer division and remainders round as they say") {
  const Tensor a = i32({4}, {7, -7, 7, -7});
  const Tensor b = i32({4}, {2, 2, -2, -2});
  v1::Divide divide;
  check_equal<std::int32_t>(run(divide, {a, b}), {4}, {3, -4, -4, 3});
  divide.m_pythondiv = false;
  check_equal<std::int32_t>(run(divide, {a, b}), {4}, {3, -3, -3, 3});
  check_equal<std::int32_t>(run(v1::Mod{}, {a, b}), {4}, {1, -1, 1, -1});
  check_equal<std::int32_t>(run(v1::FloorMod{}, {a, b}), {4}, {1, 1, -1, -1});
}

TEST_CASE("Comparisons give booleans") {
  const Tensor a = i64({3}, {1, 2, 3});
  const Tensor b = i64({}, {2});
  check_equal<bool>(run(v1::Equal{}, {a, b}), {3}, {false, true, false});
  check_equal<bool>(run(v1::NotEqual{}, {a, b}), {3}, {true, false, true});
  check_equal<bool>(run(v1::Less{}, {a, b}), {3}, {true, false, false});
  check_equal<bool>(run(v1::LessEqual{}, {a, b}), {3}, {true, true, false});
  check_equal<bool>(run(v1::Greater{}, {a, b}), {3}, {false, false, true});
  check_equal<bool>(run(v1::GreaterEqual{}, {a, b}), {3}, {false, true, true});
  check_equal<bool>(run(v1::Equal{}, {bools({true, false}), bools({true, true})}), {2}, {true, false});
}

TEST_CASE("Logical and bitwise operations") {
  const Tensor a = bools({false, false, true, true});
  const Tensor b = bools({false, true, false, true});
  check_equal<bool>(run(v1::LogicalAnd{}, {a, b}), {4}, {false, false, false, true});
  check_equal<bool>(run(v1::LogicalOr{}, {a, b}), {4}, {false, true, true, true});
  check_equal<bool>(run(v1::LogicalXor{}, {a, b}), {4}, {false, true, true, false});
  check_equal<bool>(run(v0::Xor{}, {a, b}), {4}, {false, true, true, false});
  check_equal<bool>(run(v13::BitwiseAnd{}, {a, b}), {4}, {false, false, false, true});
  check_equal<bool>(run(v13::BitwiseOr{}, {a, b}), {4}, {false, true, true, true});
  check_equal<bool>(run(v13::BitwiseXor{}, {a, b}), {4}, {false, true, true, false});
  const Tensor x = i32({2}, {12, -12});
  const Tensor y = i32({2}, {10, 2});
  check_equal<std::int32_t>(run(v13::BitwiseAnd{}, {x, y}), {2}, {8, 0});
  check_equal<std::int32_t>(run(v13::BitwiseOr{}, {x, y}), {2}, {14, -10});
  check_equal<std::int32_t>(run(v13::BitwiseXor{}, {x, y}), {2}, {6, -10});
  check_equal<std::int32_t>(run(v15::BitwiseLeftShift{}, {x, i32({}, {1})}), {2}, {24, -24});
  check_equal<std::int32_t>(run(v15::BitwiseRightShift{}, {x, i32({}, {1})}), {2}, {6, -6});
}

TEST_CASE("Operands have one type that the operation takes") {
  const auto operands = [](ElementType a, ElementType b) {
    return std::vector{value(a, Shape{2}), value(b, Shape{2})};
  };
  using enum ElementType;
  CHECK(failure_of(v1::Add{}, operands(f32, i32)) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and i32, Add takes one type");
  CHECK(failure_of(v1::Add{}, operands(boolean, boolean)) ==
        "IR-element-type: input 0 is of type boolean, Add takes a numeric type");
  CHECK(failure_of(v1::Less{}, operands(string, string)) ==
        "IR-element-type: input 0 is of type string, Less takes a numeric type");
  CHECK(failure_of(v1::LogicalAnd{}, operands(boolean, u8)) ==
        "IR-element-type: input 1 is of type u8, LogicalAnd takes boolean");
  CHECK(failure_of(v13::BitwiseAnd{}, operands(f32, f32)) ==
        "IR-element-type: input 0 is of type f32, BitwiseAnd takes an integer type");
  CHECK(failure_of(v15::BitwiseLeftShift{}, operands(boolean, boolean)) ==
        "IR-element-type: input 0 is of type boolean, BitwiseLeftShift takes an integer type");
  CHECK(failure_of(v17::Atan2{}, operands(i32, i32)) ==
        "IR-element-type: input 0 is of type i32, Atan2 takes a floating-point type");
  CHECK(failure_of(v17::Atan2{}, operands(f32, f16)) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and f16, Atan2 takes one type");
  CHECK(failure_of(v1::Add{}, {value(f32, Shape{2})}) == "IR-input-count: has 1 inputs, Add takes 2");
  CHECK(infer_outputs(v1::Add{}, operands(dynamic, i32))[0].type == i32);
  CHECK(infer_outputs(v1::Less{}, operands(dynamic, dynamic))[0].type == boolean);
}

TEST_CASE("Binary operations take shapes that are not known and empty tensors") {
  const ValueInfo open = value(ElementType::f32, PartialShape{Dimension(), 3});
  CHECK(infer_shape(v1::Add{}, {open, value(ElementType::f32, Shape{2, 1})}) == Shape{2, 3});
  CHECK(infer_shape(v1::Less{}, {open, value(ElementType::f32, PartialShape())}) == PartialShape());
  check_equal<float>(run(v1::Add{}, {f32({0, 2}, {}), f32({2}, {1, 2})}), {0, 2}, {});
  check_equal<bool>(run(v1::Less{}, {f32({0}, {}), f32({}, {1})}), {0}, {});
}

TEST_CASE("Arithmetic carries elements that are partly known") {
  const ValueInfo a = dims({Dimension(), 6, Dimension(2, 5)});
  const ValueInfo three = value_of(i64({}, {3}));
  CHECK(elements_of(v1::Add{}, a, three) == std::vector<Dimension>{{3, kAny}, 9, {5, 8}});
  CHECK(elements_of(v1::Subtract{}, a, three) == std::vector<Dimension>{{-3, kAny}, 3, {-1, 2}});
  CHECK(elements_of(v1::Multiply{}, a, three) == std::vector<Dimension>{{0, kAny}, 18, {6, 15}});
  CHECK(elements_of(v1::Divide{}, a, three) == std::vector<Dimension>{{0, kAny}, 2, {0, 1}});
  CHECK(elements_of(v1::Maximum{}, a, three) == std::vector<Dimension>{{3, kAny}, 6, {3, 5}});
  CHECK(elements_of(v1::Minimum{}, a, three) == std::vector<Dimension>{{0, 3}, 3, {2, 3}});
  CHECK(elements_of(v1::Mod{}, a, three) == std::vector<Dimension>{{0, 2}, 0, {0, 2}});
  CHECK(elements_of(v1::FloorMod{}, a, three) == std::vector<Dimension>{{0, 2}, 0, {0, 2}});
  // Nothing is carried for types in which shapes are not computed.
  CHECK(
      elements_of(v1::Add{}, dims({1, Dimension()}, ElementType::i8), value_of(tensor<std::int8_t>({}, {1})))
          .empty());
}

TEST_CASE("Comparisons of dims are decided where the intervals allow it") {
  // What exporters write to keep dims that a target shape gives as -1.
  const ValueInfo a = dims({Dimension(), 4, Dimension(2, 5)});
  const ValueInfo minus_one = value_of(i64({}, {-1}));
  const std::vector<ValueInfo> outputs = infer_outputs(v1::Equal{}, std::vector{a, minus_one});
  REQUIRE(outputs[0].constant != nullptr);
  check_equal<bool>(*outputs[0].constant, {3}, {false, false, false});

  const ValueInfo four = value_of(i64({}, {4}));
  CHECK(elements_of(v1::Equal{}, a, four) == std::vector<Dimension>{{0, 1}, 1, {0, 1}});
  CHECK(elements_of(v1::Less{}, a, four) == std::vector<Dimension>{{0, 1}, 0, {0, 1}});
  CHECK(elements_of(v1::GreaterEqual{}, a, four) == std::vector<Dimension>{{0, 1}, 1, {0, 1}});
  CHECK(elements_of(v1::Greater{}, a, value_of(i64({}, {5}))) == std::vector<Dimension>{{0, 1}, 0, 0});
}

TEST_CASE("Interval arithmetic holds at its limits") {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  CHECK(element_add(kAny, 1) == kUnknownElement);
  CHECK(element_add(kAny - 1, 5) == Dimension(kAny));
  CHECK(element_add({-5, 5}, kLow) == kUnknownElement);
  CHECK(element_subtract(0, {2, kAny}) == Dimension(-kAny, -2));
  CHECK(element_subtract(0, {kLow, 3}) == Dimension(-3, kAny));
  CHECK(element_multiply({0, kAny}, -2) == Dimension(-kAny, 0));
  CHECK(element_divide_down(-7, 2) == Dimension(-4));
  CHECK(element_divide_to_zero(-7, 2) == Dimension(-3));
  CHECK(element_divide_down(-7, -2) == Dimension(3));
  CHECK(element_divide_down(7, -2) == Dimension(-4));
  CHECK(element_divide_down(7, 0) == kUnknownElement);
  CHECK(element_divide_down({4, 9}, {2, 3}) == Dimension(1, 4));
  CHECK(element_divide_down({4, kAny}, {2, kAny}) == Dimension(0, kAny));
  CHECK(element_divide_down(5, kLow) == kUnknownElement);
  CHECK(element_floor_mod(-7, 3) == Dimension(2));
  constexpr std::int64_t kGreat = std::numeric_limits<std::int64_t>::max();
  CHECK(element_floor_mod(kGreat - 2, kGreat - 1) == Dimension(kGreat - 2));
  CHECK(element_mod(-7, 3) == Dimension(-1));
  CHECK(element_mod({-7, 7}, 3) == Dimension(-2, 2));
  CHECK(element_floor_mod({0, 2}, 3) == Dimension(0, 2));
  CHECK(element_mod(5, 0) == kUnknownElement);
  CHECK(element_minimum({2, kAny}, kAny) == Dimension(2, kAny));
}

}  // namespace ir::test
