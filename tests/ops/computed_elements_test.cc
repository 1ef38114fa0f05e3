// Shape arithmetic by way of floats, where some dims are unknown.
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/select.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

constexpr Dimension kAny;
constexpr Dimension kAnyNumber{-Dimension::kUnbounded, Dimension::kUnbounded};
constexpr KnownReal kUnknown;

op::v0::Convert convert_to(ElementType type) {
  op::v0::Convert convert;
  convert.destination_type = type;
  return convert;
}

ValueInfo partly_known_reals(std::vector<KnownReal> reals, ElementType type = ElementType::f32) {
  ValueInfo info = value(type, Shape{static_cast<std::int64_t>(reals.size())});
  info.reals = std::move(reals);
  return info;
}

std::vector<KnownReal> reals_after(const Op& op, const std::vector<ValueInfo>& inputs) {
  return infer_outputs(op, inputs)[0].reals.value_or(std::vector<KnownReal>());
}

// The shape of [?, 3, 224, 10] times `scales`, rounded by `rounding`, as a resizing model computes it.
PartialShape resized(ElementType type, std::vector<float> scales, const Op& rounding) {
  Model model;
  Node& data = model.add_parameter(ElementType::f32, {kAny, 3, 224, 10});
  Node& shape = model.add(op::v3::ShapeOf{}, {data});
  Node& real = model.add(convert_to(type), {shape});
  Node& factors = model.add_constant(f32({4}, std::move(scales)).converted(type));
  Node& product = model.add(op::v1::Multiply{}, {real, factors});
  Node& rounded = model.add(rounding, {product});
  Node& target = model.add(convert_to(ElementType::i64), {rounded});
  return model.add(op::v3::Broadcast{}, {model.add_constant(std::int64_t{1}), target}).output(0).shape;
}

}  // namespace

TEST_CASE("dims that are known beside an unknown batch stay known on their way through floats") {
  CHECK(resized(ElementType::f32, {1, 1, 0.5F, 2}, op::v0::Floor{}) == PartialShape{kAny, 3, 112, 20});
  CHECK(resized(ElementType::f64, {1, 1, 0.5F, 2}, op::v0::Floor{}) == PartialShape{kAny, 3, 112, 20});
  CHECK(resized(ElementType::f32, {1, 1, 0.3F, 0.31F}, op::v0::Floor{}) == PartialShape{kAny, 3, 67, 3});
  CHECK(resized(ElementType::f32, {1, 1, 0.3F, 0.31F}, op::v0::Ceiling{}) == PartialShape{kAny, 3, 68, 4});
  CHECK(resized(ElementType::f32, {1, 1, 0.3F, 0.25F}, op::v5::Round{}) == PartialShape{kAny, 3, 67, 2});
}

TEST_CASE("known dims are rounded as the type of the arithmetic rounds them") {
  // 0.7F is less than 0.7: the product is 7 as f32, and less as f64.
  CHECK(resized(ElementType::f32, {1, 1, 1, 0.7F}, op::v0::Floor{}) == PartialShape{kAny, 3, 224, 7});
  CHECK(resized(ElementType::f64, {1, 1, 1, 0.7F}, op::v0::Floor{}) == PartialShape{kAny, 3, 224, 6});
  // Halves are computed in f32 when the model runs, so that nothing is said of what f16 would make of them.
  CHECK(resized(ElementType::f16, {1, 1, 1, 0.7F}, op::v0::Floor{}) == PartialShape::of_rank(4));
}

TEST_CASE("an element is known where those are that it is computed from") {
  const ValueInfo sizes = partly_known_reals({kUnknown, 6, 9});
  const ValueInfo divisors = partly_known_reals({3, kUnknown, 2});
  CHECK(reals_after(op::v1::Divide{}, {sizes, divisors}) == std::vector<KnownReal>{kUnknown, kUnknown, 4.5});
  CHECK(reals_after(op::v1::Power{}, {sizes, value_of(f32({}, {2}))}) ==
        std::vector<KnownReal>{kUnknown, 36, 81});
  CHECK(reals_after(op::v1::Minimum{}, {sizes, value_of(f32({1}, {7}))}) ==
        std::vector<KnownReal>{kUnknown, 6, 7});
  CHECK(infer_outputs(op::v1::Less{}, std::vector{sizes, value_of(f32({}, {7}))})[0].elements ==
        std::vector{Dimension(0, 1), Dimension(1), Dimension(0)});
  // Nothing is known of an input, or of the elements that meet.
  CHECK(reals_after(op::v1::Add{}, {sizes, value(ElementType::f32, Shape{3})}).empty());
  CHECK(reals_after(op::v1::Add{}, {partly_known_reals({kUnknown, 1}), partly_known_reals({1, kUnknown})})
            .empty());
  // Integers, too, where a function has no intervals.
  CHECK(infer_outputs(op::v0::Negative{}, std::vector{partly_known({kAny, 4})})[0].elements ==
        std::vector{kAnyNumber, Dimension(-4)});
}

TEST_CASE("Select knows what the condition chooses of known floats") {
  const ValueInfo a = partly_known_reals({1, kUnknown, 3});
  const ValueInfo b = partly_known_reals({kUnknown, 5, 6});
  const auto selected = [&](const ValueInfo& condition) {
    return reals_after(op::v1::Select{}, {condition, a, b});
  };
  CHECK(selected(value_of(Tensor::of<bool>({3}, {true, false, false}))) == std::vector<KnownReal>{1, 5, 6});
  ValueInfo open = value(ElementType::boolean, Shape{3});
  open.elements = {Dimension(1), Dimension(1), Dimension(0, 1)};
  CHECK(selected(open) == std::vector<KnownReal>{1, kUnknown, kUnknown});
}

TEST_CASE("known floats move with their elements, and are a constant where all are known") {
  const ValueInfo sizes = partly_known_reals({kUnknown, 6, 9});
  op::v0::Concat concat;
  concat.axis = 0;
  CHECK(reals_after(concat, {value_of(f32({1}, {0.5F})), sizes}) ==
        std::vector<KnownReal>{0.5, kUnknown, 6, 9});
  const ValueInfo kept = infer_outputs(op::v0::Unsqueeze{}, std::vector{sizes, value_of(i64({1}, {0}))})[0];
  CHECK(kept.reals == sizes.reals);
  CHECK(kept.constant == nullptr);
  const auto gathered = [&](std::vector<std::int64_t> indices) {
    return infer_outputs(op::v8::Gather{}, std::vector{sizes, value_of(i64({2}, std::move(indices))),
                                                       value_of(i64({}, {0}))})[0];
  };
  CHECK(gathered({1, 0}).reals == std::vector<KnownReal>{6, kUnknown});
  const ValueInfo known = gathered({2, 1});
  REQUIRE(known.constant != nullptr);
  check_equal<float>(*known.constant, {2}, {9, 6});
}

TEST_CASE("what is known of floats stays small") {
  std::vector<KnownReal> many(kMaxPropagatedElements, 1.0);
  many[0].reset();
  const ValueInfo most = partly_known_reals(many);
  CHECK(reals_after(op::v0::Floor{}, {most}) == many);
  op::v0::Concat concat;
  concat.axis = 0;
  CHECK(reals_after(concat, {most, value_of(f32({1}, {1}))}).empty());
}

}  // namespace ir::test
