#include "ir_runtime/ops/proposal.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

// One anchor of 4 x 4 pixels on a map of 1 x 2 cells, 8 pixels apart.
template <class Op>
Op proposal() {
  Op op;
  op.base_size = 4;
  op.pre_nms_topn = 10;
  op.post_nms_topn = 3;
  op.nms_thresh = 0.7;
  op.feat_stride = 8;
  op.min_size = 1;
  op.ratio = {1};
  op.scale = {1};
  return op;
}

std::vector<Tensor> proposal_inputs() {
  return {f32({1, 2, 1, 2}, {0.8F, 0.1F, 0.2F, 0.9F}), f32({1, 4, 1, 2}, {0, 0.5F, 0, 0, 0, 0, 0, 0}),
          f32({3}, {20, 20, 1})};
}

std::vector<ValueInfo> proposal_shapes() {
  return {value(ElementType::f32, {1, 2, 1, 2}), value(ElementType::f32, {1, 4, 1, 2}),
          value(ElementType::f32, {3})};
}

// The same anchors as an input, with three cells of which the last two are alike.
op::v9::GenerateProposals generate() {
  op::v9::GenerateProposals op;
  op.min_size = 1;
  op.nms_threshold = 0.7;
  op.pre_nms_count = 10;
  op.post_nms_count = 10;
  return op;
}

std::vector<Tensor> generate_inputs() {
  return {f32({2, 3}, {20, 20, 1, 20, 20, 5}), f32({1, 3, 1, 4}, {0, 0, 4, 4, 8, 0, 18, 10, 8, 0, 18, 9}),
          f32({2, 4, 1, 3}, std::vector<float>(24, 0)),
          f32({2, 1, 1, 3}, {0.5F, 0.25F, 0.75F, 0.5F, 0.25F, 0.75F})};
}

std::vector<ValueInfo> generate_shapes() {
  return {value(ElementType::f32, {2, 3}), value(ElementType::f32, {5, 6, 3, 4}),
          value(ElementType::f32, {2, 12, 5, 6}), value(ElementType::f32, {2, 3, 5, 6})};
}

std::vector<ValueInfo> with(std::vector<ValueInfo> inputs, std::size_t index, PartialShape shape) {
  inputs[index].shape = std::move(shape);
  return inputs;
}

}  // namespace

TEST_CASE("Proposal lists boxes by foreground probability, then ends with image -1") {
  // The anchor is [0, 0, 3, 3] of sides 4: half of that around the centre 2, which ends at 4 and not 3. The
  // second cell is 8 pixels to the right and moved by half of 4.
  const std::vector<float> rois{0, 10, 0, 14, 4, 0, 0, 0, 4, 4, -1, 0, 0, 0, 0};
  check_close(run(proposal<op::v0::Proposal>(), proposal_inputs()), {3, 5}, rois);
  const std::vector<Tensor> both = evaluate(proposal<op::v4::Proposal>(), proposal_inputs());
  REQUIRE(both.size() == 2);
  check_close(both[0], {3, 5}, rois);
  check_close(both[1], {3}, {0.9F, 0.2F, 0});
}

TEST_CASE("Proposal as in TensorFlow has rows for x and centres anchors on cells") {
  auto op = proposal<op::v4::Proposal>();
  op.framework = "tensorflow";
  // Anchors [-2, -2, 2, 2], cut at the image to [0, 0, 2, 2], and [-2, 6, 2, 10], cut to [0, 6, 2, 10] and
  // moved by half of 2.
  const std::vector<Tensor> results = evaluate(op, proposal_inputs());
  check_close(results[0], {3, 5}, {0, 1, 6, 3, 10, 0, 0, 0, 2, 2, -1, 0, 0, 0, 0});

  // The image is 3 rows high and 9 columns wide.
  std::vector<Tensor> inputs = proposal_inputs();
  inputs[2] = f32({4}, {2.5F, 9, 1, 1});
  check_close(evaluate(op, inputs)[0], {3, 5}, {0, 1, 6, 2.5F, 9, 0, 0, 0, 2, 2, -1, 0, 0, 0, 0});
}

