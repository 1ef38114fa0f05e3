#include "ir_runtime/ops/experimental_detectron.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

// Two classes beside the background, two regions.
op::v6::ExperimentalDetectronDetectionOutput detections() {
  op::v6::ExperimentalDetectronDetectionOutput op;
  op.score_threshold = 0.25;
  op.nms_threshold = 0.5;
  op.max_delta_log_wh = 0.5;
  op.num_classes = 3;
  op.post_nms_count = 10;
  op.max_detections_per_image = 4;
  op.deltas_weights = {10, 10, 5, 5};
  return op;
}

std::vector<Tensor> detection_inputs() {
  std::vector<float> deltas(24, 0);
  deltas[8] = 5;  // region 0, class 2: x moves by 5 / 10 of 4
  return {f32({2, 4}, {2, 2, 5, 5, 20, 0, 29, 9}), f32({2, 12}, deltas),
          f32({2, 3}, {0.9F, 0.5F, 0.75F, 0.9F, 0.25F, 0.5F}), f32({1, 3}, {8, 8, 1})};
}

std::vector<ValueInfo> detection_shapes() {
  return {value(ElementType::f32, {9, 4}), value(ElementType::f32, {9, 12}), value(ElementType::f32, {9, 3}),
          value(ElementType::f32, {1, 3})};
}

op::v6::ExperimentalDetectronGenerateProposalsSingleImage single_image() {
  op::v6::ExperimentalDetectronGenerateProposalsSingleImage op;
  op.min_size = 5;
  op.nms_threshold = 0.7;
  op.post_nms_count = 3;
  op.pre_nms_count = 2;
  return op;
}

std::vector<Tensor> single_image_inputs() {
  return {f32({3}, {20, 20, 1}), f32({3, 4}, {0, 0, 3, 3, 8, 0, 17, 9, 8, 2, 17, 11}),
          f32({4, 1, 3}, std::vector<float>(12, 0)), f32({1, 1, 3}, {0.75F, 0.5F, 0.25F})};
}

std::vector<ValueInfo> single_image_shapes() {
  return {value(ElementType::f32, {3}), value(ElementType::f32, {90, 4}), value(ElementType::f32, {12, 5, 6}),
          value(ElementType::f32, {3, 5, 6})};
}

std::vector<ValueInfo> grid_shapes() {
  return {value(ElementType::f32, {3, 4}), value(ElementType::f32, {1, 16, 4, 5}),
          value(ElementType::f32, {1, 3, 100, 200})};
}

std::vector<Tensor> grid_inputs() {
  return {f32({1, 4}, {-2, -1, 2, 1}), f32({1, 1, 2, 2}, {0, 0, 0, 0}),
          Tensor(ElementType::f32, {1, 1, 8, 20})};
}

std::vector<ValueInfo> with(std::vector<ValueInfo> inputs, std::size_t index, PartialShape shape) {
  inputs[index].shape = std::move(shape);
  return inputs;
}

void check_real_types(const Op& op, const std::vector<Tensor>& inputs, std::size_t output, const Shape& shape,
                      const std::vector<float>& expected) {
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    std::vector<Tensor> typed = inputs;
    for (Tensor& tensor : typed) tensor = tensor.converted(type);
    const std::vector<Tensor> results = evaluate(op, typed);
    CHECK(results[output].element_type() == type);
    check_close(results[output].converted(ElementType::f32), shape, expected, 1e-2);
  }
}

}  // namespace

TEST_CASE("ExperimentalDetectronDetectionOutput lists detections by class, then zeros") {
  const std::vector<Tensor> results = evaluate(detections(), detection_inputs());
  REQUIRE(results.size() == 3);
  // Region 1 is beyond the image of 8 x 8, and stays there; 0.25 is not above the threshold.
  check_close(results[0], {4, 4}, {2, 2, 5, 5, 4, 2, 7, 5, 20, 0, 29, 9, 0, 0, 0, 0});
  check_equal<std::int32_t>(results[1], {4}, {1, 2, 2, 0});
  check_close(results[2], {4}, {0.5F, 0.75F, 0.5F, 0});
  check_real_types(detections(), detection_inputs(), 2, {4}, {0.5F, 0.75F, 0.5F, 0});
}

