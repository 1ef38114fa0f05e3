#include "ir_runtime/ops/roi_align.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

template <class Op>
Op align(std::int64_t sampling_ratio) {
  Op op;
  op.pooled_h = 1;
  op.pooled_w = 1;
  op.sampling_ratio = sampling_ratio;
  op.spatial_scale = 1;
  return op;
}

op::v6::ExperimentalDetectronROIFeatureExtractor extractor(std::vector<std::int64_t> scales) {
  op::v6::ExperimentalDetectronROIFeatureExtractor op;
  op.output_size = 1;
  op.sampling_ratio = 1;
  op.pyramid_scales = std::move(scales);
  return op;
}

/// [1, 1, 3, 3] of 0 to 8.
Tensor counted() { return f32({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}); }

Tensor constant_map(std::int64_t side, float number) {
  return f32({1, 1, side, side}, std::vector<float>(static_cast<std::size_t>(side * side), number));
}

std::vector<ValueInfo> shapes(PartialShape maps, PartialShape boxes, PartialShape batches) {
  return {value(ElementType::f32, std::move(maps)), value(ElementType::f32, std::move(boxes)),
          value(ElementType::i32, std::move(batches))};
}

}  // namespace

TEST_CASE("ROIAlign pools samples of the bins") {
  const std::vector<Tensor> inputs{counted(), f32({1, 4}, {0, 0, 2, 2}), i64({1}, {0})};
  op::v3::ROIAlign op = align<op::v3::ROIAlign>(1);
  check_close(run(op, inputs), {1, 1, 1, 1}, {4});
  op.pooled_w = 2;  // samples (1, 0.5) and (1, 1.5)
  check_close(run(op, inputs), {1, 1, 1, 2}, {3.5F, 4.5F});
  op.spatial_scale = 0.5;
  check_close(run(op, inputs), {1, 1, 1, 2}, {1.75F, 2.25F});  // (0.5, 0.25) and (0.5, 0.75)

  op = align<op::v3::ROIAlign>(0);  // samples at 0.5 and 1.5 along both axes: 2, 3, 5, 6
  check_close(run(op, inputs), {1, 1, 1, 1}, {4});
  op.mode = op::RoiAlignMode::max;
  check_close(run(op, inputs), {1, 1, 1, 1}, {6});
}

TEST_CASE("ROIAlign with max gives at least zero, as in OpenVINO") {
  op::v9::ROIAlign op = align<op::v9::ROIAlign>(2);
  op.mode = op::RoiAlignMode::max;
  check_close(run(op, {constant_map(3, -2), f32({1, 4}, {0, 0, 2, 2}), i64({1}, {0})}), {1, 1, 1, 1}, {0});
}

TEST_CASE("ROIAlign-9 places coordinates as asked") {
  op::v9::ROIAlign op = align<op::v9::ROIAlign>(1);
  op.spatial_scale = 2;
  const auto sampled = [&](op::RoiAlignedMode mode, std::vector<float> box) {
    op.aligned_mode = mode;
    return run(op, {counted(), f32({1, 4}, std::move(box)), i64({1}, {0})}).data<float>()[0];
  };
  // The centre is (0.5, 0.5) of the image.
  CHECK(sampled(op::RoiAlignedMode::asymmetric, {0, 0, 1, 1}) == 4);         // (1, 1)
  CHECK(sampled(op::RoiAlignedMode::half_pixel_for_nn, {0, 0, 1, 1}) == 2);  // (0.5, 0.5)
  CHECK(sampled(op::RoiAlignedMode::half_pixel, {0, 0, 1, 1}) == 6);         // (1.5, 1.5)
  // Small boxes grow to 1 x 1 in the first mode only.
  CHECK(sampled(op::RoiAlignedMode::asymmetric, {0, 0, 0, 0}) == 2);
  CHECK(sampled(op::RoiAlignedMode::half_pixel_for_nn, {0.5F, 0.5F, 0.5F, 0.5F}) == 2);
}

