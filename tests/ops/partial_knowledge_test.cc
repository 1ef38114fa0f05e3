// Whatever inference says of inputs that are known in part must hold for every tensor that fits them.
#include <functional>
#include <random>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/indexing.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/select.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/slicing.h"
#include "ir_runtime/ops/type_conversion.h"
#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : generator_(seed) {}
  std::int64_t roll(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  Tensor vector(std::int64_t count, std::int64_t low, std::int64_t high) {
    return fill(Tensor(ElementType::i64, {count}), low, high);
  }
  Tensor number(std::int64_t low, std::int64_t high) { return fill(Tensor(ElementType::i64, {}), low, high); }
  /// f32 numbers, some of them halves and quarters; now and then one that is no number.
  Tensor reals(const Shape& shape) {
    Tensor tensor(ElementType::f32, shape);
    for (float& element : tensor.data<float>()) {
      element = static_cast<float>(roll(-20, 40)) * 0.25F;
      if (roll(0, 20) == 0) element = roll(0, 1) == 0 ? INFINITY : NAN;
    }
    return tensor;
  }
  Tensor data(std::int64_t min_rank = 1) {
    Shape shape(static_cast<std::size_t>(roll(min_rank, 3)));
    for (auto& dim : shape) dim = roll(0, 4);
    return fill(Tensor(ElementType::i64, shape), -9, 9);
  }

  // A value that `tensor` fits and that says less.
  ValueInfo weakened(const Tensor& tensor) {
    if (roll(0, 3) == 0) return value_of(tensor);
    PartialShape shape(tensor.shape());
    const bool keeps_shape = roll(0, 1) == 0;
    for (std::size_t axis = 0; !keeps_shape && axis < shape.rank(); ++axis) {
      shape[axis] = interval_around(shape[axis].value(), 0);
    }
    ValueInfo weak = value(tensor.element_type(), shape);
    if (shape.is_static() && tensor.element_type() == ElementType::i64 && roll(0, 3) > 0) {
      weak.elements.emplace();
      for (const std::int64_t element : tensor.data<std::int64_t>()) {
        weak.elements->push_back(interval_around(element, -Dimension::kUnbounded));
        if (roll(0, 1) == 0) weak.elements->back().set_distance(zero_, element);
      }
    }
    if (shape.is_static() && tensor.element_type() == ElementType::f32 && roll(0, 3) > 0) {
      weak.reals.emplace();
      for (const float element : tensor.data<float>())
        weak.reals->push_back(roll(0, 1) == 0 ? KnownReal(element) : std::nullopt);
    }
    return weak;
  }
  [[nodiscard]] const Dimension& zero() const { return zero_; }

 private:
  Tensor fill(Tensor tensor, std::int64_t low, std::int64_t high) {
    for (auto& element : tensor.data<std::int64_t>()) element = roll(low, high);
    return tensor;
  }
  Dimension interval_around(std::int64_t number, std::int64_t lowest) {
    switch (roll(0, 3)) {
      case 0:
        return {lowest, Dimension::kUnbounded};
      case 1:
        return {std::max(lowest, number - roll(0, 2)), number + roll(0, 2)};
      default:
        return number;
    }
  }

  std::mt19937 generator_;
  /// What other elements are counted from.
  Dimension zero_ = Dimension().with_origin();
};

bool holds(const Dimension& claim, std::int64_t truth) {
  return claim.min() <= truth && truth <= claim.max();
}

bool holds(const ValueInfo& claim, const Tensor& truth, const Dimension& zero) {
  if (claim.shape.has_rank() && claim.shape.rank() != truth.shape().size()) return false;
  for (std::size_t axis = 0; axis < claim.shape.rank(); ++axis) {
    if (!holds(claim.shape[axis], truth.shape()[axis])) return false;
  }
  const auto real_holds = [](const KnownReal& claimed, double number) {
    return !claimed || *claimed == number || (std::isnan(*claimed) && std::isnan(number));
  };
  if (is_real(truth.element_type()))
    return !claim.reals || std::ranges::equal(*claim.reals, reals_of(truth), real_holds);
  const std::vector<std::int64_t> data = integers_of(truth);
  const auto element_holds = [&](const Dimension& element, std::int64_t number) {
    return holds(element, number) && element.distance_from(zero).value_or(number) == number;
  };
  return !claim.elements || std::ranges::equal(*claim.elements, data, element_holds);
}

