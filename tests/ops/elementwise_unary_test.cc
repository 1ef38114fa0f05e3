#include "ir_runtime/ops/elementwise_unary.h"

#include <limits>

#include "ir_runtime/ops/activation.h"
#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> applied(const Op& op, const std::vector<float>& values) {
  const Tensor out = run(op, {f32({static_cast<std::int64_t>(values.size())}, values)});
  const auto data = out.data<float>();
  return {data.begin(), data.end()};
}

void check_function(const Op& op, const std::vector<float>& in, const std::vector<float>& out) {
  INFO(op.type());
  check_close(run(op, {f32({static_cast<std::int64_t>(in.size())}, in)}),
              {static_cast<std::int64_t>(in.size())}, out);
}

}  // namespace

TEST_CASE("Functions of one operand have the values of their definitions") {
  using namespace op;
  check_function(v0::Abs{}, {-1.5F, 0, 2}, {1.5F, 0, 2});
  check_function(v0::Acos{}, {1, 0, -1}, {0, 1.5707963F, 3.1415927F});
  check_function(v3::Acosh{}, {1, 2}, {0, 1.3169579F});
  check_function(v0::Asin{}, {0, 1, -1}, {0, 1.5707963F, -1.5707963F});
  check_function(v3::Asinh{}, {0, 1}, {0, 0.8813736F});
  check_function(v0::Atan{}, {0, 1}, {0, 0.7853982F});
  check_function(v3::Atanh{}, {0, 0.5F}, {0, 0.5493061F});
  check_function(v0::Ceiling{}, {-1.5F, 0.2F, 2}, {-1, 1, 2});
  check_function(v0::Cos{}, {0, 3.1415927F}, {1, -1});
  check_function(v0::Cosh{}, {0, 1}, {1, 1.5430806F});
  check_function(v0::Erf{}, {0, 1, -1}, {0, 0.8427008F, -0.8427008F});
  check_function(v0::Exp{}, {0, 1}, {1, 2.7182818F});
  check_function(v0::Floor{}, {-1.5F, 0.2F, 2}, {-2, 0, 2});
  check_function(v0::Log{}, {1, 2.7182818F}, {0, 1});
  check_function(v0::Negative{}, {-1.5F, 2}, {1.5F, -2});
  check_function(v0::Sign{}, {-3, 0, 5}, {-1, 0, 1});
  check_function(v0::Sin{}, {0, 1.5707963F}, {0, 1});
  check_function(v0::Sinh{}, {0, 1}, {0, 1.1752012F});
  check_function(v0::Sqrt{}, {4, 2}, {2, 1.4142136F});
  check_function(v0::Tan{}, {0, 1}, {0, 1.5574077F});
  check_function(v0::Tanh{}, {0, 1}, {0, 0.7615942F});
  check_function(v0::ReLU{}, {-2, 0, 3}, {0, 0, 3});
  check_function(v0::Sigmoid{}, {0, 2}, {0.5F, 0.8807971F});
  check_function(v0::Gelu{}, {0, 1, -1}, {0, 0.8413447F, -0.1586553F});
  check_function(v4::HSwish{}, {-4, -1, 1, 5}, {0, -0.3333333F, 0.6666667F, 5});
  check_function(v4::Mish{}, {0, 1}, {0, 0.8650984F});
  check_function(v4::SoftPlus{}, {0, 100}, {0.6931472F, 100});
  check_function(v5::HSigmoid{}, {-4, 0, 4}, {0, 0.5F, 1});
  check_function(v9::SoftSign{}, {-1, 0, 3}, {-0.5F, 0, 0.75F});
  check_function(v17::ErfInv{}, {0, 0.5F, -0.9F, 1, -1, 2}, {0, 0.4769363F, -1.1630872F, kInf, -kInf, kNaN});
}

TEST_CASE("Round sends halves where its mode says") {
  op::v5::Round round;
  CHECK(applied(round, {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 0.9F}) == std::vector<float>{0, 2, 2, 0, -2, 1});
  round.mode = op::RoundMode::half_away_from_zero;
  CHECK(applied(round, {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 0.9F}) == std::vector<float>{1, 2, 3, -1, -2, 1});
}

TEST_CASE("Functions keep integer types") {
  check_equal<std::int32_t>(run(op::v0::Abs{}, {i32({3}, {-3, 0, 4})}), {3}, {3, 0, 4});
  check_equal<std::int64_t>(run(op::v0::Negative{}, {i64({2}, {-3, 4})}), {2}, {3, -4});
  check_equal<std::int32_t>(run(op::v0::Floor{}, {i32({2}, {-3, 4})}), {2}, {-3, 4});
  const Tensor bytes = tensor<std::uint8_t>({3}, {0, 7, 255});
  check_equal<std::uint8_t>(run(op::v0::Sign{}, {bytes}), {3}, {0, 1, 1});
}

