#include "ir_runtime/ops/roi_pooling.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

op::v0::ROIPooling roi_pooling() {
  op::v0::ROIPooling op;
  op.pooled_h = 2;
  op.pooled_w = 2;
  op.spatial_scale = 1;
  return op;
}

op::v0::PSROIPooling ps_roi_pooling() {
  op::v0::PSROIPooling op;
  op.output_dim = 1;
  op.group_size = 2;
  op.spatial_scale = 1;
  return op;
}

op::v1::DeformablePSROIPooling deformable() {
  op::v1::DeformablePSROIPooling op;
  op.output_dim = 1;
  op.spatial_scale = 1;
  op.spatial_bins_x = 2;
  op.spatial_bins_y = 2;
  return op;
}

/// [1, 1, side, side] of 0, 1, 2, ...
Tensor counted(std::int64_t side) {
  std::vector<float> values(static_cast<std::size_t>(side * side));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return f32({1, 1, side, side}, values);
}

/// Maps [1, 4, 2, 2] of which channel c holds 10 c to 10 c + 3.
Tensor four_channels() {
  return f32({1, 4, 2, 2}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33});
}

std::vector<ValueInfo> shapes(PartialShape maps, PartialShape boxes) {
  return {value(ElementType::f32, std::move(maps)), value(ElementType::f32, std::move(boxes))};
}

}  // namespace

TEST_CASE("ROIPooling takes the maximum of each bin") {
  check_close(run(roi_pooling(), {counted(4), f32({1, 5}, {0, 0, 0, 3, 3})}), {1, 1, 2, 2}, {5, 7, 13, 15});
  // 3 x 2 elements: columns 1 to 2 and 2 to 3 overlap.
  check_close(run(roi_pooling(), {counted(4), f32({1, 5}, {0, 1, 1, 3, 2})}), {1, 1, 2, 2}, {6, 7, 10, 11});
  op::v0::ROIPooling half = roi_pooling();
  half.spatial_scale = 0.5;
  check_close(run(half, {counted(4), f32({1, 5}, {0, 0, 0, 6, 6})}), {1, 1, 2, 2}, {5, 7, 13, 15});
  // Outside of the map.
  check_close(run(roi_pooling(), {counted(4), f32({1, 5}, {0, 3, 3, 4, 4})}), {1, 1, 2, 2}, {15, 0, 0, 0});
}

TEST_CASE("ROIPooling samples bins, with fractions of the map as coordinates") {
  op::v0::ROIPooling op = roi_pooling();
  op.method = op::RoiPoolingMethod::bilinear;
  check_close(run(op, {counted(3), f32({1, 5}, {0, 0, 0, 1, 1})}), {1, 1, 2, 2}, {0, 2, 6, 8});
  check_close(run(op, {counted(3), f32({1, 5}, {0, 0.25F, 0.5F, 0.75F, 1.5F})}), {1, 1, 2, 2},
              {3.5F, 4.5F, 0, 0});
  op.pooled_h = 1;
  op.pooled_w = 1;
  check_close(run(op, {counted(3), f32({1, 5}, {0, 0, 0, 1, 1})}), {1, 1, 1, 1}, {4});
}

