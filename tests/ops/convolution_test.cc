// Convolution and GroupConvolution.
#include "tests/ops/convolution_support.h"

namespace ir::test {

using op::AutoPad;
using op::v1::Convolution;
using op::v1::GroupConvolution;

TEST_CASE("Convolution gives the shapes of the specification's examples", "[convolution]") {
  auto one = plain<Convolution>(1);
  one.strides = {2};
  one.auto_pad = AutoPad::valid;
  CHECK(infer_shape(one, {real({1, 5, 128}), real({16, 5, 4})}) == PartialShape{1, 16, 63});
  auto two = plain<Convolution>(2);
  two.pads_begin = two.pads_end = {2, 2};
  CHECK(infer_shape(two, {real({1, 3, 224, 224}), real({64, 3, 5, 5})}) == PartialShape{1, 64, 224, 224});
  auto three = plain<Convolution>(3);
  three.dilations = {2, 2, 2};
  three.strides = {3, 3, 3};
  CHECK(infer_shape(three, {real({1, 7, 320, 320, 320}), real({32, 7, 3, 3, 3})}) ==
        PartialShape{1, 32, 106, 106, 106});
}

TEST_CASE("Convolution correlates over one to three axes", "[convolution]") {
  check_close(run(plain<Convolution>(1), {f32({1, 1, 4}, {1, 2, 3, 5}), f32({1, 1, 2}, {10, 1})}), {1, 1, 3},
              {12, 23, 35});
  check_close(run(plain<Convolution>(2), {counting({1, 1, 3, 3}), f32({1, 1, 2, 2}, {1, 2, 3, 4})}),
              {1, 1, 2, 2}, {37, 47, 67, 77});
  check_close(run(plain<Convolution>(3), {counting({1, 1, 2, 2, 2}), counting({1, 1, 2, 2, 2})}),
              {1, 1, 1, 1, 1}, {204});
}

TEST_CASE("Convolution sums over input channels, for each batch and output channel", "[convolution]") {
  // Two images of two channels of two elements; three filters of one tap.
  const Tensor image = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor filters = f32({3, 2, 1}, {1, 0, 0, 1, 1, -1});
  check_close(run(plain<Convolution>(1), {image, filters}), {2, 3, 2},
              {1, 2, 3, 4, -2, -2, 5, 6, 7, 8, -2, -2});
}

TEST_CASE("Convolution strides, dilates and pads", "[convolution]") {
  const Tensor image = f32({1, 1, 5}, {1, 2, 3, 4, 5});
  const Tensor filters = f32({1, 1, 3}, {1, 10, 100});
  auto op = plain<Convolution>(1);
  op.strides = {2};
  check_close(run(op, {image, filters}), {1, 1, 2}, {321, 543});
  op.dilations = {2};
  op.strides = {1};
  check_close(run(op, {image, filters}), {1, 1, 1}, {531});
  op.dilations = {1};
  op.pads_begin = {2};
  op.pads_end = {1};
  check_close(run(op, {image, filters}), {1, 1, 6}, {100, 210, 321, 432, 543, 54});
}

TEST_CASE("Convolution derives pads for same_upper, same_lower and valid", "[convolution]") {
  const Tensor image = f32({1, 1, 4}, {1, 2, 3, 4});
  const Tensor filters = f32({1, 1, 2}, {1, 10});
  auto op = plain<Convolution>(1);
  op.pads_begin = op.pads_end = {9};  // ignored
  op.auto_pad = AutoPad::same_upper;
  check_close(run(op, {image, filters}), {1, 1, 4}, {21, 32, 43, 4});
  op.auto_pad = AutoPad::same_lower;
  check_close(run(op, {image, filters}), {1, 1, 4}, {10, 21, 32, 43});
  op.auto_pad = AutoPad::valid;
  check_close(run(op, {image, filters}), {1, 1, 3}, {21, 32, 43});
  op.auto_pad = AutoPad::same_upper;
  op.strides = {3};
  check_close(run(op, {image, filters}), {1, 1, 2}, {21, 4});
}

TEST_CASE("Convolution takes every numeric type", "[convolution]") {
  const auto op = plain<Convolution>(1);
  check_equal<std::int32_t>(run(op, {i32({1, 1, 3}, {1, -2, 3}), i32({1, 1, 2}, {2, 3})}), {1, 1, 2},
                            {-4, 5});
  check_equal<std::int64_t>(run(op, {i64({1, 1, 1}, {std::int64_t{1} << 40}), i64({1, 1, 1}, {1000})}),
                            {1, 1, 1}, {std::int64_t{1000} << 40});
  // Sums wrap around at the end.
  check_equal<std::uint8_t>(
      run(op, {tensor<std::uint8_t>({1, 1, 2}, {200, 100}), tensor<std::uint8_t>({1, 1, 2}, {1, 1})}),
      {1, 1, 1}, {44});
  check_equal<std::int8_t>(
      run(op, {tensor<std::int8_t>({1, 1, 2}, {-100, 100}), tensor<std::int8_t>({1, 1, 2}, {1, -1})}),
      {1, 1, 1}, {56});
  check_equal<double>(run(op, {tensor<double>({1, 1, 1}, {1e200}), tensor<double>({1, 1, 1}, {1e100})}),
                      {1, 1, 1}, {1e300});
  const Tensor half = run(op, {f32({1, 1, 2}, {1, 2}).converted(ElementType::f16),
                               f32({1, 1, 2}, {3, 4}).converted(ElementType::f16)});
  CHECK(half.element_type() == ElementType::f16);
  check_close(half.converted(ElementType::f32), {1, 1, 1}, {11});
}

TEST_CASE("Convolution runs with filters that are known late", "[convolution]") {
  const Tensor image = counting({2, 3, 5, 6});
  const Tensor filters = counting({4, 3, 3, 2});
  auto op = plain<Convolution>(2);
  op.pads_begin = {1, 0};
  const std::vector<float> expected = [&] {
    const Tensor result = run(op, {image, filters});
    return std::vector<float>(result.data<float>().begin(), result.data<float>().end());
  }();
  const std::vector<ValueInfo> inputs{value_of(image), real({4, 3, 3, 2})};
  const std::vector<ValueInfo> outputs = infer_outputs(op, inputs);
  const PreparedKernel kernel = prepare_kernel(op, inputs, outputs);
  Tensor result(ElementType::f32, outputs[0].shape.to_shape());
  std::vector<std::byte> scratch(kernel.scratch_bytes);
  const std::vector<const void*> in{image.raw(), filters.raw()};
  const std::vector<void*> out{result.raw()};
  kernel.run({in, out, scratch.data()});
  check_close(result, {2, 4, 4, 5}, expected);
  CHECK(kernel.flops == 2.0 * 2 * 4 * 4 * 5 * 3 * 6);
}

TEST_CASE("Convolution takes empty tensors", "[convolution]") {
  auto op = plain<Convolution>(1);
  check_close(run(op, {f32({0, 2, 3}, {}), counting({1, 2, 2})}), {0, 1, 2}, {});
  check_close(run(op, {counting({1, 2, 3}), f32({0, 2, 2}, {})}), {1, 0, 2}, {});
  check_close(run(op, {f32({1, 0, 3}, {}), f32({2, 0, 2}, {})}), {1, 2, 2}, {0, 0, 0, 0});
  op.pads_begin = op.pads_end = {1};
  check_close(run(op, {f32({1, 1, 0}, {}), f32({1, 1, 2}, {1, 2})}), {1, 1, 1}, {0});
  check_equal<std::int32_t>(run(op, {i32({1, 1, 0}, {}), i32({1, 1, 2}, {1, 2})}), {1, 1, 1}, {0});
}

TEST_CASE("Convolution infers through unknown ranks and dims", "[convolution]") {
  const auto op = plain<Convolution>(2);
  const Dimension any;
  CHECK(infer_shape(op, {real(PartialShape()), real({8, 3, 3, 3})}) == PartialShape{any, 8, any, any});
  CHECK(infer_shape(op, {real({2, 3, 9, any}), real(PartialShape())}) == PartialShape{2, any, any, any});
  CHECK(infer_shape(op, {real({any, any, Dimension(4, 9), any}), real({any, 3, 3, any})}) ==
        PartialShape{any, any, Dimension(2, 7), any});
  // The attributes tell the number of axes when no input does.
  CHECK(infer_shape(op, {real(PartialShape()), real(PartialShape())}) == PartialShape::of_rank(4));
  CHECK(infer_shape(Convolution(), {real(PartialShape()), real(PartialShape())}) == PartialShape());
  // Pads do not, where auto_pad makes them meaningless.
  Convolution padded;
  padded.pads_begin = {0, 0, 0};
  CHECK(infer_shape(padded, {real(PartialShape()), real(PartialShape())}) == PartialShape::of_rank(5));
  padded.auto_pad = AutoPad::same_lower;
  CHECK(infer_shape(padded, {real(PartialShape()), real(PartialShape())}) == PartialShape());
  // Lists that are left out mean ones and zeros.
  CHECK(infer_shape(Convolution(), {real({1, 3, 9, 9}), real({8, 3, 3, 3})}) == PartialShape{1, 8, 7, 7});
  auto same = plain<Convolution>(1);
  same.auto_pad = AutoPad::same_lower;
  same.strides = {2};
  CHECK(infer_shape(same, {real({1, 1, 9}), real({1, 1, any})}) == PartialShape{1, 1, 5});
  CHECK(infer_outputs(
            op, std::vector<ValueInfo>{value(ElementType::dynamic, {1, 3, 9, 9}), real({8, 3, 3, 3})})[0]
            .type == ElementType::f32);
}

TEST_CASE("Convolution explains its dims", "[convolution]") {
  auto op = plain<Convolution>(1);
  op.strides = {2};
  op.dilations = {2};
  op.pads_begin = {1};
  CHECK(rule(op, {real({1, 1, 9}), real({4, 1, 3})}, 2) == "floor((9 + 1 + 0 - 5) / 2) + 1 = 3");
}

TEST_CASE("Convolution says what is wrong with its inputs", "[convolution]") {
  const auto op = plain<Convolution>(2);
  const auto failure = [&](PartialShape image, PartialShape filters) {
    return failure_of(op, {real(std::move(image)), real(std::move(filters))});
  };
  CHECK(failure_of(op, {real({1, 3, 8, 8})}) == "IR-input-count: has 1 inputs, Convolution takes 2");
  CHECK(failure_of(op, {real({1, 3, 8, 8}), value(ElementType::f64, {4, 3, 2, 2})}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and f64, Convolution takes one type");
  CHECK(failure_of(op, {value(ElementType::boolean, {1, 3, 8, 8}), real({4, 3, 2, 2})}) ==
        "IR-element-type: input 0 is of type boolean, Convolution takes a numeric type");
  CHECK(failure({1, 3}, {4, 3, 2, 2}) ==
        "IR-rank: input 0 has shape [1,3] of rank 2, Convolution takes a rank from 3 to 5");
  CHECK(failure({1, 3, 1, 1, 1, 1}, {4, 3, 1, 1, 1, 1}) ==
        "IR-rank: input 0 has shape [1,3,1,1,1,1] of rank 6, Convolution takes a rank from 3 to 5");
  CHECK(failure({1, 3, 8, 8}, {4, 3, 2}) ==
        "IR-rank: input 0 has shape [1,3,8,8] of rank 4, which takes filters of rank 4; input 1 has shape "
        "[4,3,2]");
  CHECK(failure({1, 3, 8, 8}, {4, 5, 2, 2}) ==
        "IR-shape: input 0 of shape [1,3,8,8] has 3 channels, input 1 of shape [4,5,2,2] takes 5");
  CHECK(failure({1, Dimension(1, 4), 8, 8}, {4, 5, 2, 2}) ==
        "IR-shape: input 0 of shape [1,1..4,8,8] has 1..4 channels, input 1 of shape [4,5,2,2] takes 5");
  CHECK(failure({1, 3, 8, 2}, {4, 3, 2, 5}) ==
        "IR-window: the window of spatial axis 1 covers 5 elements (size 5, dilation 1), the padded image "
        "has 2 (0 + 2 + 0)");
  CHECK(failure({1, 3, 8, 2}, {4, 3, 2, 0}) == "IR-window: the window of spatial axis 1 has size 0");
}

TEST_CASE("Convolution says what is wrong with its attributes", "[convolution]") {
  const auto failure = [](const Convolution& op) {
    return failure_of(op, {real({1, 3, 8, 8}), real({4, 3, 2, 2})});
  };
  auto op = plain<Convolution>(2);
  op.strides = {1, 0};
  CHECK(failure(op) == "IR-attribute-range: strides holds 0; it takes values from 1 to 2147483648");
  op = plain<Convolution>(2);
  op.dilations = {1, kHuge};
  CHECK(failure(op) ==
        "IR-attribute-range: dilations holds 9223372036854775807; it takes values from 1 to 2147483648");
  op = plain<Convolution>(2);
  op.pads_begin = {-1, 0};
  CHECK(failure(op) == "IR-attribute-range: pads_begin holds -1; it takes values from 0 to 2147483648");
  op = plain<Convolution>(2);
  op.pads_end = {0};
  CHECK(failure(op) == "IR-attribute-size: pads_end has 1 values for 2 spatial axes");
  op = plain<Convolution>(4);
  CHECK(failure_of(op, {real(PartialShape()), real(PartialShape())}) ==
        "IR-rank: has 4 spatial axes; it takes 1 to 3");
}

// ---- GroupConvolution ------------------------------------------------------------------------------------

TEST_CASE("GroupConvolution gives the shapes of the specification's examples", "[convolution]") {
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    auto op = plain<GroupConvolution>(axes);
    op.pads_begin.assign(axes, 2);
    op.pads_end.assign(axes, 2);
    Shape image{1, 12};
    Shape filters{4, 1, 3};
    Shape output{1, 4};
    image.insert(image.end(), axes, 224);
    filters.insert(filters.end(), axes, 5);
    output.insert(output.end(), axes, 224);
    CHECK(infer_shape(op, {real(image), real(filters)}) == PartialShape(output));
  }
}

TEST_CASE("GroupConvolution keeps groups apart", "[convolution]") {
  const auto op = plain<GroupConvolution>(1);
  const Tensor image = f32({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  // Two groups of two channels, one filter each.
  check_close(run(op, {image, f32({2, 1, 2, 1}, {1, 10, 100, 1000})}), {1, 2, 2}, {31, 42, 7500, 8600});
  // One channel per group, two filters each.
  check_close(run(op, {image, f32({4, 2, 1, 1}, {1, 2, 1, 2, 1, 2, 1, -1})}), {1, 8, 2},
              {1, 2, 2, 4, 3, 4, 6, 8, 5, 6, 10, 12, 7, 8, -7, -8});
  check_equal<std::int32_t>(run(op, {i32({1, 2, 2}, {1, 2, 3, 4}), i32({2, 1, 1, 2}, {1, 1, 1, -1})}),
                            {1, 2, 1}, {3, -1});
}

TEST_CASE("GroupConvolution finds the number of groups", "[convolution]") {
  const auto op = plain<GroupConvolution>(1);
  const Dimension any;
  CHECK(infer_shape(op, {real({1, 20, 9}), real({any, 2, 5, 3})}) == PartialShape{1, 8, 7});
  CHECK(infer_shape(op, {real({1, any, 9}), real({4, 2, 5, 3})}) == PartialShape{1, 8, 7});
  CHECK(infer_shape(op, {real({1, any, 9}), real({any, 2, 5, 3})}) == PartialShape{1, any, 7});
  CHECK(infer_shape(op, {real(PartialShape()), real({4, 2, any, 3})}) == PartialShape{any, 8, any});
  CHECK(rule(op, {real({1, 20, 9}), real({4, 2, 5, 3})}, 1) == "4 groups * 2 channels = 8");
}

TEST_CASE("GroupConvolution says what is wrong", "[convolution]") {
  const auto op = plain<GroupConvolution>(1);
  const auto failure = [&](PartialShape image, PartialShape filters) {
    return failure_of(op, {real(std::move(image)), real(std::move(filters))});
  };
  CHECK(
      failure({1, 20, 9}, {4, 2, 6, 3}) ==
      "IR-shape: input 0 of shape [1,20,9] has 20 channels, input 1 of shape [4,2,6,3] takes 4 groups of 6");
  CHECK(
      failure({1, 20, 9}, {Dimension(), 2, 6, 3}) ==
      "IR-shape: input 0 of shape [1,20,9] has 20 channels, input 1 of shape [?,2,6,3] takes ? groups of 6");
  CHECK(failure({1, 0, 9}, {0, 2, 6, 3}) == "IR-shape: input 1 has shape [0,2,6,3]: there must be a group");
  CHECK(failure({1, 20, 9}, {4, 2, 5}) ==
        "IR-rank: input 1 has shape [4,2,5] of rank 3, GroupConvolution takes a rank from 4 to 6");
  CHECK(failure({1, 20, 9}, {4, 2, 5, 3, 3}) ==
        "IR-rank: input 0 has shape [1,20,9] of rank 3, which takes filters of rank 4; input 1 has shape "
        "[4,2,5,3,3]");
}

}  // namespace ir::test
