#include "ir_runtime/ops/movement.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const Dimension kAny;

Tensor counting(Shape shape, ElementType type = ElementType::i32) {
  Tensor tensor(ElementType::i32, std::move(shape));
  std::int32_t next = 0;
  for (auto& element : tensor.data<std::int32_t>()) element = next++;
  return type == ElementType::i32 ? tensor : tensor.converted(type);
}

op::v0::Concat concat(std::int64_t axis) {
  op::v0::Concat op;
  op.axis = axis;
  return op;
}

op::v1::Split split(std::int64_t parts) {
  op::v1::Split op;
  op.num_splits = parts;
  return op;
}

op::v3::Broadcast broadcast(op::BroadcastMode mode) {
  op::v3::Broadcast op;
  op.mode = mode;
  return op;
}

template <class Pad = op::v1::Pad>
Pad pad(op::PadMode mode) {
  Pad op;
  op.pad_mode = mode;
  return op;
}

ValueInfo f32_value(const PartialShape& shape) { return value(ElementType::f32, shape); }

ValueInfo known(std::vector<std::int64_t> values) {
  return value_of(i64({static_cast<std::int64_t>(values.size())}, values));
}

std::vector<std::int32_t> codes_of(const Tensor& packed) {
  const Tensor wide = packed.converted(ElementType::i32);
  const auto data = wide.data<std::int32_t>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("Concat puts tensors one behind the other") {
  const Tensor a = i32({2, 1}, {1, 2});
  const Tensor b = i32({2, 2}, {3, 4, 5, 6});
  check_equal<std::int32_t>(run(concat(1), {a, b, i32({2, 0}, {})}), {2, 3}, {1, 3, 4, 2, 5, 6});
  check_equal<std::int32_t>(run(concat(-2), {b, i32({1, 2}, {7, 8})}), {3, 2}, {3, 4, 5, 6, 7, 8});
  check_equal<std::int32_t>(run(concat(0), {b}), {2, 2}, {3, 4, 5, 6});
  const Tensor flags = tensor<std::uint8_t>({3}, {1, 0, 1}).converted(ElementType::boolean);
  check_equal<bool>(run(concat(0), {flags, flags}), {6}, {true, false, true, true, false, true});
}

TEST_CASE("Concat infers dims that are not known") {
  CHECK(infer_shape(concat(1), {f32_value({2, kAny}), f32_value({kAny, 3})}) ==
        PartialShape{2, Dimension(3, Dimension::kUnbounded)});
  CHECK(infer_shape(concat(0), {f32_value({Dimension(1, 2), 3}), f32_value({4, 3})}) ==
        PartialShape{Dimension(5, 6), 3});
  CHECK(infer_shape(concat(0), {f32_value(PartialShape()), f32_value({4, 3})}) ==
        PartialShape{Dimension(4, Dimension::kUnbounded), 3});
  CHECK(infer_shape(concat(0), {f32_value(PartialShape())}) == PartialShape());
  const auto rules = explain_outputs(concat(-1), std::vector{f32_value({2, 3}), f32_value({2, 4})});
  CHECK(rules[0][1] == "3 + 4 = 7");
  // Numbers of which nothing is known stay unknown between those that are known.
  const auto mixed = infer_outputs(
      concat(0), std::vector{partly_known({kAny, Dimension(3)}), value(ElementType::i64, {1}), known({7})});
  CHECK(mixed[0].elements == std::vector{kAny, Dimension(3),
                                         Dimension(-Dimension::kUnbounded, Dimension::kUnbounded),
                                         Dimension(7)});

  CHECK(failure_of(concat(0), {f32_value({2, 3}), f32_value({2, 4})}) ==
        "IR-shape: input 1 has shape [2,4]; the inputs before it have [?,3] but for axis 0");
  CHECK(failure_of(concat(2), {f32_value({2, 3})}) == "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(concat(0), {f32_value({2}), value(ElementType::i32, {2})}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and i32; one is taken");
  CHECK(failure_of(concat(0), {}).substr(0, 14) == "IR-input-count");
}

TEST_CASE("Split cuts equal parts") {
  const auto parts = evaluate(split(2), std::vector{counting({2, 4}), i64({}, {1})});
  REQUIRE(parts.size() == 2);
  check_equal<std::int32_t>(parts[0], {2, 2}, {0, 1, 4, 5});
  check_equal<std::int32_t>(parts[1], {2, 2}, {2, 3, 6, 7});
  CHECK(infer_shape(split(3), {f32_value({2, Dimension(3, 7)}), value_of(i64({1}, {-1}))}, 2) ==
        PartialShape{2, Dimension(1, 2)});
  CHECK(infer_shape(split(3), {f32_value({2, 3}), value(ElementType::i64, Shape{})}) ==
        PartialShape{kAny, kAny});
  CHECK(failure_of(split(3), {f32_value({2, 4}), value_of(i64({}, {1}))}) ==
        "IR-shape: axis 1 of input 0 has 4 elements, which is no multiple of 3");
  CHECK(failure_of(split(1 << 20), {f32_value({0}), value_of(i64({}, {0}))}) ==
        "IR-attribute-range: num_splits is 1048576; it takes values from 1 to 65536");
}

TEST_CASE("VariadicSplit cuts parts of given lengths") {
  const auto parts =
      evaluate(op::v1::VariadicSplit{}, std::vector{counting({6, 2}), i64({}, {0}), i64({3}, {1, -1, 2})});
  REQUIRE(parts.size() == 3);
  check_equal<std::int32_t>(parts[0], {1, 2}, {0, 1});
  check_equal<std::int32_t>(parts[1], {3, 2}, {2, 3, 4, 5, 6, 7});
  check_equal<std::int32_t>(parts[2], {2, 2}, {8, 9, 10, 11});
  const auto last =
      evaluate(op::v1::VariadicSplit{}, std::vector{counting({2, 3}), i64({1}, {-1}), i64({2}, {3, 0})});
  check_equal<std::int32_t>(last[1], {2, 0}, {});

  const op::v1::VariadicSplit op;
  CHECK(infer_shape(op, {f32_value({kAny, 2}), value_of(i64({}, {0})), known({3, -1})}, 1) ==
        PartialShape{kAny, 2});
  CHECK(infer_shape(op, {f32_value({Dimension(5, 8)}), value_of(i64({}, {0})), known({-1, 3})}) ==
        PartialShape{Dimension(2, 5)});
  CHECK(failure_of(op, {f32_value({6}), value_of(i64({}, {0})), known({1, 2})}) ==
        "IR-shape: the lengths sum up to 3, the axis has 6 elements");
  CHECK(failure_of(op, {f32_value({6}), value_of(i64({}, {0})), known({-1, 7})}) ==
        "IR-shape: the lengths but -1 sum up to 7, the axis has 6 elements");
  CHECK(failure_of(op, {f32_value({6}), value_of(i64({}, {0})), known({-1, -1})}) ==
        "IR-value: lengths 0 and 1 are -1; one may be");
  CHECK(failure_of(op, {f32_value({6}), value_of(i64({}, {0})), known({-2, 8})}) ==
        "IR-value: length 0 is -2");
}

TEST_CASE("VariadicSplit reads more lengths than inference carries from one operation to the next") {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(kMaxPropagatedElements) + 1, 0);
  lengths.back() = -1;
  const Tensor given = i64({std::ssize(lengths)}, lengths);
  const op::v1::VariadicSplit op;
  CHECK(infer_shape(op, {f32_value({6, 2}), value_of(i64({}, {0})), value_of(given)}, lengths.size() - 1) ==
        PartialShape{6, 2});
  const auto parts = evaluate(op, std::vector{counting({2, 2}), i64({}, {0}), given});
  REQUIRE(parts.size() == lengths.size());
  check_equal<std::int32_t>(parts.front(), {0, 2}, {});
  check_equal<std::int32_t>(parts.back(), {2, 2}, {0, 1, 2, 3});
}