TEST_CASE("ExperimentalDetectronDetectionOutput with too many detections lists the best") {
  auto op = detections();
  op.max_detections_per_image = 2;
  std::vector<Tensor> results = evaluate(op, detection_inputs());
  check_equal<std::int32_t>(results[1], {2}, {2, 1});
  check_close(results[2], {2}, {0.75F, 0.5F});
  op = detections();
  op.post_nms_count = 1;
  results = evaluate(op, detection_inputs());
  check_equal<std::int32_t>(results[1], {4}, {1, 2, 0, 0});
  op.post_nms_count = -1;
  check_equal<std::int32_t>(evaluate(op, detection_inputs())[1], {4}, {1, 2, 2, 0});
}

TEST_CASE("ExperimentalDetectronDetectionOutput limits sizes and drops regions without area") {
  auto op = detections();
  op.max_delta_log_wh = std::log(2.0);
  std::vector<Tensor> inputs = detection_inputs();
  inputs[0] = f32({2, 4}, {8, 8, 11, 11, 1, 1, 1, 1});
  std::vector<float> deltas(24, 0);
  deltas[6] = 1000;  // region 0, class 1: twice as wide
  inputs[1] = f32({2, 12}, deltas);
  const std::vector<Tensor> results = evaluate(op, inputs);
  check_close(results[0], {4, 4}, {6, 8, 13, 11, 8, 8, 11, 11, 0, 0, 0, 0, 0, 0, 0, 0});
  check_equal<std::int32_t>(results[1], {4}, {1, 2, 0, 0});
}

TEST_CASE("The shapes of ExperimentalDetectronDetectionOutput follow from attributes") {
  for (const PartialShape& rois :
       {PartialShape{9, 4}, PartialShape{Dimension(), Dimension(3, 5)}, PartialShape()}) {
    const auto inputs = with(detection_shapes(), 0, rois);
    CHECK(infer_shape(detections(), inputs) == PartialShape{4, 4});
    CHECK(infer_shape(detections(), inputs, 1) == PartialShape{4});
    CHECK(infer_shape(detections(), inputs, 2) == PartialShape{4});
  }
  CHECK(infer_outputs(detections(), detection_shapes())[1].type == ElementType::i32);
}

TEST_CASE("ExperimentalDetectronDetectionOutput refuses what does not fit together") {
  const auto op = detections();
  CHECK(failure_of(op, {detection_shapes()[0]}) ==
        "IR-input-count: has 1 inputs, ExperimentalDetectronDetectionOutput takes 4");
  CHECK(failure_of(op, with(detection_shapes(), 1, {9, 8})) ==
        "IR-shape: input 1 has shape [9,8]: axis 1 is 8, but 4 * num_classes is 12");
  CHECK(failure_of(op, with(detection_shapes(), 2, {8, 3})) ==
        "IR-shape: input 2 has shape [8,3]: axis 0 is 8, but the number of regions is 9");
  CHECK(failure_of(op, with(detection_shapes(), 3, {3})) ==
        "IR-rank: input 3 has shape [3] of rank 1, ExperimentalDetectronDetectionOutput takes rank 2");
  std::vector<ValueInfo> mixed = detection_shapes();
  mixed[1].type = ElementType::f16;
  CHECK(failure_of(op, mixed) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and f16, ExperimentalDetectronDetectionOutput "
        "takes one type");
  mixed[1].type = ElementType::i32;
  CHECK(failure_of(op, mixed) ==
        "IR-element-type: input 1 is of type i32, "
        "ExperimentalDetectronDetectionOutput takes a floating-point type");
  auto bad = op;
  bad.deltas_weights.pop_back();
  CHECK(failure_of(bad, detection_shapes()) ==
        "IR-attribute-size: deltas_weights has 3 values; it takes four");
  bad = op;
  bad.max_detections_per_image = -1;
  CHECK(failure_of(bad, detection_shapes()) ==
        "IR-attribute-range: max_detections_per_image is -1; it takes values of at least 0");
  bad = op;
  bad.num_classes = 0;
  CHECK(failure_of(bad, detection_shapes()) ==
        "IR-attribute-range: num_classes is 0; it takes values from 1 to 4294967295");
  bad.num_classes = std::int64_t{1} << 31;
  std::vector<ValueInfo> unknown(4, value(ElementType::f32, PartialShape()));
  unknown[0].shape = PartialShape{4, 4};
  CHECK(failure_of(bad, unknown) ==
        "IR-shape: the inputs ask for 8589934592 boxes; less than 4294967296 can be handled");
}