TEST_CASE("Proposal clips before and after suppression, and normalizes") {
  auto op = proposal<op::v4::Proposal>();
  std::vector<Tensor> inputs = proposal_inputs();
  inputs[2] = f32({3}, {4, 12, 1});
  check_close(evaluate(op, inputs)[0], {3, 5}, {0, 10, 0, 11, 3, 0, 0, 0, 4, 3, -1, 0, 0, 0, 0});
  op.clip_before_nms = false;
  check_close(evaluate(op, inputs)[0], {3, 5}, {0, 10, 0, 14, 4, 0, 0, 0, 4, 4, -1, 0, 0, 0, 0});
  op.clip_after_nms = true;
  check_close(evaluate(op, inputs)[0], {3, 5}, {0, 10, 0, 12, 4, 0, 0, 0, 4, 4, -1, 0, 0, 0, 0});
  op.normalize = true;
  check_close(evaluate(op, inputs)[0], {3, 5},
              {0, 10.0F / 12, 0, 1, 1, 0, 0, 0, 4.0F / 12, 1, -1, 0, 0, 0, 0});
}

TEST_CASE("Proposal divides deltas, and small boxes get probability 0") {
  auto op = proposal<op::v4::Proposal>();
  op.box_coordinate_scale = 2;
  op.box_size_scale = 0.5;
  std::vector<Tensor> inputs = proposal_inputs();
  // Width times exp(ln(2) / 2 / 0.5) = 2 in cell 1.
  inputs[1] = f32({1, 4, 1, 2}, {0, 0.5F, 0, 0, 0, 0.34657359F, 0, 0});
  check_close(evaluate(op, inputs)[0], {3, 5}, {0, 7, 0, 15, 4, 0, 0, 0, 4, 4, -1, 0, 0, 0, 0});
  // 2 * 3 = 6 pixels: the sides of cell 0 have 5, those of cell 1 9 and 5.
  op.min_size = 2;
  inputs[2] = f32({4}, {20, 20, 3, 1});
  check_close(evaluate(op, inputs)[1], {3}, {0, 0, 0});
  inputs[2] = f32({4}, {20, 20, 1, 3});
  check_close(evaluate(op, inputs)[1], {3}, {0.9F, 0, 0});
}

TEST_CASE("Proposal takes f64, f16 and bf16") {
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    std::vector<Tensor> inputs = proposal_inputs();
    for (Tensor& tensor : inputs) tensor = tensor.converted(type);
    const std::vector<Tensor> results = evaluate(proposal<op::v4::Proposal>(), inputs);
    CHECK(results[1].element_type() == type);
    check_close(results[0].converted(ElementType::f32), {3, 5},
                {0, 10, 0, 14, 4, 0, 0, 0, 4, 4, -1, 0, 0, 0, 0}, 1e-2);
    check_close(results[1].converted(ElementType::f32), {3}, {0.9F, 0.2F, 0}, 1e-2);
  }
}

TEST_CASE("The rows of Proposal follow from the number of images") {
  const auto op = proposal<op::v4::Proposal>();
  std::vector<ValueInfo> inputs = proposal_shapes();
  inputs[0].shape[0] = Dimension(2, 5);
  inputs[1].shape[0] = Dimension(4, 8);
  CHECK(infer_shape(op, inputs) == PartialShape{Dimension(12, 15), 5});
  CHECK(infer_shape(op, inputs, 1) == PartialShape{Dimension(12, 15)});
  for (ValueInfo& info : inputs) info.shape = PartialShape();
  CHECK(infer_shape(op, inputs) == PartialShape{Dimension(), 5});
  CHECK(explain_outputs(op, proposal_shapes())[0][0] == "images * post_nms_topn: 1 * 3 = 3");
  // As in OpenVINO, shapes need no anchors.
  auto bare = proposal<op::v0::Proposal>();
  bare.ratio.clear();
  CHECK(infer_shape(bare, with(with(proposal_shapes(), 0, {7, 12, 3, 4}), 1, {7, 24, 3, 4})) ==
        PartialShape{21, 5});
}

