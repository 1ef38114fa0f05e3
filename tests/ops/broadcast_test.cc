#include "runtime/ops/broadcast.h"

#include "ir_runtime/ops/elementwise_binary.h"
#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::AutoBroadcast;
using op::broadcast_dim;
using op::broadcast_shape;
using op::BroadcastRule;

constexpr std::int64_t kAny = Dimension::kUnbounded;
constexpr BroadcastRule kNone{AutoBroadcast::none, -1};

BroadcastRule pdpd(std::int64_t axis = -1) { return {AutoBroadcast::pdpd, axis}; }

std::string shown(const std::optional<PartialShape>& shape) { return shape ? to_string(*shape) : "none"; }

}  // namespace

TEST_CASE("NumPy broadcasting follows the examples of the specification") {
  CHECK(shown(broadcast_shape(Shape{}, Shape{})) == "[]");
  CHECK(shown(broadcast_shape(Shape{2, 3}, Shape{1})) == "[2,3]");
  CHECK(shown(broadcast_shape(Shape{3}, Shape{2, 3})) == "[2,3]");
  CHECK(shown(broadcast_shape(Shape{2, 3, 5}, Shape{})) == "[2,3,5]");
  CHECK(shown(broadcast_shape(Shape{2, 1, 5}, Shape{1, 4, 5})) == "[2,4,5]");
  CHECK(shown(broadcast_shape(Shape{6, 5}, Shape{2, 1, 5})) == "[2,6,5]");
  CHECK(shown(broadcast_shape(Shape{2, 1, 5}, Shape{4, 1})) == "[2,4,5]");
  CHECK(shown(broadcast_shape(Shape{3, 2, 1, 4}, Shape{5, 4})) == "[3,2,5,4]");
  CHECK(shown(broadcast_shape(Shape{1, 5, 3}, Shape{5, 2, 1, 3})) == "[5,2,5,3]");
  CHECK(shown(broadcast_shape(Shape{3}, Shape{2})) == "none");
  CHECK(shown(broadcast_shape(Shape{3, 1, 5}, Shape{4, 4, 5})) == "none");
  CHECK(shown(broadcast_shape(Shape{0, 1}, Shape{1, 3})) == "[0,3]");
  CHECK(shown(broadcast_shape(Shape{0}, Shape{2})) == "none");
}

TEST_CASE("PaddlePaddle broadcasting follows the examples of the specification") {
  const Shape a{2, 3, 4, 5};
  CHECK(shown(broadcast_shape(a, Shape{3, 4}, pdpd(1))) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(a, Shape{3, 1}, pdpd(1))) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(a, Shape{4, 5}, pdpd())) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(a, Shape{4, 5}, pdpd(2))) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(a, Shape{1, 3}, pdpd(0))) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(a, Shape{}, pdpd())) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(a, Shape{5}, pdpd(3))) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(Shape{8, 1, 6, 1}, Shape{7, 1, 5}, pdpd(1))) == "none");
  // Ones at the end do not count, even where they would reach beyond the first operand.
  CHECK(shown(broadcast_shape(a, Shape{5, 1, 1}, pdpd(3))) == "[2,3,4,5]");
  CHECK(shown(broadcast_shape(a, Shape{5, 2}, pdpd(3))) == "none");
  CHECK(shown(broadcast_shape(a, Shape{5}, pdpd(5))) == "none");
  CHECK(shown(broadcast_shape(Shape{5}, Shape{4, 5}, pdpd())) == "none");
}

TEST_CASE("Without broadcasting shapes must agree") {
  CHECK(shown(broadcast_shape(Shape{2, 3}, Shape{2, 3}, kNone)) == "[2,3]");
  CHECK(shown(broadcast_shape(Shape{2, 3}, Shape{2, 1}, kNone)) == "none");
  CHECK(shown(broadcast_shape(PartialShape{2, Dimension()}, PartialShape{Dimension(), 3}, kNone)) == "[2,3]");
}

