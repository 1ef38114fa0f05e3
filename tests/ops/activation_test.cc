#include "ir_runtime/ops/activation.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

op::v0::Clamp clamp(double min, double max) {
  op::v0::Clamp op;
  op.min = min;
  op.max = max;
  return op;
}

}  // namespace

TEST_CASE("Clamp keeps values within its limits") {
  check_equal<float>(run(clamp(-1, 2), {f32({4}, {-3, -0.5F, 2, 7})}), {4}, {-1, -0.5F, 2, 2});
  // Integers take the integers inside of the limits.
  check_equal<std::int32_t>(run(clamp(-1.5, 2.5), {i32({4}, {-3, -1, 2, 7})}), {4}, {-1, -1, 2, 2});
  CHECK(failure_of(clamp(2, 1), {value(ElementType::f32, Shape{1})}) ==
        "IR-attribute-value: min is 2, above max 1");
}

TEST_CASE("Elu, HardSigmoid and Selu") {
  op::v0::Elu elu;
  elu.alpha = 2;
  check_close(run(elu, {f32({3}, {-1, 0, 3})}), {3}, {-1.2642411F, 0, 3});
  check_close(run(op::v0::HardSigmoid{}, {f32({3}, {-5, 1, 9}), f32({}, {0.2F}), f32({}, {0.5F})}), {3},
              {0, 0.7F, 1});
  check_close(run(op::v0::Selu{}, {f32({2}, {-1, 2}), f32({1}, {1.5F}), f32({1}, {2})}), {2},
              {-1.8963617F, 4});
}

TEST_CASE("Swish takes beta from input 1, else 1") {
  check_close(run(op::v4::Swish{}, {f32({2}, {0, 1})}), {2}, {0, 0.7310586F});
  check_close(run(op::v4::Swish{}, {f32({2}, {0, 1}), f32({}, {2})}), {2}, {0, 0.8807971F});
}

TEST_CASE("Gelu is exact or approximated") {
  op::v7::Gelu gelu;
  check_close(run(gelu, {f32({3}, {-1, 0, 1})}), {3}, {-0.1586553F, 0, 0.8413447F});
  gelu.approximation_mode = op::GeluApproximation::tanh;
  check_close(run(gelu, {f32({3}, {-1, 0, 1})}), {3}, {-0.1588080F, 0, 0.8411920F});
  const std::string integers = "IR-element-type: input 0 is of type i32, Gelu takes a floating-point type";
  CHECK(failure_of(gelu, {value(ElementType::i32, {3})}) == integers);
  CHECK(failure_of(op::v0::Gelu(), {value(ElementType::i32, {3})}) == integers);
  CHECK(failure_of(op::v0::Elu(), {value(ElementType::i32, {3})}) == "no failure");
}

TEST_CASE("PReLU takes a slope of rank 1 by channel") {
  const Tensor data = f32({1, 2, 2}, {-1, 2, -3, -4});
  check_equal<float>(run(op::v0::PReLU{}, {data, f32({2}, {10, 100})}), {1, 2, 2}, {-10, 2, -300, -400});
  // As many elements as the last axis, not as axis 1: the NumPy rule.
  const Tensor wide = f32({1, 1, 2}, {-1, -2});
  check_equal<float>(run(op::v0::PReLU{}, {wide, f32({2}, {10, 100})}), {1, 1, 2}, {-10, -200});
  check_equal<float>(run(op::v0::PReLU{}, {f32({2}, {-1, -2}), f32({1}, {3})}), {2}, {-3, -6});
  check_equal<float>(run(op::v0::PReLU{}, {f32({2}, {-1, -2}), f32({2}, {3, 5})}), {2}, {-3, -10});
  check_equal<float>(run(op::v0::PReLU{}, {data, f32({1, 1, 2}, {2, 3})}), {1, 2, 2}, {-2, 2, -6, -12});
}

TEST_CASE("PReLU rejects a slope that does not spread over the data") {
  CHECK(
      failure_of(op::v0::PReLU{}, {value(ElementType::f32, Shape{1, 2, 4}), value(ElementType::f32, {3})}) ==
      "IR-broadcast: input 1 has shape [3], which does not spread over [1,2,4]");
  CHECK(failure_of(op::v0::PReLU{},
                   {value(ElementType::f32, Shape{2}), value(ElementType::f32, Shape{1, 2})}) ==
        "IR-broadcast: input 1 has shape [1,2], which does not spread over [2]");
  CHECK(failure_of(op::v0::PReLU{}, {value(ElementType::f32, {2}), value(ElementType::i32, {2})}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and i32, PReLU takes one type");
  CHECK(failure_of(op::v0::PReLU{}, {value(ElementType::i64, {2}), value(ElementType::i32, {2})}) ==
        "IR-element-type: inputs 0 and 1 are of types i64 and i32, PReLU takes one type");
}

TEST_CASE("PReLU takes a slope of another floating-point type") {
  const Tensor data = f32({2, 2}, {-1, 2, -3, 4});
  const Tensor slopes = f32({2}, {0.5F, 2});
  const auto with = [&](ElementType data_type, ElementType slope_type) {
    return run(op::v0::PReLU{}, {data.converted(data_type), slopes.converted(slope_type)});
  };
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f64}) {
    check_equal<float>(with(ElementType::f32, type), {2, 2}, {-0.5F, 2, -1.5F, 4});
    const Tensor out = with(type, ElementType::f32);
    CHECK(out.element_type() == type);
    check_equal<float>(out.converted(ElementType::f32), {2, 2}, {-0.5F, 2, -1.5F, 4});
  }
  check_equal<double>(with(ElementType::f64, ElementType::f16), {2, 2}, {-0.5, 2, -1.5, 4});
}

TEST_CASE("PReLU takes shapes that are not known") {
  const ValueInfo slope = value(ElementType::f32, Shape{3});
  const PartialShape open{Dimension(), Dimension(), 4};
  CHECK(infer_shape(op::v0::PReLU{}, {value(ElementType::f32, open), slope}) == open);
  CHECK(infer_shape(op::v0::PReLU{}, {value(ElementType::f32, PartialShape()), slope}) == PartialShape());
}

TEST_CASE("Parameters of activations are one number of the data's type") {
  const ValueInfo data = value(ElementType::f32, Shape{2});
  const ValueInfo number = value(ElementType::f32, Shape{});
  CHECK(failure_of(op::v0::HardSigmoid{}, {data, value(ElementType::f32, Shape{2}), number}) ==
        "IR-shape: input 1 has shape [2]; it takes one element");
  CHECK(failure_of(op::v0::Selu{}, {data, number, value(ElementType::f64, Shape{})}) ==
        "IR-element-type: inputs 0 and 2 are of types f32 and f64, Selu takes one type");
  CHECK(failure_of(op::v4::Swish{}, {data, number, number}) ==
        "IR-input-count: has 3 inputs, Swish takes 1 to 2");
  CHECK(infer_shape(op::v4::Swish{}, {data, value(ElementType::f32, PartialShape())}) == Shape{2});
  CHECK_THROWS_WITH(prepare_kernel(op::v4::Swish{}, std::vector{data, number}, std::vector{data}),
                    ir::test::contains_text("the elements of input 1 are not known before the model runs"));
}

}  // namespace ir::test