// Makes an operation and inputs that may or may not be valid.
using Maker = std::function<std::pair<Op, std::vector<Tensor>>(Dice&)>;

void check_claims(const Maker& make) {
  int evaluated = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    Dice dice(seed);
    const auto [op, inputs] = make(dice);
    std::vector<Tensor> outputs;
    try {
      outputs = evaluate(op, inputs);
    } catch (const InferenceFailure&) {
      continue;
    } catch (const Error&) {
      continue;
    }
    ++evaluated;
    for (int round = 0; round < 4; ++round) {
      std::vector<ValueInfo> weak;
      for (const Tensor& input : inputs) weak.push_back(dice.weakened(input));
      INFO(op.type() << ", seed " << seed << ", round " << round);
      const std::vector<ValueInfo> claims = infer_outputs(op, weak);
      REQUIRE(claims.size() == outputs.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(holds(claims[i], outputs[i], dice.zero()));
    }
  }
  CHECK(evaluated > 40);
}

// Operations that take numbers of any type.
template <class Check>
void for_each_arithmetic(const Check& check) {
  check(op::v1::Add{});
  check(op::v1::Subtract{});
  check(op::v1::Multiply{});
  check(op::v1::Divide{});
  check(op::v1::FloorMod{});
  check(op::v1::Mod{});
  check(op::v1::Maximum{});
  check(op::v1::Minimum{});
}

std::int64_t rank_of(const Tensor& tensor) { return static_cast<std::int64_t>(tensor.shape().size()); }

}  // namespace

TEST_CASE("what Slice and StridedSlice infer holds") {
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    const Tensor data = dice.data();
    const std::int64_t count = dice.roll(0, rank_of(data));
    return {op::v8::Slice{},
            {data, dice.vector(count, -5, 5), dice.vector(count, -5, 5), dice.vector(count, -2, 2)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v1::StridedSlice op;
    for (auto* mask : {&op.begin_mask, &op.end_mask, &op.new_axis_mask, &op.shrink_axis_mask}) {
      for (int i = 0; i < 3; ++i) mask->push_back(dice.roll(0, 4) == 0 ? 1 : 0);
    }
    const Tensor data = dice.data();
    const std::int64_t count = dice.roll(0, rank_of(data));
    return {op, {data, dice.vector(count, -5, 5), dice.vector(count, -5, 5), dice.vector(count, -2, 2)}};
  });
}