TEST_CASE("Proposal refuses what does not fit together") {
  const auto op = proposal<op::v0::Proposal>();
  CHECK(failure_of(op, {proposal_shapes()[0]}) == "IR-input-count: has 1 inputs, Proposal takes 3");
  CHECK(failure_of(op, with(proposal_shapes(), 0, {1, 2, 2})) ==
        "IR-rank: input 0 has shape [1,2,2] of rank 3, Proposal takes rank 4");
  CHECK(failure_of(op, with(proposal_shapes(), 0, {1, 4, 1, 2})) ==
        "IR-shape: input 0 has shape [1,4,1,2]: axis 1 is 4, but 2 * the number of ratios and scales is 2");
  CHECK(failure_of(op, with(proposal_shapes(), 1, {1, 8, 1, 2})) ==
        "IR-shape: input 1 has shape [1,8,1,2]: axis 1 is 8, but 4 * the number of anchors is 4");
  CHECK(failure_of(op, with(proposal_shapes(), 1, {1, 4, 1, 3})) ==
        "IR-shape: input 1 has shape [1,4,1,3]: axis 3 is 3, but the width is 2");
  CHECK(failure_of(op, with(proposal_shapes(), 2, {5})) ==
        "IR-shape: input 2 has shape [5]: axis 0 is 5, but the number of image sizes is 3..4");
  std::vector<ValueInfo> integers = proposal_shapes();
  integers[1].type = ElementType::i32;
  CHECK(failure_of(op, integers) ==
        "IR-element-type: input 1 is of type i32, Proposal takes a floating-point type");
  CHECK(failure_of(op, with(with(proposal_shapes(), 0, {1, 2, 65536, 65536}), 1, {1, 4, 65536, 65536})) ==
        "IR-shape: the inputs ask for 8589934592 boxes; less than 4294967296 can be handled");

  auto bad = op;
  bad.framework = "mxnet";
  CHECK(failure_of(bad, proposal_shapes()) ==
        "IR-attribute-value: framework is 'mxnet'; it takes caffe, tensorflow or nothing");
  bad = op;
  bad.post_nms_topn = -1;
  CHECK(
      failure_of(bad, proposal_shapes()) ==
      "IR-attribute-range: base_size is 4, pre_nms_topn is 10 and post_nms_topn is -1; none can be negative");
  bad = op;
  bad.scale.clear();
  CHECK(error_of(bad, proposal_inputs()) ==
        "IR-attribute-size: ratio has 1 values and scale has 0; there are no anchors");
  CHECK(failure_of(bad, with(proposal_shapes(), 0, {1, 3, 1, 2})) ==
        "IR-shape: input 0 has shape [1,3,1,2]: axis 1 holds background and foreground, so it is even");
}

TEST_CASE("GenerateProposals has as many rows as there are results") {
  for (const ElementType counts : {ElementType::i32, ElementType::i64}) {
    op::v9::GenerateProposals op = generate();
    op.roi_num_type = counts;
    const std::vector<Tensor> results = evaluate(op, generate_inputs());
    REQUIRE(results.size() == 3);
    // Cell 1 overlaps cell 2 by 0.9. In image 1 sides of 5 are wanted, and cell 0 has 4.
    check_close(results[0], {3, 4}, {8, 0, 18, 9, 0, 0, 4, 4, 8, 0, 18, 9});
    check_close(results[1], {3}, {0.75F, 0.5F, 0.75F});
    CHECK(results[2].element_type() == counts);
    check_equal<std::int64_t>(results[2].converted(ElementType::i64), {2}, {2, 1});
  }
}

TEST_CASE("GenerateProposals takes scales per axis, pixel indices, and limits") {
  op::v9::GenerateProposals op = generate();
  std::vector<Tensor> inputs = generate_inputs();
  inputs[0] = f32({2, 4}, {20, 20, 1, 10, 20, 20, 10, 1});
  // 10 wide are cells 1 and 2; 10 high is cell 1 only.
  check_close(evaluate(op, inputs)[1], {2}, {0.75F, 0.25F});
  op.normalized = false;
  // Sides have a pixel more: cell 2 is 10 high, too, and an overlap of 10 / 11 is still too much.
  check_close(evaluate(op, inputs)[1], {2}, {0.75F, 0.75F});
  op.nms_threshold = 0.95;
  check_close(evaluate(op, inputs)[1], {4}, {0.75F, 0.25F, 0.75F, 0.25F});
  op.post_nms_count = 1;
  check_close(evaluate(op, inputs)[1], {2}, {0.75F, 0.75F});
  // Small boxes still count before suppression.
  op = generate();
  op.pre_nms_count = 2;
  inputs[3] = f32({2, 1, 1, 3}, {0.5F, 0.25F, 0.75F, 0.75F, 0.5F, 0.25F});
  inputs[0] = f32({2, 3}, {20, 20, 5, 20, 20, 5});
  check_close(evaluate(op, inputs)[1], {2}, {0.75F, 0.5F});
}

