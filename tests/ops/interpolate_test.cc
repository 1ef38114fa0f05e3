#include "ir_runtime/ops/interpolate.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const Dimension kAny;

op::v11::Interpolate interpolate(op::InterpolateMode mode, op::ShapeCalculation calculation) {
  op::v11::Interpolate op;
  op.mode = mode;
  op.shape_calculation_mode = calculation;
  return op;
}

ValueInfo f32_value(const PartialShape& shape) { return value(ElementType::f32, shape); }

ValueInfo known(std::vector<std::int64_t> values) {
  return value_of(i64({static_cast<std::int64_t>(values.size())}, values));
}

ValueInfo reals(std::vector<float> values) {
  return value_of(f32({static_cast<std::int64_t>(values.size())}, values));
}

}  // namespace

TEST_CASE("Interpolate resizes by sizes and by scales") {
  const Tensor image = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor axes = i64({2}, {2, 3});
  auto nearest = interpolate(op::InterpolateMode::nearest, op::ShapeCalculation::sizes);
  nearest.coordinate_transformation_mode = op::CoordinateMode::asymmetric;
  nearest.nearest_mode = op::NearestMode::floor;
  check_close(run(nearest, {image, i64({2}, {4, 2}), axes}), {1, 1, 4, 2}, {1, 2, 1, 2, 3, 4, 3, 4});
  auto linear = interpolate(op::InterpolateMode::linear_onnx, op::ShapeCalculation::scales);
  linear.coordinate_transformation_mode = op::CoordinateMode::align_corners;
  check_close(run(linear, {image, f32({2}, {1.5F, 1.5F}), axes}), {1, 1, 3, 3},
              {1, 1.5F, 2, 2, 2.5F, 3, 3, 3.5F, 4});
  // Axes in another order, for a plane without batch.
  check_close(run(linear, {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 1.5F}), i64({2}, {1, 0})}), {3, 2},
              {1, 2, 2, 3, 3, 4});
  // Integers round; sizes equal to the input's leave it as it is.
  check_equal<std::int32_t>(run(nearest, {i32({1, 2}, {5, 9}), i64({1}, {4}), i64({1}, {1})}), {1, 4},
                            {5, 5, 9, 9});
  check_close(run(linear, {image, f32({2}, {1, 1}), axes}), {1, 1, 2, 2}, {1, 2, 3, 4});
}

TEST_CASE("Interpolate-4 takes sizes and scales side by side") {
  op::v4::Interpolate op;
  op.mode = op::InterpolateMode::nearest;
  op.coordinate_transformation_mode = op::CoordinateMode::asymmetric;
  op.nearest_mode = op::NearestMode::floor;
  const Tensor line = f32({2}, {1, 2});
  check_close(run(op, {line, i64({1}, {4}), f32({1}, {9})}), {4}, {1, 1, 2, 2});
  op.shape_calculation_mode = op::ShapeCalculation::scales;
  check_close(run(op, {line, i64({1}, {9}), f32({1}, {1.5F}), i64({1}, {0})}), {3}, {1, 1, 2});
  // Pads are zeros around the image.
  op.pads_begin = {1};
  check_close(run(op, {line, i64({1}, {9}), f32({1}, {2}), i64({1}, {0})}), {6}, {0, 0, 1, 1, 2, 2});
}

TEST_CASE("Interpolate-1 chooses coordinates as OpenVINO does") {
  op::v0::Interpolate op;
  op.axes = {2, 3};
  op.mode = op::InterpolateMode1::linear;
  const Tensor image = f32({1, 1, 1, 3}, {0, 1, 2});
  const Tensor size = i64({2}, {1, 5});
  check_close(run(op, {image, size}), {1, 1, 1, 5}, {0, 0.5F, 1, 1.5F, 2});
  op.align_corners = false;
  check_close(run(op, {image, size}), {1, 1, 1, 5}, {0, 0.6F, 1.2F, 1.8F, 2});
  op.mode = op::InterpolateMode1::area;
  CHECK(error_of(op, {image, size}) == "IR-unsupported: no kernel for Interpolate in mode area");
  op.axes = {1, 1};
  CHECK(failure_of(op, {f32_value({1, 1, 1, 3}), known({1, 1})}) == "IR-axis: axis 1 is given twice");
}

TEST_CASE("Interpolate-1 has a set of axes, the sizes in the order of the image") {
  op::v0::Interpolate op;
  op.axes = {3, 2};
  op.mode = op::InterpolateMode1::nearest;
  op.align_corners = false;
  const Tensor image = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  check_close(run(op, {image, i64({2}, {1, 4})}), {1, 1, 1, 4}, {1, 1, 2, 2});
  CHECK(infer_shape(op, {f32_value({1, 1, 2, 2}), known({1, 4})}) == PartialShape{1, 1, 1, 4});
  // The coordinates are those of an image, too.
  op.mode = op::InterpolateMode1::linear;
  check_close(run(op, {f32({1, 1, 1, 3}, {0, 1, 2}), i64({2}, {1, 5})}), {1, 1, 1, 5},
              {0, 0.6F, 1.2F, 1.8F, 2});
  op.pads_begin = {0, 0, 1, 0};
  check_close(run(op, {f32({1, 1, 1, 2}, {4, 8}), i64({2}, {2, 2})}), {1, 1, 2, 2}, {0, 0, 4, 8});
  const std::vector<ValueInfo> inputs{f32_value({1, 1, 2, 2}), known({1, 4})};
  CHECK(explain_outputs(op, inputs)[0][3] == "size 1 of input 1 = 4");
}