TEST_CASE("ROIAlign takes batch indices of every integer type") {
  const Tensor maps = f32({2, 1, 1, 1}, {3, 7});
  const op::v9::ROIAlign op = align<op::v9::ROIAlign>(2);
  for (const ElementType type : {ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64,
                                 ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64}) {
    check_close(run(op, {maps, f32({2, 4}, {0, 0, 1, 1, 0, 0, 1, 1}), i64({2}, {1, 0}).converted(type)}),
                {2, 1, 1, 1}, {7, 3});
  }
}

TEST_CASE("ROIAlignRotated turns boxes around their centre") {
  op::v15::ROIAlignRotated op = align<op::v15::ROIAlignRotated>(1);
  op.pooled_w = 2;  // half an element left and right of (1, 1), before turning
  const auto inputs = [](float angle) {
    return std::vector<Tensor>{counted(), f32({1, 5}, {1.5F, 1.5F, 2, 2, angle}), i64({1}, {0})};
  };
  const float quarter = 1.5707964F;
  check_close(run(op, inputs(0)), {1, 1, 1, 2}, {3.5F, 4.5F});
  check_close(run(op, inputs(quarter)), {1, 1, 1, 2}, {5.5F, 2.5F});
  check_close(run(op, inputs(2 * quarter)), {1, 1, 1, 2}, {4.5F, 3.5F});
  op.clockwise_mode = true;
  check_close(run(op, inputs(quarter)), {1, 1, 1, 2}, {2.5F, 5.5F});
}

TEST_CASE("ExperimentalDetectronROIFeatureExtractor samples the level that fits") {
  // Sides of 8 and 112: levels 0 and 1. The last region has no area.
  const Tensor regions = f32({3, 4}, {0, 0, 8, 8, 0, 0, 112, 112, 5, 5, 5, 9});
  const auto outputs =
      evaluate(extractor({4, 8}), std::vector{regions, constant_map(2, 3), constant_map(16, 5)});
  check_close(outputs.at(0), {3, 1, 1, 1}, {3, 5, 0});
  check_equal<float>(outputs.at(1), {3, 4}, {0, 0, 8, 8, 0, 0, 112, 112, 5, 5, 5, 9});
}

TEST_CASE("ExperimentalDetectronROIFeatureExtractor moves aligned regions, and grows small ones") {
  op::v6::ExperimentalDetectronROIFeatureExtractor op = extractor({1});
  const auto sampled = [&](std::vector<float> box) {
    return run(op, {f32({1, 4}, std::move(box)), counted()}).data<float>()[0];
  };
  CHECK(sampled({0, 0, 2, 2}) == 4);
  CHECK(sampled({0, 0, 0.5F, 0.5F}) == 2);
  op.aligned = true;
  CHECK(sampled({0, 0, 2, 2}) == 2);
  CHECK(sampled({0.5F, 0.5F, 1, 1}) == 2);
}

TEST_CASE("Aligned regions of every real type") {
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const auto check_type = [&](const Op& op, std::vector<Tensor> inputs) {
      for (Tensor& input : inputs) {
        if (input.element_type() == ElementType::f32) input = input.converted(type);
      }
      const Tensor result = run(op, inputs);
      CHECK(result.element_type() == type);
      check_close(result.converted(ElementType::f32), {1, 1, 1, 1}, {4});
    };
    const Tensor box = f32({1, 4}, {0, 0, 2, 2});
    check_type(align<op::v3::ROIAlign>(2), {counted(), box, i32({1}, {0})});
    check_type(align<op::v9::ROIAlign>(2), {counted(), box, i32({1}, {0})});
    check_type(align<op::v15::ROIAlignRotated>(2),
               {counted(), f32({1, 5}, {1.5F, 1.5F, 2, 2, 0}), i32({1}, {0})});
    check_type(extractor({1}), {box, counted()});
  }
  std::vector<Tensor> deep{f32({1, 4}, {0, 0, 2, 2}).converted(ElementType::f64)};
  for (int i = 0; i < 8; ++i) deep.push_back(counted().converted(ElementType::f64));
  CHECK(error_of(extractor({1, 1, 1, 1, 1, 1, 1, 1}), deep) ==
        "IR-unsupported: no kernel for f64 with more than 8 inputs or outputs");
}

