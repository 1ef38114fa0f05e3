#include "ir_runtime/ops/quantization.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::v0::FakeQuantize;
using op::v13::FakeConvert;

FakeQuantize quantize(std::int64_t levels) {
  FakeQuantize op;
  op.levels = levels;
  return op;
}

Tensor number(float x) { return f32({}, {x}); }

}  // namespace

TEST_CASE("FakeQuantize rounds to its levels and cuts off") {
  // Levels of [0, 4]: 0, 1, 2, 3, 4, mapped to 0, 10, 20, 30, 40; halves go to the even level.
  check_equal<float>(
      run(quantize(5), {f32({6}, {-1, 0.5F, 1.5F, 2.4F, 4, 9}), number(0), number(4), number(0), number(40)}),
      {6}, {0, 0, 20, 20, 40, 40});
}

TEST_CASE("FakeQuantize takes limits by channel") {
  const Tensor data = f32({1, 2, 2}, {0.4F, 0.6F, 0.4F, 3});
  check_equal<float>(run(quantize(2), {data, f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {1, 2}), number(0),
                                       f32({2, 1}, {1, 2})}),
                     {1, 2, 2}, {0, 1, 0, 2});
  FakeQuantize paddle = quantize(2);
  paddle.auto_broadcast = op::AutoBroadcast::pdpd;
  paddle.auto_broadcast_axis = 1;
  check_equal<float>(
      run(paddle, {data, f32({2}, {0, 0}), f32({2}, {1, 2}), f32({2}, {0, 0}), f32({2}, {1, 2})}), {1, 2, 2},
      {0, 1, 0, 2});
}

TEST_CASE("FakeQuantize in f64 has the precision of f32") {
  const Tensor data = tensor<double>({2}, {0.4, 0.6});
  const Tensor low = tensor<double>({}, {0});
  const Tensor high = tensor<double>({}, {1});
  check_equal<double>(run(quantize(2), {data, low, high, low, high}), {2}, {0, 1});
}

TEST_CASE("FakeQuantize takes limits of more axes, which begin with ones") {
  const Tensor low = f32({1, 1, 1, 1}, {0});
  check_equal<float>(run(quantize(2), {f32({3}, {0.4F, 0.6F, 3}), low, f32({1, 1, 1}, {1}), low, low}), {3},
                     {0, 0, 0});
  check_equal<float>(run(quantize(2), {number(0.6F), f32({1}, {0}), f32({1}, {1}), f32({1}, {0}), number(7)}),
                     {}, {7});
  // By row, and by column.
  const Tensor data = f32({2, 2}, {0.4F, 0.6F, 0.6F, 1.6F});
  check_equal<float>(
      run(quantize(2), {data, number(0), f32({1, 2, 1}, {1, 2}), number(0), f32({1, 1, 1, 2}, {3, 5})}),
      {2, 2}, {0, 5, 0, 5});
  const Tensor wide = tensor<double>({1, 1}, {1});
  check_equal<double>(run(quantize(2), {tensor<double>({2}, {0.4, 0.6}), tensor<double>({}, {0}), wide,
                                        tensor<double>({1, 1, 1}, {0}), wide}),
                      {2}, {0, 1});
}

TEST_CASE("FakeQuantize has the shape of the data") {
  const ValueInfo limit = value(ElementType::f32, Shape{1, 1, 1, 1});
  const auto shape_of = [&](PartialShape data, PartialShape high) {
    return infer_shape(quantize(2), {value(ElementType::f32, std::move(data)), limit,
                                     value(ElementType::f32, std::move(high)), limit, limit});
  };
  CHECK(shape_of({2, 3}, {1, 2, 1}) == PartialShape{2, 3});
  CHECK(shape_of(PartialShape(Shape{}), {1}) == PartialShape(Shape{}));
  CHECK(shape_of(PartialShape(), {1, 2, 1}) == PartialShape());
  CHECK(shape_of({Dimension(), 3}, {2, 1}) == PartialShape{Dimension(), 3});
  // As OpenVINO, though there are no values for it.
  CHECK(shape_of({1, 1, 3, 4}, {1, 2, 1, 1}) == PartialShape{1, 1, 3, 4});
  const std::string unsupported =
      "IR-unsupported: no kernel for FakeQuantize with limits of more elements than the data";
  CHECK(error_of(quantize(2), {f32({1, 2}, {0, 1}), number(0), f32({2, 1}, {1, 2}), number(0), number(1)}) ==
        unsupported);
  CHECK(error_of(quantize(2), {f32({2}, {0, 1}), number(0), f32({2, 1}, {1, 2}), number(0), number(1)}) ==
        unsupported);
}

TEST_CASE("FakeQuantize rejects other inputs") {
  const ValueInfo data = value(ElementType::f32, Shape{2, 3});
  const ValueInfo limit = value(ElementType::f32, Shape{});
  CHECK(failure_of(quantize(1), {data, limit, limit, limit, limit}) ==
        "IR-attribute-range: levels is 1; it takes values from 2 to 16777216");
  CHECK(failure_of(quantize(2), {data, limit, limit, value(ElementType::f32, Shape{2}), limit}) ==
        "IR-broadcast: input 3 of shape [2] does not match [2,3] of the inputs before it: axis 1 would be 3 "
        "and "
        "2");
  CHECK(failure_of(quantize(2), {data, limit, limit, limit}) ==
        "IR-input-count: has 4 inputs, FakeQuantize takes 5");
  CHECK(failure_of(quantize(2), {value(ElementType::i8, Shape{}), limit, limit, limit, limit}) ==
        "IR-element-type: input 0 is of type i8, FakeQuantize takes a floating-point type");
}

TEST_CASE("FakeConvert rounds to 8-bit floats") {
  FakeConvert op;
  // f8e4m3 has 3 bits behind the leading one: between 16 and 32 it counts in twos. It ends at 448.
  check_equal<float>(run(op, {f32({5}, {17, 18.9F, -19, 1000, 0}), number(1)}), {5}, {16, 18, -20, 448, 0});
  check_equal<float>(run(op, {f32({2}, {8.5F, 500}), number(2)}), {2}, {8, 224});
  check_equal<float>(run(op, {f32({1}, {9}), number(2), number(1)}), {1}, {8.5F});
  op.destination_type = ElementType::f8e5m2;
  check_equal<float>(run(op, {f32({3}, {17, 19, 1000}), number(1)}), {3}, {16, 20, 1024});
  const float infinity = std::numeric_limits<float>::infinity();
  check_equal<float>(run(op, {f32({5}, {61440, 65504, -1e6F, infinity, 57344}), number(1)}), {5},
                     {57344, 57344, -57344, 57344, 57344});
}

TEST_CASE("FakeConvert takes scales by channel and rejects others") {
  FakeConvert op;
  check_equal<float>(run(op, {f32({2, 2}, {17, 17, 17, 17}), f32({2, 1}, {1, 2})}), {2, 2}, {16, 16, 16, 16});
  const ValueInfo data = value(ElementType::f32, Shape{2});
  CHECK(failure_of(op, {data, value(ElementType::f32, Shape{3})}) ==
        "IR-broadcast: input 1 has shape [3], which does not spread over [2]");
  const ValueInfo wide = value(ElementType::f64, Shape{2});
  CHECK(failure_of(op, {wide, wide}) ==
        "IR-element-type: input 0 is of type f64, FakeConvert takes f16, bf16, f32");
  op.destination_type = ElementType::f16;
  CHECK(failure_of(op, {data, data}) ==
        "IR-attribute-value: destination_type is f16; it takes f8e4m3 or f8e5m2");
}

}  // namespace ir::test