TEST_CASE("Interpolate takes no more axes than its kernel has room for") {
  // Sizes that alternate keep 2^17 elements, and no axis can be left alone.
  Shape shape(34, 1);
  std::vector<std::int64_t> sizes(34, 1);
  std::vector<std::int64_t> axes(34);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i % 2 == 0 ? shape[i] : sizes[i]) = 2;
    axes[i] = static_cast<std::int64_t>(i);
  }
  const auto by_sizes = interpolate(op::InterpolateMode::nearest, op::ShapeCalculation::sizes);
  CHECK(failure_of(by_sizes, {f32_value(shape), known(sizes), known(axes)}) ==
        "IR-rank: input 0 has shape " + to_string(shape) +
            " of rank 34, Interpolate takes a rank from 1 to 32");
  CHECK(failure_of(by_sizes, {f32_value(PartialShape(Shape{})), known({}), known({})}) ==
        "IR-rank: input 0 has shape [] of rank 0, Interpolate takes a rank from 1 to 32");
}

TEST_CASE("Interpolate infers what it can") {
  const auto by_scales = interpolate(op::InterpolateMode::nearest, op::ShapeCalculation::scales);
  const auto by_sizes = interpolate(op::InterpolateMode::nearest, op::ShapeCalculation::sizes);
  CHECK(infer_shape(by_scales, {f32_value({2, 2, Dimension(12, 800), kAny}), reals({0.5F, 0.25F}),
                                known({2, 3})}) == PartialShape{2, 2, Dimension(6, 400), kAny});
  // 3 * (1 / 3) makes 1, though the product of the floats is less.
  CHECK(infer_shape(by_scales, {f32_value({3}), reals({0.33333334F}), known({0})}) == PartialShape{1});
  CHECK(infer_shape(by_sizes, {f32_value({kAny, 3, kAny, kAny}), partly_known({kAny, Dimension(7)}),
                               known({2, 3})}) == PartialShape{kAny, 3, kAny, 7});
  CHECK(infer_shape(by_sizes, {f32_value({2, 3}), value(ElementType::i64, {1}),
                               value(ElementType::i64, {1})}) == PartialShape::of_rank(2));
  auto padded = by_sizes;
  padded.pads_begin = {0, 1};
  padded.pads_end = {2};
  CHECK(infer_shape(padded, {f32_value({4, 4, 4}), known({9}), known({2})}) == PartialShape{6, 5, 9});
  CHECK(explain_outputs(by_scales, std::vector{f32_value({30}), reals({0.5F}), known({0})})[0][0] ==
        "floor(30 * 0.5) = 15");

  CHECK(failure_of(by_sizes, {f32_value({4, 4}), known({2}), known({0, 1})}) ==
        "IR-shape: input 1 has shape [1], there are 2 axes to resize");
  CHECK(failure_of(by_sizes, {f32_value({4, 4}), reals({2}), known({0})}) ==
        "IR-element-type: input 1 is of type f32, Interpolate takes an integer type");
  CHECK(failure_of(by_sizes, {f32_value({4, 4}), known({-2}), known({0})}) ==
        "IR-value: size -2 of axis 0 is negative");
  CHECK(failure_of(by_scales, {f32_value({4, 4}), reals({0}), known({0})}) ==
        "IR-value: scale 0 of axis 0 is 0");
  CHECK(failure_of(by_sizes, {f32_value({4, 4}), known({2}), known({2})}) ==
        "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(by_sizes, {f32_value({4, 0}), known({2}), known({1})}) ==
        "IR-shape: axis 1 of input 0 is empty and cannot be resized to 2");
  CHECK(failure_of(interpolate(op::InterpolateMode::bilinear_pillow, op::ShapeCalculation::sizes),
                   {f32_value({4, 4}), known({2}), known({1})}) ==
        "IR-axis: the Pillow modes resize 2 axes, not 1");
  padded.pads_end = {-1};
  CHECK(failure_of(padded, {f32_value({4}), known({2}), known({0})}) ==
        "IR-attribute-range: axis 0 is padded by -1; pads take 0 to 2147483648");
  CHECK(failure_of(by_sizes, {value(ElementType::boolean, {4}), known({2}), known({0})}) ==
        "IR-element-type: input 0 is of type boolean, Interpolate takes a numeric type");
}

TEST_CASE("Interpolate resizes by those scales that are known") {
  const auto resize = interpolate(op::InterpolateMode::nearest, op::ShapeCalculation::scales);
  const ValueInfo image = f32_value({kAny, 3, 20, kAny});
  const auto scales = [](std::vector<KnownReal> known_scales) {
    ValueInfo info = f32_value({static_cast<std::int64_t>(known_scales.size())});
    info.reals = std::move(known_scales);
    return info;
  };
  CHECK(infer_shape(resize, {image, scales({std::nullopt, 1, 1.5, 2})}) == PartialShape{kAny, 3, 30, kAny});
  CHECK(infer_shape(resize, {image, scales({1, std::nullopt, 1, 1})}) == PartialShape{kAny, kAny, 20, kAny});
  CHECK(failure_of(resize, {image, scales({std::nullopt, 1, 0, 2})}) == "IR-value: scale 2 of axis 2 is 0");
}

}  // namespace ir::test