TEST_CASE("ExperimentalDetectronDetectionOutput gives regions without area score 0") {
  auto op = detections();
  op.score_threshold = -0.5;
  op.post_nms_count = 1;
  std::vector<Tensor> inputs = detection_inputs();
  inputs[0] = f32({2, 4}, {8, 11, 8, 8, 1, 1, 1, 4});
  const std::vector<Tensor> results = evaluate(op, inputs);
  check_close(results[0], {4, 4}, std::vector<float>(16, 0));
  check_equal<std::int32_t>(results[1], {4}, {1, 2, 0, 0});
  check_close(results[2], {4}, {0, 0, 0, 0});
}

TEST_CASE("ExperimentalDetectronGenerateProposalsSingleImage gives small boxes score 0") {
  const std::vector<Tensor> results = evaluate(single_image(), single_image_inputs());
  REQUIRE(results.size() == 2);
  // Cell 0 is 4 x 4: its score is 0, and others come first. These overlap by 9 * 7 / (2 * 81 - 63) = 0.64.
  check_close(results[0], {3, 4}, {8, 0, 17, 9, 8, 2, 17, 11, 0, 0, 0, 0});
  check_close(results[1], {3}, {0.5F, 0.25F, 0});
  check_real_types(single_image(), single_image_inputs(), 1, {3}, {0.5F, 0.25F, 0});

  auto op = single_image();
  op.nms_threshold = 0.6;
  check_close(evaluate(op, single_image_inputs())[1], {3}, {0.5F, 0, 0});
  op.min_size = 0;
  check_close(evaluate(op, single_image_inputs())[1], {3}, {0.75F, 0.5F, 0});
}

TEST_CASE("ExperimentalDetectronGenerateProposalsSingleImage infers shapes and refuses others") {
  const auto op = single_image();
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(infer_shape(op, with(single_image_shapes(), i, PartialShape())) == PartialShape{3, 4});
    CHECK(infer_shape(op, with(single_image_shapes(), i, PartialShape()), 1) == PartialShape{3});
  }
  CHECK(failure_of(op, {single_image_shapes()[0]}) ==
        "IR-input-count: has 1 inputs, ExperimentalDetectronGenerateProposalsSingleImage takes 4");
  CHECK(failure_of(op, with(single_image_shapes(), 0, {4})) ==
        "IR-shape: input 0 has shape [4]: axis 0 is 4, but the number of image sizes is 3");
  CHECK(failure_of(op, with(single_image_shapes(), 1, {91, 4})) ==
        "IR-shape: input 1 has shape [91,4]: axis 0 is 91, but the number of anchors of all cells is 90");
  CHECK(failure_of(op, with(single_image_shapes(), 2, {11, 5, 6})) ==
        "IR-shape: input 2 has shape [11,5,6]: axis 0 is 11, but 4 * the number of anchors is 12");
  auto bad = op;
  bad.post_nms_count = -1;
  CHECK(failure_of(bad, single_image_shapes()) ==
        "IR-attribute-range: pre_nms_count is 2 and post_nms_count is -1; none can be negative");
}