TEST_CASE("No regions, no channels and empty maps") {
  const op::v9::ROIAlign op = align<op::v9::ROIAlign>(0);
  CHECK(run(op, {counted(), f32({0, 4}, {}), i64({0}, {})}).shape() == Shape{0, 1, 1, 1});
  const Tensor box = f32({1, 4}, {0, 0, 2, 2});
  CHECK(run(op, {f32({1, 0, 3, 3}, {}), box, i64({1}, {0})}).shape() == Shape{1, 0, 1, 1});
  check_close(run(op, {f32({1, 1, 3, 0}, {}), box, i64({1}, {0})}), {1, 1, 1, 1}, {0});
  CHECK(run(extractor({1}), {f32({0, 4}, {}), counted()}).shape() == Shape{0, 1, 1, 1});
}

TEST_CASE("Shapes of aligned regions") {
  const Dimension any;
  const op::v9::ROIAlign op = align<op::v9::ROIAlign>(0);
  CHECK(infer_shape(op, shapes(PartialShape(), PartialShape(), PartialShape())) ==
        PartialShape{any, any, 1, 1});
  CHECK(infer_shape(op, shapes({any, 3, 5, 5}, {any, any}, {9})) == PartialShape{9, 3, 1, 1});
  CHECK(infer_shape(op, shapes({2, Dimension(3, 5), 5, 5}, {Dimension(2, 8), 4}, {Dimension(4, 9)})) ==
        PartialShape{Dimension(4, 8), Dimension(3, 5), 1, 1});
  CHECK(infer_shape(align<op::v15::ROIAlignRotated>(0), shapes({2, 3, 5, 5}, {any, 5}, PartialShape())) ==
        PartialShape{any, 3, 1, 1});

  const auto reals = [](PartialShape shape) { return value(ElementType::f32, std::move(shape)); };
  const auto features = extractor({4, 8});
  CHECK(infer_shape(features, {reals(PartialShape()), reals(PartialShape())}) ==
        PartialShape{any, any, 1, 1});
  CHECK(infer_shape(features, {reals({any, any}), reals({any, any, 5, 5}), reals({1, 7, any, 3})}) ==
        PartialShape{any, 7, 1, 1});
  CHECK(infer_shape(features, {reals({6, any}), reals(PartialShape())}, 1) == PartialShape{6, 4});
}

