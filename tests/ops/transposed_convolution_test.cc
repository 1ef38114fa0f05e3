// ConvolutionBackpropData and GroupConvolutionBackpropData.
#include "tests/ops/convolution_support.h"

namespace ir::test {

using op::AutoPad;
using op::v1::ConvolutionBackpropData;
using op::v1::GroupConvolutionBackpropData;

TEST_CASE("ConvolutionBackpropData gives the shapes of the specification's examples", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(2);
  op.strides = {2, 2};
  op.pads_begin = op.pads_end = {1, 1};
  op.output_padding = {0, 0};
  CHECK(infer_shape(op, {real({1, 20, 224, 224}), real({20, 10, 3, 3})}) == PartialShape{1, 10, 447, 447});
  op = plain<ConvolutionBackpropData>(2);
  op.strides = {3, 3};
  op.output_padding = {2, 2};
  CHECK(infer_shape(op, {real({1, 20, 2, 2}), real({20, 10, 3, 3})}) == PartialShape{1, 10, 8, 8});
  op = plain<ConvolutionBackpropData>(2);
  op.pads_begin = op.pads_end = {1, 1};
  op.auto_pad = AutoPad::valid;
  CHECK(infer_shape(op, {real({1, 20, 224, 224}), real({20, 10, 3, 3}), value_of(i64({2}, {450, 450}))}) ==
        PartialShape{1, 10, 450, 450});
}

TEST_CASE("ConvolutionBackpropData spreads each element over a window", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(1);
  const Tensor image = f32({1, 1, 3}, {1, 2, 3});
  const Tensor filters = f32({1, 1, 2}, {1, 10});
  check_close(run(op, {image, filters}), {1, 1, 4}, {1, 12, 23, 30});
  op.strides = {2};
  check_close(run(op, {image, filters}), {1, 1, 6}, {1, 10, 2, 20, 3, 30});
  op.strides = {3};
  op.dilations = {2};
  check_close(run(op, {image, filters}), {1, 1, 9}, {1, 0, 10, 2, 0, 20, 3, 0, 30});
}

TEST_CASE("ConvolutionBackpropData takes strides of any size", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(2);
  op.strides = {100, 101};
  const Tensor result = run(op, {f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1, 1, 1, 2}, {1, 10})});
  CHECK(result.shape() == Shape{1, 1, 101, 103});
  const auto data = result.data<float>();
  CHECK(std::accumulate(data.begin(), data.end(), 0.0F) == 110.0F);
  CHECK(data[0] == 1.0F);
  CHECK(data[102] == 20.0F);
  CHECK(data[100 * 103] == 3.0F);
  op.strides = {std::int64_t{1} << 31, 1};
  check_close(run(op, {f32({1, 1, 1, 2}, {1, 2}), f32({1, 1, 1, 2}, {1, 10})}), {1, 1, 1, 3}, {1, 12, 20});
}

TEST_CASE("ConvolutionBackpropData works over two and three axes and many channels", "[convolution]") {
  check_close(run(plain<ConvolutionBackpropData>(2), {counting({1, 1, 2, 2}), counting({1, 1, 2, 2})}),
              {1, 1, 3, 3}, {1, 4, 4, 6, 20, 16, 9, 24, 16});
  check_close(
      run(plain<ConvolutionBackpropData>(3), {counting({1, 1, 1, 1, 2}), f32({1, 1, 1, 1, 2}, {1, 10})}),
      {1, 1, 1, 1, 3}, {1, 12, 20});
  // Filters are [C_IN, C_OUT, window].
  check_close(
      run(plain<ConvolutionBackpropData>(1), {f32({1, 2, 1}, {1, 2}), f32({2, 3, 1}, {1, 2, 3, 10, 20, 30})}),
      {1, 3, 1}, {21, 42, 63});
}