TEST_CASE("ExperimentalDetectronPriorGridGenerator draws priors around cells") {
  op::v6::ExperimentalDetectronPriorGridGenerator op;
  const std::vector<float> expected{3, 1, 7, 3, 13, 1, 17, 3, 3, 5, 7, 7, 13, 5, 17, 7};
  check_close(run(op, grid_inputs()), {4, 4}, expected);
  check_real_types(op, grid_inputs(), 0, {4, 4}, expected);
  op.flatten = false;
  op.stride_x = 10;
  op.stride_y = 4;
  check_close(run(op, grid_inputs()), {2, 2, 1, 4}, expected);
  // A smaller grid: one cell of 8 x 10, the rest is 0.
  op.h = 1;
  op.w = 1;
  op.stride_y = 0;
  check_close(run(op, grid_inputs()), {2, 2, 1, 4}, {3, 3, 7, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("ExperimentalDetectronPriorGridGenerator infers shapes and refuses others") {
  op::v6::ExperimentalDetectronPriorGridGenerator op;
  CHECK(infer_shape(op, grid_shapes()) == PartialShape{60, 4});
  CHECK(explain_outputs(op, grid_shapes())[0][0] == "height * width * priors: 4 * 5 * 3 = 60");
  CHECK(infer_shape(op, with(grid_shapes(), 1, {1, Dimension(), 4, Dimension(5, 10)})) ==
        PartialShape{Dimension(60, 120), 4});
  std::vector<ValueInfo> unknown(3, value(ElementType::f16, PartialShape()));
  CHECK(infer_shape(op, unknown) == PartialShape{Dimension(), 4});
  op.flatten = false;
  CHECK(infer_shape(op, grid_shapes()) == PartialShape{4, 5, 3, 4});
  CHECK(infer_shape(op, unknown) == PartialShape{Dimension(), Dimension(), Dimension(), 4});

  CHECK(failure_of(op, {unknown[0]}) ==
        "IR-input-count: has 1 inputs, ExperimentalDetectronPriorGridGenerator takes 3");
  CHECK(failure_of(op, with(grid_shapes(), 0, {3, 5})) ==
        "IR-shape: input 0 has shape [3,5]: axis 1 is 5, but the size of a box is 4");
  CHECK(failure_of(op, with(grid_shapes(), 2, {2, 3, 100, 200})) ==
        "IR-shape: input 2 has shape [2,3,100,200]: axis 0 is 2, but the number of images is 1");
  op.w = 6;
  CHECK(failure_of(op, grid_shapes()) ==
        "IR-attribute-range: w is 6; it takes up to 5, the size of the feature map");
  op.h = -1;
  CHECK(failure_of(op, grid_shapes()) == "IR-attribute-range: h is -1; it takes values of at least 0");
}

TEST_CASE("ExperimentalDetectronTopKROIs takes the most probable regions, then zeros") {
  op::v6::ExperimentalDetectronTopKROIs op;
  op.max_rois = 2;
  const std::vector<Tensor> inputs{f32({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                                   f32({3}, {0.5F, 0.25F, 0.5F})};
  check_real_types(op, inputs, 0, {2, 4}, {1, 2, 3, 4, 9, 10, 11, 12});
  op.max_rois = 4;
  check_close(run(op, inputs), {4, 4}, {1, 2, 3, 4, 9, 10, 11, 12, 5, 6, 7, 8, 0, 0, 0, 0});
  check_close(run(op, {f32({0, 4}, {}), f32({0}, {})}), {4, 4}, std::vector<float>(16, 0));
  op.max_rois = 0;
  CHECK(run(op, inputs).shape() == Shape{0, 4});
}

TEST_CASE("ExperimentalDetectronTopKROIs infers shapes and refuses others") {
  op::v6::ExperimentalDetectronTopKROIs op;
  op.max_rois = 7;
  const auto inputs = [](PartialShape rois, PartialShape probabilities) {
    return std::vector{value(ElementType::f32, std::move(rois)),
                       value(ElementType::f32, std::move(probabilities))};
  };
  CHECK(infer_shape(op, inputs({9, 4}, {9})) == PartialShape{7, 4});
  CHECK(infer_shape(op, inputs(PartialShape(), {Dimension()})) == PartialShape{7, 4});
  CHECK(failure_of(op, {value(ElementType::f32, {9, 4})}) ==
        "IR-input-count: has 1 inputs, ExperimentalDetectronTopKROIs takes 2");
  CHECK(failure_of(op, inputs({9, 4}, {8})) ==
        "IR-shape: input 1 has shape [8]: axis 0 is 8, but the number of regions is 9");
  CHECK(failure_of(op, inputs({std::int64_t{1} << 31, 4}, PartialShape())) ==
        "IR-shape: input 0 has 2147483648 regions; at most 2147483647 can be searched");
  op.max_rois = -1;
  CHECK(failure_of(op, inputs({9, 4}, {9})) ==
        "IR-attribute-range: max_rois is -1; it takes values of at least 0");
}

}  // namespace ir::test