TEST_CASE("what Reshape, Transpose and Unsqueeze infer holds") {
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v1::Reshape op;
    op.special_zero = dice.roll(0, 1) == 0;
    return {op, {dice.data(), dice.vector(dice.roll(1, 3), -1, 3)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    const Tensor data = dice.data();
    return {op::v1::Transpose{}, {data, dice.vector(rank_of(data), 0, rank_of(data) - 1)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    const Tensor data = dice.data(0);
    return {op::v0::Unsqueeze{}, {data, dice.vector(1, -rank_of(data) - 1, rank_of(data))}};
  });
}

TEST_CASE("what Concat, Split, Tile, Broadcast and Pad infer holds") {
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v0::Concat op;
    const Tensor data = dice.data();
    op.axis = dice.roll(-rank_of(data), rank_of(data) - 1);
    return {op, {data, data, dice.roll(0, 3) == 0 ? dice.data() : data}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v1::Split op;
    op.num_splits = dice.roll(1, 2);
    const Tensor data = dice.data();
    return {op, {data, dice.number(0, rank_of(data) - 1)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    return {op::v0::Tile{}, {dice.data(0), dice.vector(dice.roll(0, 4), -1, 2)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v3::Broadcast op;
    op.mode = dice.roll(0, 1) == 0 ? op::BroadcastMode::numpy : op::BroadcastMode::bidirectional;
    Tensor data = dice.data(0);
    Tensor target = dice.vector(rank_of(data) + dice.roll(0, 1), 1, 3);
    const auto dims = target.data<std::int64_t>();
    std::ranges::copy_backward(data.shape(), dims.end());
    return {op, {data, target}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v12::Pad op;
    op.pad_mode = static_cast<op::PadMode>(dice.roll(0, 3));
    const Tensor data = dice.data();
    return {op,
            {data, dice.vector(rank_of(data), -2, 2), dice.vector(rank_of(data), -2, 2), dice.number(-9, 9)}};
  });
}

TEST_CASE("what Gather and Range infer holds") {
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    const Tensor data = dice.data();
    const Tensor indices = dice.roll(0, 1) == 0 ? dice.number(-4, 4) : dice.vector(dice.roll(0, 3), -4, 4);
    return {op::v8::Gather{}, {data, indices, dice.number(-rank_of(data), rank_of(data) - 1)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    return {op::v0::Range{}, {dice.number(-5, 9), dice.number(-5, 9), dice.number(-3, 3)}};
  });
}

TEST_CASE("what arithmetic on elements infers holds") {
  const auto check_binary = [](const Op& op) {
    check_claims([&](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
      const std::int64_t count = dice.roll(1, 4);
      const Tensor a = dice.vector(count, -6, 9);
      return {op, {a, dice.roll(0, 1) == 0 ? dice.vector(count, -6, 9) : dice.number(-6, 9)}};
    });
  };
  for_each_arithmetic(check_binary);
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    Tensor condition(ElementType::boolean, {3});
    for (bool& element : condition.data<bool>()) element = dice.roll(0, 1) == 0;
    return {op::v1::Select{}, {condition, dice.vector(3, -6, 9), dice.vector(3, -6, 9)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v1::ReduceSum op;
    return {op, {dice.vector(dice.roll(1, 4), -6, 9), dice.vector(dice.roll(0, 1), 0, 0)}};
  });
}

TEST_CASE("what arithmetic on floats infers holds") {
  const auto check_binary = [](const Op& op) {
    check_claims([&](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
      const Shape shape = dice.roll(0, 1) == 0 ? Shape{dice.roll(1, 4)} : Shape{dice.roll(1, 2), 3};
      const Shape others[] = {shape, {}, {1}, {3}};
      return {op, {dice.reals(shape), dice.reals(others[dice.roll(0, 3)])}};
    });
  };
  for_each_arithmetic(check_binary);
  check_binary(op::v1::Power{});
  check_binary(op::v1::Less{});
  check_binary(op::v1::Equal{});
  const auto check_unary = [](const Op& op) {
    check_claims([&](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
      return {op, {dice.reals({dice.roll(1, 2), dice.roll(1, 3)})}};
    });
  };
  check_unary(op::v0::Floor{});
  check_unary(op::v0::Ceiling{});
  check_unary(op::v5::Round{});
  check_unary(op::v0::Sqrt{});
  op::v0::Clamp clamp;
  clamp.min = -1;
  clamp.max = 2.5;
  check_unary(clamp);
}

TEST_CASE("what conversions to floats and back infer holds") {
  for (const ElementType type :
       {ElementType::f32, ElementType::i64, ElementType::i32, ElementType::boolean}) {
    op::v0::Convert convert;
    convert.destination_type = type;
    check_claims([&](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
      const std::int64_t count = dice.roll(1, 4);
      return {convert, {dice.roll(0, 1) == 0 ? dice.reals({count}) : dice.vector(count, -6, 9)}};
    });
  }
}

TEST_CASE("what Select, Gather, Concat and Reshape infer of floats holds") {
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    Tensor condition(ElementType::boolean, {3});
    for (bool& element : condition.data<bool>()) element = dice.roll(0, 1) == 0;
    return {op::v1::Select{},
            {condition, dice.reals({3}), dice.reals(dice.roll(0, 1) == 0 ? Shape{3} : Shape{})}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    return {op::v8::Gather{}, {dice.reals({4}), dice.vector(dice.roll(0, 3), -4, 4), dice.number(0, 0)}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    op::v0::Concat concat;
    concat.axis = 0;
    return {concat, {dice.reals({dice.roll(0, 2)}), dice.reals({dice.roll(1, 3)})}};
  });
  check_claims([](Dice& dice) -> std::pair<Op, std::vector<Tensor>> {
    return {op::v1::Reshape{}, {dice.reals({4}), dice.vector(dice.roll(1, 3), -1, 4)}};
  });
}

}  // namespace ir::test