TEST_CASE("parts of an outermost axis are views") {
  const auto views_of = [](const Shape& shape, ElementType type) {
    const std::vector<ValueInfo> inputs{value(type, shape), value_of(i64({}, {1}))};
    return prepare_kernel(split(2), inputs, infer_outputs(split(2), inputs)).views;
  };
  REQUIRE(views_of({1, 4, 3}, ElementType::f16).size() == 2);
  CHECK(views_of({1, 4, 3}, ElementType::f16)[1].byte_offset == 12);
  CHECK(views_of({2, 4}, ElementType::f16).empty());
  CHECK(views_of({1, 6}, ElementType::i4).empty());
}

TEST_CASE("Transpose reorders axes") {
  const Tensor data = counting({1, 2, 3});
  check_equal<std::int32_t>(run(op::v1::Transpose{}, {data, i64({3}, {2, 0, 1})}), {3, 1, 2},
                            {0, 3, 1, 4, 2, 5});
  check_equal<std::int32_t>(run(op::v1::Transpose{}, {data, i64({0}, {})}), {3, 2, 1}, {0, 3, 1, 4, 2, 5});
  check_equal<std::int32_t>(run(op::v1::Transpose{}, {data, i32({3}, {1, 0, 2})}), {2, 1, 3},
                            {0, 1, 2, 3, 4, 5});
  CHECK(infer_shape(op::v1::Transpose{}, {f32_value({kAny, 2, 3}), known({2, 0, 1})}) ==
        PartialShape{3, kAny, 2});
  CHECK(infer_shape(op::v1::Transpose{}, {f32_value(PartialShape()), value(ElementType::i64, {3})}) ==
        PartialShape::of_rank(3));
  CHECK(failure_of(op::v1::Transpose{}, {f32_value({1, 2}), known({0, 0})}) ==
        "IR-axis: axis 0 is given twice");
  for (const PartialShape& shape : {PartialShape{1, 2}, PartialShape()}) {
    CHECK(failure_of(op::v1::Transpose{}, {f32_value(shape), known({0, -1})}) ==
          "IR-axis: input 1 holds axis -1; Transpose takes axes from 0 on");
  }
  CHECK(failure_of(op::v1::Transpose{}, {f32_value({1, 2}), known({0, 1, 2})}) ==
        "IR-shape: input 1 has 3 axes, input 0 has shape [1,2]");
}