TEST_CASE("Dims that are not known broadcast to what they leave open") {
  CHECK(broadcast_dim(Dimension(), 1) == Dimension());
  CHECK(broadcast_dim(1, Dimension(2, 5)) == Dimension(2, 5));
  CHECK(broadcast_dim(Dimension(), 4) == Dimension(4));
  CHECK(broadcast_dim(Dimension(1, 3), Dimension(2, kAny)) == Dimension(2, kAny));
  CHECK(broadcast_dim(Dimension(1, 3), Dimension(0, 7)) == Dimension(0, 7));
  CHECK(broadcast_dim(Dimension(2, 5), Dimension(4, 9)) == Dimension(4, 5));
  CHECK_FALSE(broadcast_dim(Dimension(2, 3), Dimension(4, 9)).has_value());
  CHECK_FALSE(broadcast_dim(Dimension(2, 3), 7).has_value());

  CHECK(shown(broadcast_shape(PartialShape(), Shape{2, 3})) == "[...]");
  CHECK(shown(broadcast_shape(PartialShape(), Shape{2, 3}, pdpd())) == "[...]");
  CHECK(shown(broadcast_shape(Shape{2, 3}, PartialShape(), pdpd())) == "[2,3]");
  CHECK(shown(broadcast_shape(PartialShape{Dimension(), Dimension()}, Shape{3}, pdpd(0))) == "[3,?]");
  CHECK(shown(broadcast_shape(PartialShape{Dimension()}, Shape{1}, pdpd())) == "[?]");
  CHECK(shown(broadcast_shape(Shape{2, 1}, Shape{2, 1}, pdpd(1))) == "[2,1]");
}

TEST_CASE("Plans of a PaddlePaddle operand place it at its axis") {
  op::v1::Add add;
  add.auto_broadcast = AutoBroadcast::pdpd;
  add.auto_broadcast_axis = 0;
  check_equal<float>(run(add, {f32({2, 3}, {0, 1, 2, 3, 4, 5}), f32({2}, {10, 20})}), {2, 3},
                     {10, 11, 12, 23, 24, 25});
  // [2,1]: the one at the end is cut off, then [2] lines up with axis 1.
  add.auto_broadcast_axis = 1;
  check_equal<float>(run(add, {f32({1, 2, 2}, {0, 1, 2, 3}), f32({2, 1, 1}, {10, 20})}), {1, 2, 2},
                     {10, 11, 22, 23});
}

TEST_CASE("A broadcast that fails names inputs, axis and dims") {
  const op::v1::Add add;
  CHECK(
      failure_of(add, {value(ElementType::f32, Shape{2, 3}), value(ElementType::f32, Shape{4, 3})}) ==
      "IR-broadcast: input 1 of shape [4,3] does not match [2,3] of the inputs before it: axis 0 would be 2 "
      "and 4");
  op::v1::Add none;
  none.auto_broadcast = AutoBroadcast::none;
  CHECK(failure_of(none, {value(ElementType::f32, Shape{2}), value(ElementType::f32, Shape{1})}) ==
        "IR-broadcast: input 1 of shape [1] does not match [2] of the inputs before it: auto_broadcast none "
        "takes equal shapes");
  op::v1::Add paddle;
  paddle.auto_broadcast = AutoBroadcast::pdpd;
  paddle.auto_broadcast_axis = 1;
  CHECK(
      failure_of(paddle, {value(ElementType::f32, Shape{2, 3}), value(ElementType::f32, Shape{2})}) ==
      "IR-broadcast: input 1 of shape [2] does not match [2,3] of the inputs before it: auto_broadcast pdpd, "
      "axis 1");
  paddle.auto_broadcast_axis = -2;
  CHECK(failure_of(paddle, {value(ElementType::f32, Shape{2, 3}), value(ElementType::f32, Shape{2})}) ==
        "IR-attribute-range: auto_broadcast_axis is -2; it takes -1 or an axis");
}

TEST_CASE("What spreads over a shape leaves it as it is, whatever the unknown dims are") {
  using op::spreads_over;
  const PartialShape image{2, 3, Dimension()};
  CHECK(spreads_over(Shape{}, image));
  CHECK(spreads_over(Shape{3, 1}, image));
  CHECK(spreads_over(PartialShape{Dimension(), 1}, image));  // 1 or 3
  CHECK(spreads_over(Shape{1, 1, 2, 1, 1}, image));
  CHECK(spreads_over(Shape{1, 1}, Shape{}));
  CHECK(spreads_over(Shape{1, 1}, PartialShape()));
  CHECK_FALSE(spreads_over(Shape{2}, PartialShape()));
  CHECK_FALSE(spreads_over(PartialShape(), image));
  CHECK_FALSE(spreads_over(Shape{7}, image));  // the last dim may be 1
  CHECK_FALSE(spreads_over(Shape{2, 1, 1, 1}, image));
  CHECK_FALSE(spreads_over(Shape{3}, Shape{1}));
  CHECK(spreads_over(Shape{3}, image, pdpd(1)));
}

TEST_CASE("Broadcast dims are explained") {
  const std::vector<ValueInfo> inputs{value(ElementType::f32, PartialShape{Dimension(), 1, 3}),
                                      value(ElementType::f32, Shape{4, 1})};
  const auto rules = explain_outputs(op::v1::Add{}, inputs);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0] == std::vector<std::string>{"", "1 and 4 broadcast to 4", "3 and 1 broadcast to 3"});
}

}  // namespace ir::test