TEST_CASE("GenerateProposals lowers the threshold by nms_eta") {
  op::v9::GenerateProposals op = generate();
  op.nms_threshold = 0.95;
  std::vector<Tensor> inputs = generate_inputs();
  check_close(evaluate(op, inputs)[1], {5}, {0.75F, 0.5F, 0.25F, 0.75F, 0.25F});
  op.nms_eta = 0.9;  // 0.95, 0.855: below the overlap of 0.9 before cell 1 is looked at
  check_close(evaluate(op, inputs)[1], {3}, {0.75F, 0.5F, 0.75F});
}

TEST_CASE("GenerateProposals takes f64, f16 and bf16, and no images") {
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    std::vector<Tensor> inputs = generate_inputs();
    for (Tensor& tensor : inputs) tensor = tensor.converted(type);
    const std::vector<Tensor> results = evaluate(generate(), inputs);
    CHECK(results[0].element_type() == type);
    CHECK(results[1].element_type() == type);
    check_close(results[0].converted(ElementType::f32), {3, 4}, {8, 0, 18, 9, 0, 0, 4, 4, 8, 0, 18, 9});
  }
  const std::vector<Tensor> nothing = evaluate(
      generate(),
      std::vector{f32({0, 3}, {}), generate_inputs()[1], f32({0, 4, 1, 3}, {}), f32({0, 1, 1, 3}, {})});
  CHECK(nothing[0].shape() == Shape{0, 4});
  CHECK(nothing[2].shape() == Shape{0});
}

TEST_CASE("The rows of GenerateProposals are bounded by the number of images") {
  const op::v9::GenerateProposals op = generate();
  CHECK(infer_shape(op, generate_shapes()) == PartialShape{Dimension(0, 20), 4});
  CHECK(infer_shape(op, generate_shapes(), 1) == PartialShape{Dimension(0, 20)});
  CHECK(infer_shape(op, generate_shapes(), 2) == PartialShape{2});
  std::vector<ValueInfo> inputs = generate_shapes();
  inputs[0].shape[0] = Dimension(2, 8);
  inputs[2].shape[0] = Dimension(2, 6);
  inputs[3].shape = PartialShape{Dimension(6, 8), Dimension(), Dimension(), 6};
  CHECK(infer_shape(op, inputs) == PartialShape{Dimension(0, 60), 4});
  CHECK(infer_shape(op, inputs, 2) == PartialShape{6});
  for (ValueInfo& info : inputs) info.shape = PartialShape();
  CHECK(infer_shape(op, inputs) == PartialShape{Dimension(), 4});
  CHECK(infer_shape(op, inputs, 2) == PartialShape{Dimension()});
}

TEST_CASE("GenerateProposals refuses what does not fit together") {
  const op::v9::GenerateProposals op = generate();
  CHECK(failure_of(op, {generate_shapes()[0]}) == "IR-input-count: has 1 inputs, GenerateProposals takes 4");
  CHECK(failure_of(op, with(generate_shapes(), 0, {2, 2})) ==
        "IR-shape: input 0 has shape [2,2]: axis 1 is 2, but the number of image sizes is 3..4");
  CHECK(failure_of(op, with(generate_shapes(), 1, {5, 6, 3, 5})) ==
        "IR-shape: input 1 has shape [5,6,3,5]: axis 3 is 5, but the size of a box is 4");
  CHECK(failure_of(op, with(generate_shapes(), 2, {2, 9, 5, 6})) ==
        "IR-shape: input 2 has shape [2,9,5,6]: axis 1 is 9, but 4 * the number of anchors is 12");
  CHECK(failure_of(op, with(generate_shapes(), 3, {3, 3, 5, 6})) ==
        "IR-shape: input 3 has shape [3,3,5,6]: axis 0 is 3, but the number of images is 2");
  std::vector<ValueInfo> mixed = generate_shapes();
  mixed[3].type = ElementType::f64;
  CHECK(failure_of(op, mixed) ==
        "IR-element-type: inputs 0 and 3 are of types f32 and f64, GenerateProposals takes one type");
  auto bad = op;
  bad.roi_num_type = ElementType::u8;
  CHECK(failure_of(bad, generate_shapes()) == "IR-attribute-value: roi_num_type is u8; it takes i32 or i64");
  bad = op;
  bad.pre_nms_count = -1;
  CHECK(failure_of(bad, generate_shapes()) ==
        "IR-attribute-range: pre_nms_count is -1 and post_nms_count is 10; none can be negative");
}

}  // namespace ir::test