TEST_CASE("ROIAlign refuses what it cannot sample") {
  const std::vector<ValueInfo> good = shapes({2, 1, 4, 4}, {3, 4}, {3});
  op::v3::ROIAlign op = align<op::v3::ROIAlign>(0);
  CHECK(failure_of(op, {good[0], good[1]}) == "IR-input-count: has 2 inputs, ROIAlign takes 3");
  CHECK(failure_of(op, shapes({2, 1, 4}, {3, 4}, {3})) ==
        "IR-rank: input 0 has shape [2,1,4] of rank 3, ROIAlign takes rank 4");
  CHECK(failure_of(op, shapes({2, 1, 4, 4}, {3, 5}, {3})) ==
        "IR-shape: input 1 has shape [3,5]: axis 1 is 5, but the size of a region is 4");
  CHECK(failure_of(op, shapes({2, 1, 4, 4}, {3, 4}, {2})) ==
        "IR-shape: input 2 has shape [2]: axis 0 is 2, but the number of regions is 3");
  CHECK(failure_of(align<op::v15::ROIAlignRotated>(0), good) ==
        "IR-shape: input 1 has shape [3,4]: axis 1 is 4, but the size of a region is 5");
  CHECK(failure_of(op, {good[0], value(ElementType::f16, {3, 4}), good[2]}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and f16, ROIAlign takes one type");
  CHECK(failure_of(op, {value(ElementType::i32, {2, 1, 4, 4}), good[1], good[2]}) ==
        "IR-element-type: input 0 is of type i32, ROIAlign takes a floating-point type");
  CHECK(failure_of(op, {good[0], good[1], value(ElementType::f32, {3})}) ==
        "IR-element-type: input 2 is of type f32, ROIAlign takes an integer type");
  op.pooled_h = 0;
  CHECK(failure_of(op, good) == "IR-attribute-range: pooled_h is 0; it takes values of at least 1");
  op = align<op::v3::ROIAlign>(-1);
  CHECK(failure_of(op, good) == "IR-attribute-range: sampling_ratio is -1; it takes values from 0 to 1024");
  op = align<op::v3::ROIAlign>(0);
  op.spatial_scale = -0.5;
  CHECK(failure_of(op, good) == "IR-attribute-range: spatial_scale is -0.5; it takes a positive number");

  for (const std::int64_t batch : {std::int64_t{-1}, std::int64_t{1}}) {
    op = align<op::v3::ROIAlign>(0);
    CHECK(error_of(op, {counted(), f32({1, 4}, {0, 0, 2, 2}), i64({1}, {batch})}) ==
          fmt::format("IR-value: region 0 is of batch {}, input 0 has 1", batch));
  }
}

TEST_CASE("ExperimentalDetectronROIFeatureExtractor refuses pyramids that do not fit") {
  const ValueInfo regions = value(ElementType::f32, {3, 4});
  const ValueInfo level = value(ElementType::f32, {1, 2, 4, 4});
  const auto failure = [&](const op::v6::ExperimentalDetectronROIFeatureExtractor& op,
                           const std::vector<ValueInfo>& inputs) { return failure_of(op, inputs); };
  CHECK(failure(extractor({1}), {regions}) ==
        "IR-input-count: has 1 inputs, ExperimentalDetectronROIFeatureExtractor takes at least 2");
  CHECK(failure(extractor({1}), {regions, level, level}) ==
        "IR-attribute-size: pyramid_scales has 1 values for 2 levels");
  CHECK(failure(extractor({1, 0}), {regions, level, level}) ==
        "IR-attribute-range: pyramid_scales is 0; it takes values of at least 1");
  CHECK(failure(extractor({1, 2}), {regions, level, value(ElementType::f32, {1, 3, 4, 4})}) ==
        "IR-shape: input 2 has shape [1,3,4,4]: axis 1 is 3, but the number of channels is 2");
  CHECK(failure(extractor({1}), {regions, value(ElementType::f32, {2, 3, 4, 4})}) ==
        "IR-shape: input 1 has shape [2,3,4,4]: axis 0 is 2, but the batch size is 1");
  CHECK(failure(extractor({1}), {value(ElementType::f32, {3, 5}), level}) ==
        "IR-shape: input 0 has shape [3,5]: axis 1 is 5, but the size of a region is 4");
  CHECK(failure(extractor({1}), {regions, value(ElementType::f64, {1, 2, 4, 4})}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and f64, ExperimentalDetectronROIFeatureExtractor "
        "takes one type");
  CHECK(failure(extractor({1}), {regions, value(ElementType::i8, {1, 2, 4, 4})}) ==
        "IR-element-type: input 1 is of type i8, ExperimentalDetectronROIFeatureExtractor takes a "
        "floating-point type");
  auto op = extractor({1});
  op.output_size = 0;
  CHECK(failure(op, {regions, level}) ==
        "IR-attribute-range: output_size is 0; it takes values of at least 1");
  op = extractor({1});
  op.sampling_ratio = 5000;
  CHECK(failure(op, {regions, level}) ==
        "IR-attribute-range: sampling_ratio is 5000; it takes values from 0 to 1024");
}

}  // namespace ir::test