TEST_CASE("A region of batch -1 ends the list") {
  const Tensor boxes = f32({3, 5}, {0, 0, 0, 3, 3, -1, 0, 0, 3, 3, 0, 0, 0, 3, 3});
  check_close(run(roi_pooling(), {counted(4), boxes}), {3, 1, 2, 2}, {5, 7, 13, 15, 0, 0, 0, 0, 0, 0, 0, 0});
  // Bins of 2 x 2 elements: the whole map, and three that begin beyond its end.
  check_close(run(ps_roi_pooling(), {four_channels(), boxes}), {3, 1, 2, 2},
              {1.5F, 12, 22.5F, 33, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("PSROIPooling reads each bin from a channel of its own") {
  const Tensor boxes = f32({1, 5}, {0, 0, 0, 1, 1});
  check_close(run(ps_roi_pooling(), {four_channels(), boxes}), {1, 1, 2, 2}, {0, 11, 22, 33});

  op::v0::PSROIPooling op = ps_roi_pooling();
  op.mode = op::PsRoiPoolingMode::bilinear;
  op.output_dim = 2;
  op.group_size = 1;
  op.spatial_bins_x = 2;
  // Parts of the whole map, with centres (0.5, 0.25) and (0.5, 0.75); channels 0 and 2 are output 0.
  check_close(run(op, {four_channels(), boxes}), {1, 2, 1, 1}, {(1.25F + 21.75F) / 2, (11.25F + 31.75F) / 2});
}

TEST_CASE("DeformablePSROIPooling averages samples that start at a bin's corner") {
  const Tensor boxes = f32({1, 5}, {0, 0, 0, 1, 1});
  // Samples at -0.5, which counts as 0, and 0.5 along both axes.
  check_close(run(deformable(), {counted(2), boxes}), {1, 1, 1, 1}, {(0 + 0.5F + 1 + 1.5F) / 4});
  // Half of the region, which is 2 wide, to the right: 0.5 and 1.5, which counts as 1.
  check_close(run(deformable(), {counted(2), boxes, f32({1, 2, 1, 1}, {0.5F, 0})}), {1, 1, 1, 1},
              {(0.5F + 1 + 1.5F + 2) / 4});
  op::v1::DeformablePSROIPooling op = deformable();
  op.trans_std = 2;
  check_close(run(op, {counted(2), boxes, f32({1, 2, 1, 1}, {0, 0.5F})}), {1, 1, 1, 1}, {(2 + 2.5F) / 2});
  check_close(run(op, {counted(2), boxes, f32({1, 2, 1, 1}, {3, 0})}), {1, 1, 1, 1}, {0});
  check_close(run(op, {counted(2), f32({2, 5}, {-1, 0, 0, 1, 1, 0, 0, 0, 1, 1})}), {2, 1, 1, 1}, {0, 0.75F});
}

TEST_CASE("DeformablePSROIPooling reads offsets in rows of part_size") {
  // OpenVINO does so even where the offsets are larger: bins of region 1 take elements 2 (x) and 3 (y).
  op::v1::DeformablePSROIPooling op = deformable();
  const Tensor boxes = f32({2, 5}, {0, 0, 0, 1, 1, 0, 0, 0, 1, 1});
  const Tensor offsets = f32({2, 2, 1, 2}, {0, 0, 0.5F, 0, 9, 9, 9, 9});
  check_close(run(op, {counted(2), boxes, offsets}), {2, 1, 1, 1}, {0.75F, 1.25F});
}

TEST_CASE("Pooling of regions takes every real type, and mixed ones where OpenVINO does") {
  const Tensor boxes = f32({1, 5}, {0, 0, 0, 1, 1});
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const auto check_type = [&](const Op& op, const Tensor& maps, const Tensor& regions, float first) {
      const Tensor result = run(op, {maps.converted(type), regions});
      CHECK(result.element_type() == type);
      CHECK(result.converted(ElementType::f32).data<float>()[0] == first);
    };
    check_type(roi_pooling(), counted(4), boxes.converted(type), 0);
    check_type(ps_roi_pooling(), four_channels(), boxes.converted(type), 0);
    check_type(ps_roi_pooling(), four_channels(), boxes, 0);
    check_type(deformable(), counted(2), boxes.converted(type), 0.75F);
    check_type(deformable(), counted(2), boxes, 0.75F);
  }
}

TEST_CASE("Pooling of no regions, no channels or empty maps") {
  CHECK(run(roi_pooling(), {counted(4), f32({0, 5}, {})}).shape() == Shape{0, 1, 2, 2});
  CHECK(run(roi_pooling(), {f32({1, 0, 4, 4}, {}), f32({1, 5}, {0, 0, 0, 1, 1})}).shape() ==
        Shape{1, 0, 2, 2});
  check_close(run(roi_pooling(), {f32({1, 1, 0, 4}, {}), f32({1, 5}, {0, 0, 0, 1, 1})}), {1, 1, 2, 2},
              {0, 0, 0, 0});
  check_close(run(deformable(), {f32({1, 1, 4, 0}, {}), f32({1, 5}, {0, 0, 0, 1, 1})}), {1, 1, 1, 1}, {0});
}

TEST_CASE("Shapes of pooled regions") {
  const std::vector<ValueInfo> unknown = shapes(PartialShape(), PartialShape());
  const Dimension any;
  CHECK(infer_shape(roi_pooling(), unknown) == PartialShape{any, any, 2, 2});
  CHECK(infer_shape(ps_roi_pooling(), unknown) == PartialShape{any, 1, 2, 2});
  CHECK(infer_shape(deformable(), unknown) == PartialShape{any, 1, 1, 1});
  CHECK(infer_shape(roi_pooling(), shapes({any, 3, any, any}, {Dimension(2, 9), any})) ==
        PartialShape{Dimension(2, 9), 3, 2, 2});
  CHECK(infer_shape(ps_roi_pooling(), shapes({any, Dimension(2, 9), any, any}, {any, 5})) ==
        PartialShape{any, 1, 2, 2});
  std::vector<ValueInfo> moved = shapes({1, any, 4, 4}, {any, 5});
  moved.push_back(value(ElementType::f32, {7, any, any, any}));
  CHECK(infer_shape(deformable(), moved) == PartialShape{7, 1, 1, 1});
}

TEST_CASE("ROIPooling refuses what it cannot pool") {
  const std::vector<ValueInfo> good = shapes({2, 1, 4, 4}, {3, 5});
  CHECK(failure_of(roi_pooling(), {good[0]}) == "IR-input-count: has 1 inputs, ROIPooling takes 2");
  CHECK(failure_of(roi_pooling(), shapes({2, 1, 4}, {3, 5})) ==
        "IR-rank: input 0 has shape [2,1,4] of rank 3, ROIPooling takes rank 4");
  CHECK(failure_of(roi_pooling(), shapes({2, 1, 4, 4}, {3, 4})) ==
        "IR-shape: input 1 has shape [3,4]: axis 1 is 4, but the size of a region is 5");
  CHECK(failure_of(roi_pooling(), {good[0], value(ElementType::i32, {3, 5})}) ==
        "IR-element-type: input 1 is of type i32, ROIPooling takes a floating-point type");
  CHECK(failure_of(roi_pooling(), {good[0], value(ElementType::f64, {3, 5})}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and f64, ROIPooling takes one type");
  op::v0::ROIPooling op = roi_pooling();
  op.pooled_w = 0;
  CHECK(failure_of(op, good) == "IR-attribute-range: pooled_w is 0; it takes values of at least 1");
  op = roi_pooling();
  op.pooled_h = -1;
  CHECK(failure_of(op, good) == "IR-attribute-range: pooled_h is -1; it takes values of at least 1");
  for (const double scale : {0.0, -1.0, kNaN, 1e300}) {
    op = roi_pooling();
    op.spatial_scale = scale;
    CHECK(failure_of(op, good).starts_with("IR-attribute-range: spatial_scale is"));
  }
  const auto with_batch = [](float batch) {
    return std::vector<Tensor>{counted(4), f32({2, 5}, {0, 0, 0, 1, 1, batch, 0, 0, 1, 1})};
  };
  CHECK(error_of(roi_pooling(), with_batch(1)) == "IR-value: region 1 is of batch 1, input 0 has 1");
  CHECK(error_of(roi_pooling(), with_batch(-2)) == "IR-value: region 1 is of batch -2, input 0 has 1");
  CHECK(error_of(ps_roi_pooling(), {four_channels(), f32({1, 5}, {NAN, 0, 0, 1, 1})}) ==
        "IR-value: region 0 is of batch nan, input 0 has 1");
  CHECK(error_of(deformable(), with_batch(7)) == "IR-value: region 1 is of batch 7, input 0 has 1");
}

TEST_CASE("PSROIPooling refuses channels that do not fit") {
  const std::vector<ValueInfo> good = shapes({2, 4, 4, 4}, {3, 5});
  op::v0::PSROIPooling op = ps_roi_pooling();
  CHECK(failure_of(op, shapes({2, 5, 4, 4}, {3, 5})) ==
        "IR-shape: input 0 has 5 channels; output_dim * group_size * group_size is 4");
  op.group_size = 0;
  CHECK(failure_of(op, good) == "IR-attribute-range: group_size is 0; it takes values of at least 1");
  op = ps_roi_pooling();
  op.output_dim = 0;
  CHECK(failure_of(op, good) == "IR-attribute-range: output_dim is 0; it takes values of at least 1");
  op = ps_roi_pooling();
  op.spatial_bins_x = 0;  // unused
  CHECK(failure_of(op, good) == "no failure");
  op.mode = op::PsRoiPoolingMode::bilinear;
  CHECK(failure_of(op, good) == "IR-attribute-range: spatial_bins_x is 0; it takes values of at least 1");
  op.spatial_bins_x = 3;
  CHECK(failure_of(op, good) ==
        "IR-shape: input 0 has 4 channels; output_dim * spatial_bins_x * spatial_bins_y is 3");
  op.spatial_bins_x = std::numeric_limits<std::int64_t>::max();
  op.output_dim = op.spatial_bins_x;
  CHECK(failure_of(op, good).starts_with("IR-shape: input 0 has 4 channels"));
}

TEST_CASE("DeformablePSROIPooling refuses offsets that do not fit") {
  const auto with_offsets = [](PartialShape offsets) {
    std::vector<ValueInfo> inputs = shapes({2, 4, 4, 4}, {3, 5});
    inputs.push_back(value(ElementType::f32, std::move(offsets)));
    return inputs;
  };
  op::v1::DeformablePSROIPooling op = deformable();
  op.output_dim = 4;
  CHECK(failure_of(op, with_offsets({3, 4, 1, 1})) == "no failure");
  CHECK(failure_of(op, with_offsets({2, 4, 1, 1})) ==
        "IR-shape: input 2 has shape [2,4,1,1]: axis 0 is 2, but the number of regions is 3");
  CHECK(failure_of(op, with_offsets({3, 3, 1, 1})) ==
        "IR-shape: input 2 has 3 channels; it takes two for each class");
  CHECK(failure_of(op, with_offsets({3, 0, 1, 1})) ==
        "IR-shape: input 2 has 0 channels; it takes two for each class");
  CHECK(failure_of(op, with_offsets({3, 6, 1, 1})) ==
        "IR-shape: input 2 has offsets of 3 classes; output_dim 4 is no multiple of that");
  op.part_size = 2;
  CHECK(failure_of(op, with_offsets({3, 4, 1, 3})) ==
        "IR-shape: input 2 has offsets of 1 x 3 parts; part_size is 2");
  op.part_size = std::numeric_limits<std::int64_t>::max();
  CHECK(
      failure_of(op, with_offsets({3, 4, 1, 3})).starts_with("IR-shape: input 2 has offsets of 1 x 3 parts"));
  op.part_size = 0;
  CHECK(failure_of(op, with_offsets({3, 4, 1, 3})) ==
        "IR-attribute-range: part_size is 0; it takes values of at least 1");
  op = deformable();
  CHECK(failure_of(op, {shapes({2, 4, 4, 4}, {3, 5})[0]}) ==
        "IR-input-count: has 1 inputs, DeformablePSROIPooling takes 2 to 3");
  op.output_dim = 5;
  CHECK(failure_of(op, shapes({2, 4, 4, 4}, {3, 5})) ==
        "IR-shape: input 0 has 4 channels; output_dim * group_size * group_size is 5");
  op = deformable();
  op.spatial_bins_y = 1025;
  CHECK(failure_of(op, shapes({2, 4, 4, 4}, {3, 5})) ==
        "IR-attribute-range: spatial_bins_y is 1025; it takes values from 1 to 1024");
}

}  // namespace ir::test