TEST_CASE("ConvolutionBackpropData cuts off pads and adds output padding", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(1);
  const Tensor image = f32({1, 1, 3}, {1, 2, 3});
  const Tensor filters = f32({1, 1, 2}, {1, 10});
  op.strides = {2};
  op.pads_begin = {1};
  check_close(run(op, {image, filters}), {1, 1, 5}, {10, 2, 20, 3, 30});
  op.pads_end = {2};
  check_close(run(op, {image, filters}), {1, 1, 3}, {10, 2, 20});
  op.output_padding = {1};
  check_close(run(op, {image, filters}), {1, 1, 4}, {10, 2, 20, 3});
  op.output_padding = {5};
  check_close(run(op, {image, filters}), {1, 1, 8}, {10, 2, 20, 3, 30, 0, 0, 0});
  op.auto_pad = AutoPad::same_upper;  // no pads then
  op.output_padding = {};
  check_close(run(op, {image, filters}), {1, 1, 6}, {1, 10, 2, 20, 3, 30});
}

TEST_CASE("ConvolutionBackpropData meets the output dims that are asked for", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(1);
  const Tensor image = f32({1, 1, 3}, {1, 2, 3});
  const Tensor filters = f32({1, 1, 4}, {1, 10, 100, 1000});
  // All windows: 1 12 123 1230 2300 3000.
  const auto result = [&](std::int64_t size) {
    const Tensor tensor = run(op, {image, filters, i64({1}, {size})});
    return std::vector<float>(tensor.data<float>().begin(), tensor.data<float>().end());
  };
  SECTION("same_upper cuts the odd element at the beginning") {
    op.auto_pad = AutoPad::same_upper;
    CHECK(result(3) == std::vector<float>{123, 1230, 2300});
    CHECK(result(4) == std::vector<float>{12, 123, 1230, 2300});
    CHECK(result(6) == std::vector<float>{1, 12, 123, 1230, 2300, 3000});
  }
  SECTION("same_lower cuts it at the end") {
    op.auto_pad = AutoPad::same_lower;
    CHECK(result(3) == std::vector<float>{12, 123, 1230});
    CHECK(result(4) == std::vector<float>{12, 123, 1230, 2300});
  }
  SECTION("valid cuts at the end alone") {
    op.auto_pad = AutoPad::valid;
    CHECK(result(3) == std::vector<float>{1, 12, 123});
    CHECK(result(4) == std::vector<float>{1, 12, 123, 1230});
  }
  SECTION("explicit pads say where the output begins, also where they do not explain its size") {
    op.pads_begin = {2};
    op.pads_end = {0};
    CHECK(result(4) == std::vector<float>{123, 1230, 2300, 3000});
    CHECK(result(3) == std::vector<float>{123, 1230, 2300});
    CHECK(result(6) == std::vector<float>{123, 1230, 2300, 3000, 0, 0});
  }
  SECTION("an image comes back to its size where the last window left a rest") {
    // 8 elements, padded with 1 on both sides, have 4 windows of 3 in steps of 2; the last element is in
    // none.
    op.strides = {2};
    op.pads_begin = {1};
    op.pads_end = {1};
    const Tensor gradient =
        run(op, {f32({1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 3}, {1, 10, 100}), i64({1}, {8})});
    check_close(gradient, {1, 1, 8}, {10, 102, 20, 203, 30, 304, 40, 400});
  }
  SECTION("output padding is counted in") {
    op.auto_pad = AutoPad::same_upper;
    op.output_padding = {1};
    CHECK(result(5) == std::vector<float>{12, 123, 1230, 2300, 3000});
  }
  SECTION("a larger output ends in zeros") {
    op.auto_pad = GENERATE(AutoPad::explicit_, AutoPad::valid, AutoPad::same_upper);
    CHECK(result(8) == std::vector<float>{1, 12, 123, 1230, 2300, 3000, 0, 0});
  }
}

TEST_CASE("ConvolutionBackpropData waits for the output dims", "[convolution]") {
  const auto op = plain<ConvolutionBackpropData>(1);
  const std::vector<ValueInfo> inputs{real({1, 1, 3}), real({1, 1, 2}), value(ElementType::i64, {1})};
  const std::vector<ValueInfo> outputs = infer_outputs(op, inputs);
  CHECK(outputs[0].shape == PartialShape{1, 1, Dimension()});
  CHECK_THROWS_WITH(prepare_kernel(op, inputs, outputs), ir::test::contains_text("IR-needs-constant"));
}

