#include "ir_runtime/ops/grid_sample.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

op::v9::GridSample grid_sample(op::GridSampleMode mode, op::GridSamplePadding padding, bool align_corners) {
  op::v9::GridSample op;
  op.mode = mode;
  op.padding_mode = padding;
  op.align_corners = align_corners;
  return op;
}

Tensor image() { return f32({1, 1, 3, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}); }
// Pairs x, y: the centre, a corner, between pixels, outside.
Tensor places() { return f32({1, 1, 4, 2}, {0, 0, 1, -1, 0.5F, 0.5F, -3, 0}); }

}  // namespace

TEST_CASE("GridSample finds pixels by where -1 and 1 are") {
  using op::GridSampleMode;
  using op::GridSamplePadding;
  const auto sampled = [](GridSampleMode mode, GridSamplePadding padding, bool align) {
    return run(grid_sample(mode, padding, align), {image(), places()});
  };
  const Shape shape{1, 1, 1, 4};
  // Aligned: x = (g + 1) * 2, y = g + 1. (0.5, 0.5) is x 3, y 1.5; -3 is x -4.
  check_close(sampled(GridSampleMode::bilinear, GridSamplePadding::zeros, true), shape, {8, 5, 11.5F, 0});
  check_close(sampled(GridSampleMode::bilinear, GridSamplePadding::border, true), shape, {8, 5, 11.5F, 6});
  // x -4 comes back at 4.
  check_close(sampled(GridSampleMode::bilinear, GridSamplePadding::reflection, true), shape,
              {8, 5, 11.5F, 10});
  // Not aligned: x = 2.5 g + 2, y = 1.5 g + 1. (1, -1) is x 4.5, y -0.5; (0.5, 0.5) x 3.25, y 1.75; -3 is x
  // -5.5.
  check_close(sampled(GridSampleMode::bilinear, GridSamplePadding::zeros, false), shape, {8, 1.25F, 13, 0});
  check_close(sampled(GridSampleMode::bilinear, GridSamplePadding::border, false), shape, {8, 5, 13, 6});
  // Pixels -6 and -5 are 4 and 5 - 1 again, the last column: 5 - 1 = index 4, and -6 is index 4
  // reflected: 10.
  check_close(sampled(GridSampleMode::bilinear, GridSamplePadding::reflection, false), shape, {8, 5, 13, 10});
  // Halves go to even pixels: y 1.5 is 2, x -5.5 is -6; (4.5, -0.5) is (4, 0).
  check_close(sampled(GridSampleMode::nearest, GridSamplePadding::zeros, true), shape, {8, 5, 14, 0});
  check_close(sampled(GridSampleMode::nearest, GridSamplePadding::border, false), shape, {8, 5, 14, 6});
  // On a pixel, bicubic is the pixel.
  check_close(sampled(GridSampleMode::bicubic, GridSamplePadding::border, true), shape, {8, 5, 11.96875F, 6});
}

TEST_CASE("GridSample of one pixel, as OpenVINO samples it") {
  using op::GridSampleMode;
  using op::GridSamplePadding;
  const Tensor seven = f32({1, 1, 1, 1}, {7});
  const Tensor grid = f32({1, 1, 5, 2}, {1, -1, 0, 0, -1, 0, 0.5F, 0.5F, 2, -4});
  const Shape shape{1, 1, 1, 5};
  check_close(run(grid_sample(GridSampleMode::bilinear, GridSamplePadding::zeros, false), {seven, grid}),
              shape, {1.75F, 7, 3.5F, 3.9375F, 0});
  check_close(run(grid_sample(GridSampleMode::bicubic, GridSamplePadding::zeros, false), {seven, grid}),
              shape, {2.4677734F, 7, 4.15625F, 5.4073334F, 0});
  for (const auto mode : {GridSampleMode::bilinear, GridSampleMode::bicubic, GridSampleMode::nearest}) {
    for (const bool align : {false, true}) {
      check_close(run(grid_sample(mode, GridSamplePadding::reflection, align), {seven, grid}), shape,
                  {7, 7, 7, 7, 7});
    }
  }
}

TEST_CASE("GridSample takes any numeric data and any floating-point grid") {
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f64, ElementType::u8,
                                 ElementType::i64, ElementType::i8}) {
    for (const ElementType grid : {ElementType::f32, ElementType::f16, ElementType::f64}) {
      const Tensor out = run(op::v9::GridSample(), {image().converted(type), places().converted(grid)});
      CHECK(out.element_type() == type);
      check_close(out.converted(ElementType::f32), {1, 1, 1, 4},
                  is_real(type) ? std::vector<float>{8, 1.25F, 13, 0} : std::vector<float>{8, 1, 13, 0},
                  1e-2);
    }
  }
  CHECK(run(op::v9::GridSample(), {image(), f32({1, 0, 4, 2}, {})}).shape() == Shape{1, 1, 0, 4});
}

TEST_CASE("GridSample's shape comes from both inputs") {
  const Dimension any;
  const op::v9::GridSample op;
  CHECK(infer_shape(op, {value(ElementType::f32, {any, 3, 100, 100}),
                         value(ElementType::f32, {2, 10, any, any})}) == PartialShape{2, 3, 10, any});
  CHECK(infer_shape(op, {value(ElementType::f32, PartialShape()), value(ElementType::f32, PartialShape())}) ==
        PartialShape{any, any, any, any});
}

TEST_CASE("GridSample refuses inputs that do not fit together") {
  const op::v9::GridSample op;
  const ValueInfo data = value(ElementType::f32, {2, 3, 4, 5});
  const ValueInfo grid = value(ElementType::f32, {2, 6, 7, 2});
  CHECK(failure_of(op, {data}) == "IR-input-count: has 1 inputs, GridSample takes 2");
  CHECK(failure_of(op, {data, value(ElementType::i32, {2, 6, 7, 2})}) ==
        "IR-element-type: input 1 is of type i32, GridSample takes a floating-point type");
  CHECK(failure_of(op, {value(ElementType::f32, {2, 3, 4}), grid}) ==
        "IR-rank: input 0 has shape [2,3,4] of rank 3, GridSample takes rank 4");
  CHECK(failure_of(op, {data, value(ElementType::f32, {1, 6, 7, 2})}) ==
        "IR-shape: input 1 has shape [1,6,7,2]: axis 0 is 1, but the batch size is 2");
  CHECK(failure_of(op, {data, value(ElementType::f32, {2, 6, 7, 3})}) ==
        "IR-shape: input 1 has shape [2,6,7,3]: axis 3 is 3, but the number of coordinates is 2");
  CHECK(failure_of(op, {value(ElementType::f32, {2, 3, 0, 5}), grid}) ==
        "IR-shape: input 0 has shape [2,3,0,5]; there are no pixels to sample");
}

}  // namespace ir::test