TEST_CASE("ErfInv takes floating-point types, and is folded") {
  const op::v17::ErfInv op;
  CHECK(failure_of(op, {value(ElementType::i32, Shape{1})}) ==
        "IR-element-type: input 0 is of type i32, ErfInv takes a floating-point type");
  CHECK(failure_of(op, {value(ElementType::f32, Shape{1}), value(ElementType::f32, Shape{1})}) ==
        "IR-input-count: has 2 inputs, ErfInv takes 1");
  const Tensor x = f32({2}, {-0.5F, 1});
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const Tensor out = run(op, {x.converted(type)});
    CHECK(out.element_type() == type);
    check_close(out.converted(ElementType::f32), {2}, {-0.4769363F, kInf}, 2e-3);
  }
  const ValueInfo folded = infer_outputs(op, std::vector{value_of(x)})[0];
  REQUIRE(folded.constant != nullptr);
  check_close(*folded.constant, {2}, {-0.4769363F, kInf});
}

TEST_CASE("Halves are computed in f32") {
  const Tensor half = f32({2}, {4, 9}).converted(ElementType::f16);
  const Tensor root = run(op::v0::Sqrt{}, {half});
  CHECK(root.element_type() == ElementType::f16);
  check_equal<float>(root.converted(ElementType::f32), {2}, {2, 3});
}

TEST_CASE("Logical and bitwise negation") {
  check_equal<bool>(run(op::v1::LogicalNot{}, {Tensor::of<bool>({2}, {true, false})}), {2}, {false, true});
  // Numbers are taken as OpenVINO takes them: nonzero is true.
  check_equal<std::int32_t>(run(op::v1::LogicalNot{}, {i32({2}, {5, 0})}), {2}, {0, 1});
  check_equal<bool>(run(op::v13::BitwiseNot{}, {Tensor::of<bool>({2}, {true, false})}), {2}, {false, true});
  check_equal<std::int32_t>(run(op::v13::BitwiseNot{}, {i32({2}, {5, -1})}), {2}, {-6, 0});
  CHECK(failure_of(op::v13::BitwiseNot{}, {value(ElementType::f32, Shape{1})}) ==
        "IR-element-type: input 0 is of type f32, BitwiseNot takes an integer type");
}

TEST_CASE("Tests of floats") {
  const Tensor x = f32({5}, {1, kInf, -kInf, kNaN, 0});
  check_equal<bool>(run(op::v10::IsFinite{}, {x}), {5}, {true, false, false, false, true});
  check_equal<bool>(run(op::v10::IsNaN{}, {x}), {5}, {false, false, false, true, false});
  op::v10::IsInf is_inf;
  check_equal<bool>(run(is_inf, {x}), {5}, {false, true, true, false, false});
  is_inf.detect_negative = false;
  check_equal<bool>(run(is_inf, {x}), {5}, {false, true, false, false, false});
  is_inf.detect_positive = false;
  check_equal<bool>(run(is_inf, {x}), {5}, {false, false, false, false, false});
  is_inf.detect_negative = true;
  check_equal<bool>(run(is_inf, {x}), {5}, {false, false, true, false, false});
  CHECK(failure_of(is_inf, {value(ElementType::i32, Shape{1})}) ==
        "IR-element-type: input 0 is of type i32, IsInf takes a floating-point type");
}

TEST_CASE("Identity gives its input") {
  check_equal<float>(run(op::v16::Identity{}, {f32({2}, {1, 2})}), {2}, {1, 2});
}

TEST_CASE("Functions keep any shape") {
  CHECK(infer_shape(op::v0::Abs{}, {value(ElementType::f32, PartialShape())}) == PartialShape());
  const PartialShape open{Dimension(), Dimension(2, 5), 3};
  CHECK(infer_shape(op::v0::Exp{}, {value(ElementType::f32, open)}) == open);
  check_equal<float>(run(op::v0::Abs{}, {f32({}, {-1})}), {}, {1});
  check_equal<float>(run(op::v0::Abs{}, {f32({0, 3}, {})}), {0, 3}, {});
}

TEST_CASE("Functions reject other inputs") {
  CHECK(failure_of(op::v0::Abs{}, {}) == "IR-input-count: has 0 inputs, Abs takes 1");
  CHECK(failure_of(op::v0::Abs{}, {value(ElementType::boolean, Shape{1})}) ==
        "IR-element-type: input 0 is of type boolean, Abs takes a numeric type");
  CHECK(failure_of(op::v0::Abs{}, {value(ElementType::string, Shape{1})}) ==
        "IR-element-type: input 0 is of type string, Abs takes a numeric type");
}

}  // namespace ir::test