TEST_CASE("Broadcast spreads over the target") {
  const Tensor column = counting({2, 1});
  check_equal<std::int32_t>(run(broadcast(op::BroadcastMode::numpy), {column, i64({3}, {2, 2, 3})}),
                            {2, 2, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  check_equal<std::int32_t>(run(broadcast(op::BroadcastMode::bidirectional), {column, i64({1}, {3})}), {2, 3},
                            {0, 0, 0, 1, 1, 1});
  check_equal<std::int32_t>(
      run(broadcast(op::BroadcastMode::explicit_), {counting({2}), i64({3}, {1, 2, 2}), i64({1}, {1})}),
      {1, 2, 2}, {0, 0, 1, 1});
  op::v1::Broadcast aligned;
  aligned.mode = op::BroadcastMode::pdpd;
  aligned.axis = 1;
  check_equal<std::int32_t>(run(aligned, {counting({2}), i64({3}, {1, 2, 2})}), {1, 2, 2}, {0, 0, 1, 1});
  check_equal<std::int32_t>(run(broadcast(op::BroadcastMode::numpy), {column, i64({2}, {2, 0})}), {2, 0}, {});
}

TEST_CASE("Broadcast follows the specification's shapes") {
  const auto numpy = broadcast(op::BroadcastMode::numpy);
  const auto both = broadcast(op::BroadcastMode::bidirectional);
  const auto mapped = broadcast(op::BroadcastMode::explicit_);
  CHECK(infer_shape(numpy, {f32_value({16, 1, 1}), known({1, 16, 50, 50})}) == PartialShape{1, 16, 50, 50});
  CHECK(infer_shape(mapped, {f32_value({50, 50}), known({1, 50, 50, 16}), known({1, 2})}) ==
        PartialShape{1, 50, 50, 16});
  CHECK(infer_shape(both, {f32_value({16, 1, 1}), known({1, 1, 50, 50})}) == PartialShape{1, 16, 50, 50});
  CHECK(infer_shape(both, {f32_value({kAny, 1}), known({1, 1, 50})}) == PartialShape{1, kAny, 50});
  // A dim that is not 1 must come out as it is.
  CHECK(infer_shape(numpy, {f32_value({3, kAny}), value(ElementType::i64, {3})}) ==
        PartialShape{kAny, 3, kAny});
  CHECK(infer_shape(numpy, {f32_value({3}), partly_known({kAny, Dimension(1, 8)})}) == PartialShape{kAny, 3});

  CHECK(failure_of(numpy, {f32_value({3}), known({2})}) ==
        "IR-broadcast: a dim of size 3 of input 0 cannot spread over axis 0 of 2");
  CHECK(failure_of(numpy, {f32_value({1, 2}), known({2})}) ==
        "IR-broadcast: input 0 of shape [1,2] has more dims than the target [2]");
  CHECK(failure_of(numpy, {f32_value({1}), known({-1})}) == "IR-value: dim 0 of the target shape is -1");
  CHECK(failure_of(both, {f32_value({3}), known({2})}) ==
        "IR-broadcast: input 0 of shape [3] and the target [2] do not match");
  CHECK(failure_of(mapped, {f32_value({2, 2}), known({2, 2}), known({1, 0})}) ==
        "IR-axis: the axes [1,0] of input 2 do not ascend");
  CHECK(failure_of(mapped, {f32_value({2, 2}), known({2, 2}), known({0})}) ==
        "IR-shape: input 2 has 1 axes, input 0 has shape [2,2]");
  op::v1::Broadcast old;
  old.mode = op::BroadcastMode::bidirectional;
  CHECK(failure_of(old, {f32_value({1}), known({1})}) ==
        "IR-attribute-value: mode is bidirectional, which Broadcast knows since opset3");
}

TEST_CASE("Broadcast's axes are looked at before the data's dims are known") {
  const auto mapped = broadcast(op::BroadcastMode::explicit_);
  const ValueInfo plane = f32_value({kAny, kAny});
  const ValueInfo target = known({1, 1, 5, 10});
  CHECK(infer_shape(mapped, {plane, target, known({1, 3})}) == PartialShape{1, 1, 5, 10});
  CHECK(failure_of(mapped, {plane, target, known({2, 1})}) ==
        "IR-axis: the axes [2,1] of input 2 do not ascend");
  CHECK(failure_of(mapped, {plane, target, known({0, 7})}) ==
        "IR-axis: axis 7 lies outside of [-4, 4) for rank 4");
  CHECK(failure_of(mapped, {f32_value({kAny, 4}), target, known({1, 2})}) ==
        "IR-broadcast: a dim of size 4 of input 0 cannot spread over axis 2 of 5");
  const std::string too_many = "IR-shape: input 2 has 3 axes, input 0 has shape [?,?]";
  CHECK(failure_of(mapped, {plane, target, known({0, 1, 2})}) == too_many);
  // Neither the axes nor the target need be known for their number.
  CHECK(failure_of(mapped, {plane, value(ElementType::i64, {4}), value(ElementType::i64, {3})}) == too_many);
  CHECK(failure_of(mapped, {f32_value({}), target, value(ElementType::i64, {1})}) == "no failure");
  CHECK(failure_of(mapped, {f32_value(PartialShape()), target, known({2, 1})}) == "no failure");
  // Broadcast-1 waits for the dims.
  op::v1::Broadcast old;
  old.mode = op::BroadcastMode::explicit_;
  CHECK(failure_of(old, {plane, target, known({0, 1, 2})}) == "no failure");
  CHECK(failure_of(old, {f32_value({1, 1}), target, known({0, 1, 2})}) ==
        "IR-shape: input 2 has 3 axes, input 0 has shape [1,1]");
}

TEST_CASE("Broadcast-3 takes axes in explicit mode only") {
  for (const auto mode : {op::BroadcastMode::numpy, op::BroadcastMode::bidirectional}) {
    CHECK(failure_of(broadcast(mode), {f32_value({1}), known({2}), known({0})}) ==
          "IR-input-count: has 3 inputs, Broadcast takes 2");
  }
  CHECK(failure_of(broadcast(op::BroadcastMode::explicit_), {f32_value({1}), known({2})}) ==
        "IR-input-count: has 2 inputs, Broadcast takes 3");
  CHECK(infer_shape(op::v1::Broadcast(), {f32_value({1}), known({2}), known({0})}) == PartialShape{2});
}

TEST_CASE("Tile repeats") {
  check_equal<std::int32_t>(run(op::v0::Tile{}, {counting({2}), i64({2}, {2, 2})}), {2, 4},
                            {0, 1, 0, 1, 0, 1, 0, 1});
  check_equal<std::int32_t>(run(op::v0::Tile{}, {counting({2, 1}), i64({1}, {3})}), {2, 3},
                            {0, 0, 0, 1, 1, 1});
  check_equal<std::int32_t>(run(op::v0::Tile{}, {counting({2}), i64({1}, {-1})}), {0}, {});
  CHECK(infer_shape(op::v0::Tile{}, {f32_value({5, 2, 3, 4}), known({1, 2, 3})}) ==
        PartialShape{5, 2, 6, 12});
  CHECK(infer_shape(op::v0::Tile{}, {f32_value({2, 3, 4}), known({5, 1, 2, 3})}) ==
        PartialShape{5, 2, 6, 12});
  CHECK(infer_shape(op::v0::Tile{}, {f32_value({2, 3}), partly_known({Dimension(1, 4), Dimension(2)})}) ==
        PartialShape{Dimension(2, 8), 6});
  CHECK(infer_shape(op::v0::Tile{}, {f32_value({2, 3}), value(ElementType::i64, {5})}) ==
        PartialShape::of_rank(5));
}

TEST_CASE("Reverse turns axes around") {
  op::v1::Reverse reverse;
  check_equal<std::int32_t>(run(reverse, {counting({2, 3}), i64({1}, {1})}), {2, 3}, {2, 1, 0, 5, 4, 3});
  check_equal<std::int32_t>(run(reverse, {counting({2, 3}), i64({0}, {})}), {2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(failure_of(reverse, {f32_value({2, 3}), known({2})}) ==
        "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
  // An axis that is named twice is turned around once.
  check_equal<std::int32_t>(run(reverse, {counting({2, 3}), i64({3}, {1, -1, 1})}), {2, 3},
                            {2, 1, 0, 5, 4, 3});
  reverse.mode = op::ReverseMode::mask;
  check_equal<std::int32_t>(
      run(reverse, {counting({2, 2}), tensor<std::uint8_t>({2}, {1, 0}).converted(ElementType::boolean)}),
      {2, 2}, {2, 3, 0, 1});
  CHECK(failure_of(reverse, {f32_value({2, 3}), value(ElementType::boolean, {3})}) ==
        "IR-shape: input 1 has 3 elements, one for each axis of input 0 of shape [2,3] is taken");
  CHECK(failure_of(reverse, {f32_value({2}), value(ElementType::i64, {1})}) ==
        "IR-element-type: input 1 is of type i64, Reverse takes boolean");
}

TEST_CASE("Roll follows the specification's examples") {
  const Tensor data = i32({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const op::v7::Roll roll;
  check_equal<std::int32_t>(run(roll, {data, i64({}, {1}), i64({}, {0})}), {4, 3},
                            {10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  check_equal<std::int32_t>(run(roll, {data, i64({2}, {-1, 2}), i64({2}, {0, 1})}), {4, 3},
                            {5, 6, 4, 8, 9, 7, 11, 12, 10, 2, 3, 1});
  check_equal<std::int32_t>(run(roll, {data, i64({3}, {1, 2, 1}), i64({3}, {0, 1, 0})}), {4, 3},
                            {8, 9, 7, 11, 12, 10, 2, 3, 1, 5, 6, 4});
  CHECK(failure_of(roll, {f32_value({2}), known({1, 1}), known({0})}) ==
        "IR-shape: input 1 has 2 shifts for 1 axes");
  CHECK(failure_of(roll, {f32_value({2}), known({1}), known({1})}) ==
        "IR-axis: axis 1 lies outside of [-1, 1) for rank 1");
}

TEST_CASE("ReverseSequence turns the beginnings around") {
  const op::v0::ReverseSequence op;
  check_equal<std::int32_t>(run(op, {counting({2, 4}), i32({2}, {2, 4})}), {2, 4}, {1, 0, 2, 3, 7, 6, 5, 4});
  check_equal<std::int32_t>(run(op, {counting({2, 4}), f32({2}, {3, 1})}), {2, 4}, {2, 1, 0, 3, 4, 5, 6, 7});
  CHECK(infer_shape(op, {f32_value({kAny, 5}), value(ElementType::i32, {3})}) == PartialShape{3, 5});
  CHECK(error_of(op, {counting({1, 4}), i32({1}, {5})}) ==
        "IR-value: element 0 of input 1 (lengths) is 5, which addresses nothing");
  op::v0::ReverseSequence same;
  same.batch_axis = -1;
  CHECK(failure_of(same, {f32_value({2, 2}), value(ElementType::i32, {2})}) ==
        "IR-axis: batch_axis and seq_axis are both axis 1");
  CHECK(failure_of(op, {f32_value({2, 2}), value(ElementType::i32, {3})}) ==
        "IR-shape: input 1 has 3 lengths, axis 0 of input 0 has 2");
}

TEST_CASE("Pad follows the specification's examples") {
  const Tensor data = i32({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Tensor begin = i64({2}, {0, 1});
  const Tensor end = i64({2}, {2, 3});
  check_equal<std::int32_t>(run(pad(op::PadMode::constant), {data, begin, end}), {5, 8},
                            {0,  1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0, 9, 10, 11,
                             12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0});
  check_equal<std::int32_t>(run(pad(op::PadMode::edge), {data, begin, end}), {5, 8},
                            {1,  1,  2,  3,  4, 4, 4,  4,  5,  5,  6,  7,  8, 8, 8,  8,  9,  9,  10, 11,
                             12, 12, 12, 12, 9, 9, 10, 11, 12, 12, 12, 12, 9, 9, 10, 11, 12, 12, 12, 12});
  check_equal<std::int32_t>(run(pad(op::PadMode::reflect), {data, begin, end}), {5, 8},
                            {2,  1,  2,  3, 4, 3, 2, 1, 6, 5, 6, 7, 8, 7, 6, 5, 10, 9, 10, 11,
                             12, 11, 10, 9, 6, 5, 6, 7, 8, 7, 6, 5, 2, 1, 2, 3, 4,  3, 2,  1});
  check_equal<std::int32_t>(run(pad(op::PadMode::symmetric), {data, begin, end}), {5, 8},
                            {1,  1,  2,  3,  4, 4, 3,  2,  5,  5,  6,  7,  8, 8, 7, 6, 9, 9, 10, 11,
                             12, 12, 11, 10, 9, 9, 10, 11, 12, 12, 11, 10, 5, 5, 6, 7, 8, 8, 7,  6});
  using Pad12 = op::v12::Pad;
  check_equal<std::int32_t>(
      run(pad<Pad12>(op::PadMode::edge), {data, i64({2}, {-1, -1}), i64({2}, {-1, -1})}), {1, 2}, {6, 7});
  check_equal<std::int32_t>(
      run(pad<Pad12>(op::PadMode::reflect), {data, i64({2}, {2, -1}), i64({2}, {-1, 3})}), {4, 6},
      {10, 11, 12, 11, 10, 9, 6, 7, 8, 7, 6, 5, 2, 3, 4, 3, 2, 1, 6, 7, 8, 7, 6, 5});
  check_equal<std::int32_t>(
      run(pad(op::PadMode::constant), {counting({1}), i64({1}, {1}), i64({1}, {0}), i32({}, {9})}), {2},
      {9, 0});
  check_equal<std::int32_t>(
      run(pad<Pad12>(op::PadMode::constant), {counting({2}), i64({1}, {-2}), i64({1}, {-1})}), {0}, {});
}

TEST_CASE("Pad infers and rejects") {
  const auto constant = pad(op::PadMode::constant);
  CHECK(infer_shape(constant, {f32_value({kAny, 3}), known({1, 0}), known({1, 2})}) ==
        PartialShape{Dimension(2, Dimension::kUnbounded), 5});
  CHECK(infer_shape(constant, {f32_value({4, 3}), partly_known({Dimension(0, 2), Dimension(0)}),
                               known({0, 0})}) == PartialShape{Dimension(4, 6), 3});
  CHECK(infer_shape(constant, {f32_value({4, 3}), value(ElementType::i64, {2}), known({0, 0})}) ==
        PartialShape{kAny, kAny});
  CHECK(explain_outputs(constant, std::vector{f32_value({4}), known({1}), known({2})})[0][0] ==
        "1 + 4 + 2 = 7");

  CHECK(failure_of(pad(op::PadMode::reflect), {f32_value({2}), known({2}), known({0})}) ==
        "IR-value: 2 elements are added to axis 0 of 2 elements; pad_mode reflect adds at most 1");
  CHECK(failure_of(pad(op::PadMode::symmetric), {f32_value({2}), known({0}), known({3})}) ==
        "IR-value: 3 elements are added to axis 0 of 2 elements; pad_mode symmetric adds at most 2");
  CHECK(failure_of(pad(op::PadMode::edge), {f32_value({0}), known({1}), known({0})}) ==
        "IR-value: 1 elements are added to axis 0 of 0 elements; pad_mode edge adds at most 0");
  CHECK(failure_of(constant, {f32_value({2}), known({-2}), known({-1})}) ==
        "IR-shape: -2 and -1 elements are cut off axis 0, which has 2");
  CHECK(failure_of(constant, {f32_value({2}), known({1, 1}), known({0, 0})}) ==
        "IR-shape: input 1 has 2 pads, input 0 has shape [2]");
  CHECK(failure_of(constant, {f32_value({2}), known({1}), known({0}), value(ElementType::i32, Shape{})}) ==
        "IR-element-type: inputs 0 and 3 are of types f32 and i32, Pad takes one type");
  CHECK(failure_of(constant, {f32_value({2}), known({1}), known({0}), f32_value({2})}) ==
        "IR-shape: input 3 has shape [2]; it takes one element");
}

TEST_CASE("ExtractImagePatches follows the specification's examples") {
  const auto patches = [](std::int64_t size, std::int64_t stride, std::int64_t rate, op::AutoPad auto_pad) {
    op::v3::ExtractImagePatches op;
    op.sizes = {size, size};
    op.strides = {stride, stride};
    op.rates = {rate, rate};
    op.auto_pad = auto_pad;
    return op;
  };
  Tensor image = counting({1, 1, 10, 10});
  for (auto& element : image.data<std::int32_t>()) ++element;
  check_equal<std::int32_t>(run(patches(3, 5, 1, op::AutoPad::valid), {image}), {1, 9, 2, 2},
                            {1,  6,  51, 56, 2,  7,  52, 57, 3,  8,  53, 58, 11, 16, 61, 66, 12, 17,
                             62, 67, 13, 18, 63, 68, 21, 26, 71, 76, 22, 27, 72, 77, 23, 28, 73, 78});
  check_equal<std::int32_t>(run(patches(3, 5, 2, op::AutoPad::valid), {image}), {1, 9, 2, 2},
                            {1,  6,  51, 56, 3,  8,  53, 58, 5,  10, 55, 60, 21, 26, 71, 76, 23, 28,
                             73, 78, 25, 30, 75, 80, 41, 46, 91, 96, 43, 48, 93, 98, 45, 50, 95, 100});
  const Tensor padded = run(patches(4, 9, 1, op::AutoPad::same_upper), {image});
  CHECK(padded.shape() == Shape{1, 16, 2, 2});
  const auto data = padded.data<std::int32_t>();
  CHECK(std::vector<std::int32_t>(data.begin(), data.begin() + 12) ==
        std::vector<std::int32_t>{0, 0, 0, 89, 0, 0, 81, 90, 0, 0, 82, 0});
  Tensor two = counting({1, 2, 5, 5});
  for (auto& element : two.data<std::int32_t>()) ++element;
  check_equal<std::int32_t>(run(patches(2, 3, 1, op::AutoPad::valid), {two}), {1, 8, 2, 2},
                            {1, 4, 16, 19, 26, 29, 41, 44, 2, 5,  17, 20, 27, 30, 42, 45,
                             6, 9, 21, 24, 31, 34, 46, 49, 7, 10, 22, 25, 32, 35, 47, 50});
  CHECK(infer_shape(patches(2, 2, 1, op::AutoPad::valid), {f32_value({kAny, 3, 8, kAny})}) ==
        PartialShape{kAny, 12, 4, kAny});
  CHECK(failure_of(patches(2, 2, 1, op::AutoPad::explicit_), {f32_value({1, 1, 4, 4})}) ==
        "IR-attribute-value: auto_pad is explicit; it takes same_upper, same_lower or valid");
  CHECK(failure_of(op::v3::ExtractImagePatches{}, {f32_value({1, 1, 4, 4})}) ==
        "IR-attribute-size: sizes has 0 values for 2 spatial axes");
  // Windows of 2^22 x 2^22 around each of 2^20 channels: 2^64 elements.
  const Tensor many(ElementType::u8, {1, 1 << 20, 1, 1});
  CHECK(error_of(patches(2, 1, (1 << 22) - 1, op::AutoPad::same_upper), {many}) ==
        "IR-limit: the padded image would have shape [1,1048576,4194304,4194304], more than can be counted");
}

TEST_CASE("packed elements move as others do") {
  for (const ElementType type :
       {ElementType::u1, ElementType::u2, ElementType::u3, ElementType::u4, ElementType::u6}) {
    INFO(name_of(type));
    const std::vector<std::int32_t> bits{1, 0, 1, 1, 0, 0, 1, 0, 1};
    const Tensor data = i32({3, 3}, bits).converted(type);
    CHECK(codes_of(run(op::v1::Transpose{}, {data, i64({2}, {1, 0})})) ==
          std::vector<std::int32_t>{1, 1, 1, 0, 0, 0, 1, 0, 1});
    CHECK(codes_of(run(concat(0), {data, data})).size() == 18);
    CHECK(codes_of(run(concat(1), {data, i32({3, 1}, {1, 0, 1}).converted(type)})) ==
          std::vector<std::int32_t>{1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1});
    CHECK(codes_of(evaluate(split(3), std::vector{data, i64({}, {0})})[1]) ==
          std::vector<std::int32_t>{1, 0, 0});
  }
  const Tensor four = i32({2, 3}, {-8, 7, -1, 0, 5, -3}).converted(ElementType::i4);
  CHECK(codes_of(run(pad(op::PadMode::constant),
                     {four, i64({2}, {0, 1}), i64({2}, {0, 0}), i32({}, {-2}).converted(ElementType::i4)})) ==
        std::vector<std::int32_t>{-2, -8, 7, -1, -2, 0, 5, -3});
}

}  // namespace ir::test
