#include "ir_runtime/ops/deformable_convolution.h"

#include <algorithm>

#include "tests/ops/convolution_support.h"

namespace ir::test {
namespace {

using op::AutoPad;
using V1 = op::v1::DeformableConvolution;
using V8 = op::v8::DeformableConvolution;

Tensor filled(Shape shape, float value) {
  const std::vector<float> values(static_cast<std::size_t>(element_count(shape).value()), value);
  return f32(std::move(shape), values);
}

}  // namespace

TEMPLATE_TEST_CASE("DeformableConvolution gives the shapes of the specification's example", "[deformable]",
                   V1, V8) {
  const auto op = plain<TestType>(2);
  CHECK(infer_shape(op, {real({1, 4, 224, 224}), real({1, 50, 220, 220}), real({64, 4, 5, 5})}) ==
        PartialShape{1, 64, 220, 220});
}

TEMPLATE_TEST_CASE("DeformableConvolution without displacement is a convolution", "[deformable]", V1, V8) {
  auto op = plain<TestType>(2);
  op.strides = {2, 1};
  op.pads_begin = {1, 0};
  op.pads_end = {0, 1};
  op::v1::Convolution straight;
  straight.strides = op.strides;
  straight.pads_begin = op.pads_begin;
  straight.pads_end = op.pads_end;
  const Tensor image = counting({2, 3, 5, 6});
  const Tensor filters = counting({4, 3, 2, 3});
  const Tensor expected = run(straight, {image, filters});
  Shape offsets = expected.shape();
  offsets[1] = 12;
  const auto values = expected.data<float>();
  check_close(run(op, {image, filled(offsets, 0), filters}), expected.shape(),
              {values.begin(), values.end()});
}

TEST_CASE("DeformableConvolution displaces along y, then along x", "[deformable]") {
  // A tap of one over 3 x 3 pixels, moved down by 1 and left by a half.
  const Tensor image = counting({1, 1, 3, 3});
  const Tensor offsets = f32({1, 2, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                            -.5, -.5, -.5, -.5, -.5, -.5, -.5, -.5, -.5});
  const Tensor filters = f32({1, 1, 1, 1}, {10});
  const std::vector<float> cut{0, 45, 55, 0, 75, 85, 0, 0, 0};
  check_close(run(plain<V1>(2), {image, offsets, filters}), {1, 1, 3, 3}, cut);
  auto op = plain<V8>(2);
  check_close(run(op, {image, offsets, filters}), {1, 1, 3, 3}, cut);
  op.bilinear_interpolation_pad = true;
  check_close(run(op, {image, offsets, filters}), {1, 1, 3, 3}, {20, 45, 55, 35, 75, 85, 0, 0, 0});
}

TEST_CASE("DeformableConvolution scales taps by the mask", "[deformable]") {
  const Tensor image = f32({1, 1, 1, 3}, {1, 2, 3});
  const Tensor filters = f32({1, 1, 1, 2}, {1, 10});
  const Tensor mask = f32({1, 2, 1, 2}, {1, 2, .5, 0});
  check_close(run(plain<V8>(2), {image, filled({1, 4, 1, 2}, 0), filters, mask}), {1, 1, 1, 2}, {11, 4});
}

TEST_CASE("DeformableConvolution moves parts of the channels apart", "[deformable]") {
  auto op = plain<V1>(2);
  op.deformable_group = 2;
  const Tensor image = f32({1, 2, 1, 2}, {1, 2, 3, 4});
  // The second channel moves to the right.
  const Tensor offsets = f32({1, 4, 1, 2}, {0, 0, 0, 0, 0, 0, 1, 1});
  check_close(run(op, {image, offsets, f32({1, 2, 1, 1}, {1, 10})}), {1, 1, 1, 2}, {41, 2});
  op.group = 2;
  check_close(run(op, {image, offsets, f32({2, 1, 1, 1}, {1, 10})}), {1, 2, 1, 2}, {1, 2, 40, 0});
  // Weights of two groups over one set of offsets.
  op.deformable_group = 1;
  check_close(run(op, {image, f32({1, 2, 1, 2}, {0, 0, 1, 1}), f32({2, 1, 1, 1}, {1, 10})}), {1, 2, 1, 2},
              {2, 0, 40, 0});
}

TEST_CASE("DeformableConvolution takes every numeric type", "[deformable]") {
  const auto op = plain<V8>(2);
  check_equal<std::int32_t>(run(op, {i32({1, 1, 1, 3}, {1, 2, 3}), i32({1, 2, 1, 3}, {0, 0, 0, 1, -1, 1}),
                                     i32({1, 1, 1, 1}, {5}), i32({1, 1, 1, 3}, {1, 2, 3})}),
                            {1, 1, 1, 3}, {10, 10, 0});
  check_equal<std::uint8_t>(
      run(op, {tensor<std::uint8_t>({1, 1, 1, 2}, {100, 200}),
               tensor<std::uint8_t>({1, 2, 1, 2}, {0, 0, 1, 1}), tensor<std::uint8_t>({1, 1, 1, 1}, {2})}),
      {1, 1, 1, 2}, {144, 0});
  check_equal<double>(
      run(op, {tensor<double>({1, 1, 1, 2}, {1e200, 3e200}), tensor<double>({1, 2, 1, 2}, {0, 0, .5, 0}),
               tensor<double>({1, 1, 1, 1}, {1})}),
      {1, 1, 1, 2}, {2e200, 3e200});
  const Tensor half = run(op, {f32({1, 1, 1, 2}, {1, 3}).converted(ElementType::f16),
                               f32({1, 2, 1, 2}, {0, 0, .5, 0}).converted(ElementType::f16),
                               f32({1, 1, 1, 1}, {4}).converted(ElementType::f16)});
  CHECK(half.element_type() == ElementType::f16);
  check_close(half.converted(ElementType::f32), {1, 1, 1, 2}, {8, 12});
}

TEST_CASE("DeformableConvolution takes empty tensors", "[deformable]") {
  const auto op = plain<V1>(2);
  check_close(run(op, {f32({0, 1, 2, 2}, {}), f32({0, 2, 2, 2}, {}), filled({1, 1, 1, 1}, 1)}), {0, 1, 2, 2},
              {});
  check_close(run(op, {f32({1, 0, 1, 2}, {}), filled({1, 2, 1, 2}, 0), f32({1, 0, 1, 1}, {})}), {1, 1, 1, 2},
              {0, 0});
}

TEST_CASE("DeformableConvolution infers through unknown ranks and dims", "[deformable]") {
  const Dimension any;
  auto op = plain<V8>(2);
  op.group = 2;
  op.deformable_group = 2;
  const PartialShape unknown;
  CHECK(infer_shape(op, {real(unknown), real(unknown), real(unknown)}) == PartialShape::of_rank(4));
  CHECK(infer_shape(op, {real(unknown), real({2, 36, 5, any}), real({4, 4, 3, 3})}) ==
        PartialShape{2, 4, 5, any});
  CHECK(infer_shape(op, {real({any, 4, 9, any}), real(unknown), real({any, 2, 3, 3}),
                         real({7, any, any, 3})}) == PartialShape{7, any, 7, 3});
  CHECK(infer_shape(op, {real({1, any, any, 8}), real(unknown), real({6, any, 3, any})}) ==
        PartialShape{1, 6, any, any});
  op.auto_pad = AutoPad::same_lower;
  op.strides = {2, 1};
  CHECK(infer_shape(op, {real({1, any, 9, 8}), real(unknown), real({6, any, any, any})}) ==
        PartialShape{1, 6, 5, 8});
  // Lists that are left out mean ones and zeros.
  CHECK(infer_shape(V1(), {real({1, 1, 4, 4}), real(unknown), real({1, 1, 2, 2})}) ==
        PartialShape{1, 1, 3, 3});
}

TEST_CASE("DeformableConvolution explains its dims", "[deformable]") {
  auto op = plain<V1>(2);
  op.strides = {2, 2};
  CHECK(rule(op, {real({1, 1, 9, 9}), real({1, 18, 4, 4}), real({4, 1, 3, 3})}, 2) ==
        "floor((9 + 0 + 0 - 3) / 2) + 1 = 4");
}

TEST_CASE("DeformableConvolution says what is wrong with its inputs", "[deformable]") {
  auto op = plain<V8>(2);
  op.group = 2;
  op.deformable_group = 2;
  const auto failure = [&](PartialShape image, PartialShape offsets, PartialShape filters) {
    return failure_of(op, {real(std::move(image)), real(std::move(offsets)), real(std::move(filters))});
  };
  const ValueInfo image = real({1, 4, 5, 5});
  const ValueInfo offsets = real({1, 36, 3, 3});
  const ValueInfo filters = real({4, 2, 3, 3});
  CHECK(failure_of(op, {image, offsets, filters}) == "no failure");
  CHECK(failure_of(op, {image, offsets}) ==
        "IR-input-count: has 2 inputs, DeformableConvolution takes 3 to 4");
  CHECK(failure_of(plain<V1>(2), {image, offsets, filters, offsets}) ==
        "IR-input-count: has 4 inputs, DeformableConvolution takes 3");
  CHECK(failure_of(op, {value(ElementType::boolean, {1, 4, 5, 5}), offsets, filters}) ==
        "IR-element-type: input 0 is of type boolean, DeformableConvolution takes a numeric type");
  CHECK(failure_of(op, {image, offsets, filters, value(ElementType::f16, {1, 18, 3, 3})}) ==
        "IR-element-type: inputs 0 and 3 are of types f32 and f16, DeformableConvolution takes one type");
  CHECK(failure({1, 4, 5}, {1, 36, 3, 3}, {4, 2, 3, 3}) ==
        "IR-rank: input 0 has shape [1,4,5] of rank 3, DeformableConvolution takes rank 4");
  CHECK(
      failure({1, 6, 5, 5}, {1, 36, 3, 3}, {4, 2, 3, 3}) ==
      "IR-shape: input 0 of shape [1,6,5,5] has 6 channels, input 2 of shape [4,2,3,3] takes 2 groups of 2");
  CHECK(failure({1, 5, 5, 5}, {1, 36, 3, 3}, {4, Dimension(), 3, 3}) ==
        "IR-shape: 5 channels of input 0 of shape [1,5,5,5] cannot be divided into group = 2 parts");
  CHECK(failure({1, 4, 5, 5}, {1, 36, 3, 3}, {3, 2, 3, 3}) ==
        "IR-shape: 3 channels of input 2 of shape [3,2,3,3] cannot be divided into group = 2 parts");
  CHECK(failure({1, 4, 5, 5}, {1, 18, 3, 3}, {4, 2, 3, 3}) ==
        "IR-shape: input 1 has shape [1,18,3,3]: axis 1 is 18, but deformable_group * window * 2 is 36");
  CHECK(failure({1, 4, 5, 5}, {2, 36, 3, 3}, {4, 2, 3, 3}) ==
        "IR-shape: input 1 has shape [2,36,3,3]: axis 0 is 2, but the batch size is 1");
  CHECK(failure({1, 4, 5, 5}, {1, 36, 3, 4}, {4, 2, 3, 3}) ==
        "IR-shape: input 1 has shape [1,36,3,4]: axis 3 is 4, but the output's width is 3");
  CHECK(failure_of(op, {image, offsets, filters, real({1, 9, 3, 3})}) ==
        "IR-shape: input 3 has shape [1,9,3,3]: axis 1 is 9, but deformable_group * window is 18");
  CHECK(failure({1, 4, 5, 5}, {1, 36, 3, 3}, {4, 2, 3, 6}) ==
        "IR-window: the window of spatial axis 1 covers 6 elements (size 6, dilation 1), the padded image "
        "has 5 (0 + 5 + 0)");
}

TEST_CASE("DeformableConvolution says what is wrong with its attributes", "[deformable]") {
  const std::vector<ValueInfo> inputs{real({1, 4, 5, 5}), real({1, 18, 3, 3}), real({4, 4, 3, 3})};
  auto op = plain<V8>(2);
  op.group = 0;
  CHECK(failure_of(op, inputs) == "IR-attribute-range: group is 0; it takes values of at least 1");
  op.group = 1;
  op.deformable_group = -1;
  CHECK(failure_of(op, inputs) ==
        "IR-attribute-range: deformable_group is -1; it takes values of at least 1");
  op.deformable_group = 3;
  CHECK(
      failure_of(op, inputs) ==
      "IR-shape: 4 channels of input 0 of shape [1,4,5,5] cannot be divided into deformable_group = 3 parts");
  op.deformable_group = kHuge;
  op.group = kHuge;
  CHECK(failure_of(op, inputs).starts_with("IR-shape: input 0 of shape [1,4,5,5] has 4 channels"));
  op = plain<V8>(2);
  op.strides = {1};
  CHECK(failure_of(op, inputs) == "IR-attribute-size: strides has 1 values for 2 spatial axes");
}

}  // namespace ir::test
