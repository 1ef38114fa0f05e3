#include "ir_runtime/ops/binary_convolution.h"

#include "tests/ops/convolution_support.h"

namespace ir::test {
namespace {

using op::AutoPad;
using op::v1::BinaryConvolution;

Tensor bits(Shape shape, std::vector<std::uint8_t> bytes) {
  Tensor tensor(ElementType::u1, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t*>(tensor.raw()));
  return tensor;
}

ValueInfo some_bits(PartialShape shape) { return value(ElementType::u1, std::move(shape)); }

// Two by two bits: 1 0 / 0 1.
const std::vector<std::uint8_t> kDiagonal{0b1001'0000};

}  // namespace

TEST_CASE("BinaryConvolution gives the shape of the specification's example", "[binary]") {
  auto op = plain<BinaryConvolution>(2);
  op.pads_begin = op.pads_end = {2, 2};
  CHECK(infer_shape(op, {real({1, 3, 224, 224}), some_bits({64, 3, 5, 5})}) == PartialShape{1, 64, 224, 224});
}

TEST_CASE("BinaryConvolution counts equal bits", "[binary]") {
  const auto op = plain<BinaryConvolution>(2);
  const std::vector<float> image{1, 0, 1, 0, 1, 1};
  check_close(run(op, {f32({1, 1, 2, 3}, image), bits({1, 1, 2, 2}, kDiagonal)}), {1, 1, 1, 2}, {4, -2});
  // The bits of the second output channel follow in the same byte: 1 1 / 1 1.
  check_close(run(op, {f32({1, 1, 2, 3}, image), bits({2, 1, 2, 2}, {0b1001'1111})}), {1, 2, 1, 2},
              {4, -2, 0, 2});
  // Of two input channels: 1 0 / 0 1 and 0 0 / 0 0.
  check_close(run(op, {f32({1, 2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 0}), bits({1, 2, 2, 2}, {0b1001'0000})}),
              {1, 1, 1, 1}, {6});
}

TEST_CASE("BinaryConvolution fills the padding with pad_value", "[binary]") {
  auto op = plain<BinaryConvolution>(2);
  op.pads_begin = {0, 1};
  const Tensor image = f32({1, 1, 2, 2}, {1, 0, 0, 1});
  const Tensor filters = bits({1, 1, 2, 2}, kDiagonal);
  const auto padded_with = [&](double value) {
    op.pad_value = value;
    return run(op, {image, filters});
  };
  check_close(padded_with(0), {1, 1, 1, 2}, {-2, 4});
  check_close(padded_with(-1), {1, 1, 1, 2}, {-2, 4});
  check_close(padded_with(1), {1, 1, 1, 2}, {-2, 4});
  check_close(padded_with(0.5), {1, 1, 1, 2}, {-4, 4});
  const Tensor ones = bits({1, 1, 2, 2}, {0xF0});
  op.pad_value = 0;
  check_close(run(op, {image, ones}), {1, 1, 1, 2}, {-2, 0});
  op.pad_value = 1;
  check_close(run(op, {image, ones}), {1, 1, 1, 2}, {2, 0});
  op.auto_pad = AutoPad::same_upper;  // the explicit pads are ignored
  op.pad_value = 0;
  check_close(run(op, {image, filters}), {1, 1, 2, 2}, {4, -2, -2, 2});
}

TEST_CASE("BinaryConvolution takes every numeric type", "[binary]") {
  const auto op = plain<BinaryConvolution>(2);
  const Tensor filters = bits({1, 1, 2, 2}, kDiagonal);
  check_equal<std::int64_t>(run(op, {i64({1, 1, 2, 2}, {0, 1, 1, 0}), filters}), {1, 1, 1, 1}, {-4});
  check_equal<std::int8_t>(run(op, {tensor<std::int8_t>({1, 1, 2, 2}, {1, 1, 1, 1}), filters}), {1, 1, 1, 1},
                           {0});
  check_equal<std::uint8_t>(run(op, {tensor<std::uint8_t>({1, 1, 2, 2}, {0, 1, 1, 0}), filters}),
                            {1, 1, 1, 1}, {252});
  check_equal<double>(run(op, {tensor<double>({1, 1, 2, 2}, {1, 0, 0, 1}), filters}), {1, 1, 1, 1}, {4});
  const Tensor half = run(op, {f32({1, 1, 2, 2}, {1, 0, 0, 0}).converted(ElementType::f16), filters});
  CHECK(half.element_type() == ElementType::f16);
  check_close(half.converted(ElementType::f32), {1, 1, 1, 1}, {2});
}

TEST_CASE("BinaryConvolution runs with filters that are known late", "[binary]") {
  const auto op = plain<BinaryConvolution>(2);
  const Tensor image = f32({1, 1, 2, 3}, {1, 0, 1, 0, 1, 1});
  const Tensor filters = bits({2, 1, 2, 2}, {0b1001'1111});
  const std::vector<ValueInfo> inputs{value_of(image), some_bits({2, 1, 2, 2})};
  const std::vector<ValueInfo> outputs = infer_outputs(op, inputs);
  const PreparedKernel kernel = prepare_kernel(op, inputs, outputs);
  Tensor result(ElementType::f32, outputs[0].shape.to_shape());
  std::vector<std::uint64_t> scratch((kernel.scratch_bytes + 7) / 8);
  const std::vector<const void*> in{image.raw(), filters.raw()};
  const std::vector<void*> out{result.raw()};
  kernel.run({in, out, reinterpret_cast<std::byte*>(scratch.data())});
  check_close(result, {1, 2, 1, 2}, {4, -2, 0, 2});
}

TEST_CASE("BinaryConvolution infers through unknown ranks and dims", "[binary]") {
  const Dimension any;
  const PartialShape unknown;
  const auto op = plain<BinaryConvolution>(2);
  CHECK(infer_shape(op, {real(unknown), some_bits({8, 3, 3, 3})}) == PartialShape{any, 8, any, any});
  CHECK(infer_shape(op, {real({2, any, 9, any}), some_bits({any, 3, 3, any})}) ==
        PartialShape{2, any, 7, any});
  CHECK(infer_shape(op, {real({2, 3, 9, 9}), some_bits(unknown)}) == PartialShape{2, any, any, any});
  CHECK(infer_shape(op, {real(unknown), some_bits(unknown)}) == PartialShape::of_rank(4));
  CHECK(infer_shape(BinaryConvolution(), {real(unknown), some_bits(unknown)}) == unknown);
  CHECK(infer_shape(plain<BinaryConvolution>(1), {real(unknown), some_bits({1, 1, 3})}) ==
        PartialShape{any, 1, any});
}

TEST_CASE("BinaryConvolution says what is wrong", "[binary]") {
  auto op = plain<BinaryConvolution>(2);
  const auto failure = [&](PartialShape image, PartialShape filters) {
    return failure_of(op, {real(std::move(image)), some_bits(std::move(filters))});
  };
  CHECK(failure_of(op, {real({1, 3, 8, 8})}) == "IR-input-count: has 1 inputs, BinaryConvolution takes 2");
  CHECK(failure_of(op, {value(ElementType::boolean, {1, 3, 8, 8}), some_bits({4, 3, 2, 2})}) ==
        "IR-element-type: input 0 is of type boolean, BinaryConvolution takes a numeric type");
  CHECK(failure_of(op, {real({1, 3, 8, 8}), real({4, 3, 2, 2})}) ==
        "IR-element-type: input 1 is of type f32, BinaryConvolution takes u1");
  CHECK(failure({1, 3, 8}, {4, 3, 2}) ==
        "IR-rank: input 0 has shape [1,3,8] of rank 3, BinaryConvolution takes rank 4");
  CHECK(failure({1, 3, 8, 8}, {4, 3, 2}) ==
        "IR-rank: input 1 has shape [4,3,2] of rank 3, BinaryConvolution takes rank 4");
  CHECK(failure({1, 3, 8, 8}, {4, 5, 2, 2}) ==
        "IR-shape: input 0 of shape [1,3,8,8] and input 1 of shape [4,5,2,2] differ in their channels");
  CHECK(failure({1, 3, 1, 8}, {4, 3, 2, 2}) ==
        "IR-window: the window of spatial axis 0 covers 2 elements (size 2, dilation 1), the padded image "
        "has 1 (0 + 1 + 0)");
  op.dilations = {0, 1};
  CHECK(failure({1, 3, 8, 8}, {4, 3, 2, 2}) ==
        "IR-attribute-range: dilations holds 0; it takes values from 1 to 2147483648");
}

}  // namespace ir::test