TEST_CASE("ConvolutionBackpropData takes every numeric type", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(1);
  check_equal<std::int32_t>(run(op, {i32({1, 1, 2}, {1, -2}), i32({1, 1, 2}, {2, 3})}), {1, 1, 3},
                            {2, -1, -6});
  check_equal<std::uint8_t>(
      run(op, {tensor<std::uint8_t>({1, 1, 1}, {200}), tensor<std::uint8_t>({1, 1, 2}, {1, 2})}), {1, 1, 2},
      {200, 144});
  check_equal<double>(run(op, {tensor<double>({1, 1, 1}, {3}), tensor<double>({1, 1, 2}, {1, 0.5})}),
                      {1, 1, 2}, {3, 1.5});
  check_close(run(op, {f32({0, 1, 2}, {}), f32({1, 1, 2}, {2, 3})}), {0, 1, 3}, {});
  check_close(run(op, {f32({1, 1, 0}, {}), f32({1, 1, 3}, {2, 3, 4})}), {1, 1, 2}, {0, 0});
}

TEST_CASE("ConvolutionBackpropData infers through unknown ranks and dims", "[convolution]") {
  const Dimension any;
  const auto op = plain<ConvolutionBackpropData>(2);
  const ValueInfo shape = value_of(i64({2}, {3, 5}));
  CHECK(infer_shape(op, {real(PartialShape()), real({16, 2, 3, 3}), shape}) == PartialShape{any, 2, 3, 5});
  CHECK(infer_shape(op, {real({1, 4, 9, any}), real(PartialShape())}) == PartialShape{1, any, any, any});
  CHECK(infer_shape(op, {real({1, 4, Dimension(2, 9), any}), real({4, any, 3, 3})}) ==
        PartialShape{1, any, Dimension(4, 11), Dimension(2, Dimension::kUnbounded)});
  CHECK(infer_shape(op, {real({1, 4, 9, 9}), real({4, 2, 3, 3}), value(ElementType::i32, {2})}) ==
        PartialShape{1, 2, any, any});
  CHECK(infer_shape(ConvolutionBackpropData(), {real(PartialShape()), real(PartialShape()), shape}) ==
        PartialShape{any, any, 3, 5});
  CHECK(infer_shape(ConvolutionBackpropData(), {real(PartialShape()), real(PartialShape())}) ==
        PartialShape());
  ValueInfo partly = value(ElementType::i64, {2});
  partly.elements = std::vector<Dimension>{7, any};
  CHECK(infer_shape(op, {real({1, 4, 9, 9}), real({4, 2, 3, 3}), partly}) == PartialShape{1, 2, 7, any});
}

TEST_CASE("ConvolutionBackpropData explains its dims", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(1);
  op.strides = {2};
  op.dilations = {2};
  op.pads_begin = {1};
  op.pads_end = {3};
  op.output_padding = {1};
  const ValueInfo image = real({1, 1, 224});
  const ValueInfo filters = real({1, 1, 3});
  CHECK(rule(op, {image, filters}, 2) == "2 * (224 - 1) + 5 - 1 - 3 + 1 = 448");
  CHECK(rule(op, {image, filters, value_of(i64({1}, {9}))}, 2) == "element 0 of input 2 = 9");
}

TEST_CASE("ConvolutionBackpropData says what is wrong", "[convolution]") {
  auto op = plain<ConvolutionBackpropData>(1);
  const ValueInfo image = real({1, 4, 3});
  const ValueInfo filters = real({4, 2, 2});
  CHECK(failure_of(op, {image}) == "IR-input-count: has 1 inputs, ConvolutionBackpropData takes 2 to 3");
  CHECK(failure_of(op, {image, real({5, 2, 2})}) ==
        "IR-shape: input 0 of shape [1,4,3] has 4 channels, input 1 of shape [5,2,2] takes 5");
  CHECK(failure_of(op, {image, filters, real({1})}) ==
        "IR-element-type: input 2 is of type f32, ConvolutionBackpropData takes an integer type");
  CHECK(failure_of(op, {image, filters, value(ElementType::i64, {1, 1})}) ==
        "IR-rank: input 2 has shape [1,1] of rank 2, ConvolutionBackpropData takes rank 1");
  CHECK(failure_of(op, {image, filters, value_of(i64({2}, {4, 4}))}) ==
        "IR-shape: input 2 of shape [2] gives the output dims of 1 spatial axes");
  CHECK(failure_of(op, {image, filters, value_of(i64({1}, {-4}))}) ==
        "IR-shape: input 2 asks for -4 elements on spatial axis 0");
  CHECK(failure_of(op, {real(PartialShape()), real(PartialShape()),
                        value(ElementType::i64, {std::int64_t{1} << 50})}) ==
        "IR-rank: has 1125899906842624 spatial axes; it takes 1 to 3");
  op.pads_begin = op.pads_end = {3};
  CHECK(failure_of(op, {image, filters}) ==
        "IR-window: the output of spatial axis 0 would have 1 * (3 - 1) + 2 - 3 - 3 + 0 = -2 elements");
  CHECK(failure_of(op, {real({1, 4, Dimension(0, 3)}), filters}) ==
        "IR-window: the output of spatial axis 0 would have at most 1 * (3 - 1) + 2 - 3 - 3 + 0 = -2 "
        "elements");
  op = plain<ConvolutionBackpropData>(1);
  op.output_padding = {-1};
  CHECK(failure_of(op, {image, filters}) ==
        "IR-attribute-range: output_padding holds -1; it takes values from 0 to 2147483648");
  op.output_padding = {0, 0};
  CHECK(failure_of(op, {image, filters}) ==
        "IR-attribute-size: output_padding has 2 values for 1 spatial axes");
  op.output_padding = {};
  op.strides = {std::int64_t{1} << 31};
  CHECK(failure_of(op, {real({1, 4, 1025}), filters}) ==
        "IR-window: spatial axis 0 has size 1025; windows take at most 1024");
  op.strides = {1};
  CHECK(failure_of(op, {image, real({4, 2, 0})}) == "IR-window: the window of spatial axis 0 has size 0");
}

// ---- GroupConvolutionBackpropData ------------------------------------------------------------------------

TEST_CASE("GroupConvolutionBackpropData gives the shapes of the specification's examples", "[convolution]") {
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    auto op = plain<GroupConvolutionBackpropData>(axes);
    op.strides.assign(axes, 2);
    op.pads_begin.assign(axes, 1);
    op.pads_end.assign(axes, 1);
    Shape image{1, 20};
    Shape filters{4, 5, 2};
    Shape output{1, 8};
    image.insert(image.end(), axes, 224);
    filters.insert(filters.end(), axes, 3);
    output.insert(output.end(), axes, 447);
    CHECK(infer_shape(op, {real(image), real(filters)}) == PartialShape(output));
  }
}

TEST_CASE("GroupConvolutionBackpropData keeps groups apart", "[convolution]") {
  auto op = plain<GroupConvolutionBackpropData>(1);
  const Tensor image = f32({1, 2, 2}, {1, 2, 3, 4});
  const Tensor filters = f32({2, 1, 1, 2}, {1, 10, 100, 1000});
  check_close(run(op, {image, filters}), {1, 2, 3}, {1, 12, 20, 300, 3400, 4000});
  op.auto_pad = AutoPad::same_upper;
  check_close(run(op, {image, filters, i32({1}, {2})}), {1, 2, 2}, {12, 20, 3400, 4000});
  check_equal<std::int32_t>(run(op, {i32({1, 2, 1}, {2, 3}), i32({2, 1, 2, 1}, {1, 10, 100, 1000})}),
                            {1, 4, 1}, {2, 20, 300, 3000});
}

TEST_CASE("GroupConvolutionBackpropData finds the number of groups", "[convolution]") {
  const auto op = plain<GroupConvolutionBackpropData>(1);
  const Dimension any;
  CHECK(infer_shape(op, {real({1, 20, 9}), real({any, 5, 2, 3})}) == PartialShape{1, 8, 11});
  CHECK(infer_shape(op, {real({1, 16, 9}), real({any, any, 2, 3})}) == PartialShape{1, any, 11});
  CHECK(
      failure_of(op, {real({1, 20, 9}), real({4, 6, 2, 3})}) ==
      "IR-shape: input 0 of shape [1,20,9] has 20 channels, input 1 of shape [4,6,2,3] takes 4 groups of 6");
}

}  // namespace ir::test
