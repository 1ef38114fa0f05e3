#include "ir_runtime/ops/proposal.h"

#include <algorithm>

#include "ir_runtime/diagnostics.h"
#include "kernels/detection/proposals.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/proposal_limits.h"
#include "runtime/ops/reused.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/sizes.h"

namespace ir::op {
namespace {

constexpr std::string_view kTensorflow = "tensorflow";

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

// Rows of the output.
Dimension infer_rows(InferContext& context, const ProposalAttributes& op) {
  context.require_inputs(3);
  for (std::size_t i = 0; i < 3; ++i) context.require_real(i);
  context.require(
      op.base_size >= 0 && op.pre_nms_topn >= 0 && op.post_nms_topn >= 0, "IR-attribute-range",
      {.found = std::min({op.base_size, op.pre_nms_topn, op.post_nms_topn}), .expected = "at least 0"},
      "base_size is {}, pre_nms_topn is {} and post_nms_topn is {}; none can be negative", op.base_size,
      op.pre_nms_topn, op.post_nms_topn);
  context.require(op.framework.empty() || op.framework == "caffe" || op.framework == kTensorflow,
                  "IR-attribute-value",
                  {.found = words("'{}'", op.framework), .expected = "caffe, tensorflow or nothing"},
                  "framework is '{}'; it takes caffe, tensorflow or nothing", op.framework);
  SharedDim images{"the number of images", {}};
  SharedDim probabilities{"the number of probabilities of a cell", {}};
  SharedDim deltas{"4 * the number of anchors", {}};
  SharedDim height{"the height", {}};
  SharedDim width{"the width", {}};
  SharedDim image{"the number of image sizes", {3, 4}};
  // Without ratios or scales shapes can be inferred still, as OpenVINO does; running fails.
  const auto anchors = static_cast<std::int64_t>(op.ratio.size() * op.scale.size());
  if (anchors != 0) probabilities = {"2 * the number of ratios and scales", Dimension(anchors * 2)};
  unify(context, 0, {&images, &probabilities, &height, &width});
  const Dimension& found = probabilities.value;
  context.require(!found.is_static() || found.value() % 2 == 0, "IR-shape",
                  {.found = found,
                   .expected = "an even number",
                   .rule = "axis 1 holds background and foreground",
                   .input = 0},
                  "input 0 has shape {}: axis 1 holds background and foreground, so it is even",
                  context.shape(0));
  deltas.value = found * Dimension(2);
  unify(context, 1, {&images, &deltas, &height, &width});
  unify(context, 2, {&image});
  require_few_boxes(context, height.value * width.value * found);

  const Dimension rows = images.value * Dimension(op.post_nms_topn);
  if (context.explaining()) {
    const std::string rule = fmt::format("images * post_nms_topn: {} * {} = {}", to_string(images.value),
                                         op.post_nms_topn, to_string(rows));
    context.explain(0, 0, rule);
  }
  context.set_output(0, context.type(0), PartialShape{rows, 5});
  return rows;
}

kernels::ProposalParams params_of(const PrepareContext& context, const ProposalAttributes& op) {
  if (op.ratio.empty() || op.scale.empty()) {
    throw Error("IR-attribute-size", fmt::format("ratio has {} values and scale has {}; there are no anchors",
                                                 op.ratio.size(), op.scale.size()));
  }
  kernels::ProposalParams params;
  params.images = size_of(context.shape(0)[0]);
  params.height = size_of(context.shape(0)[2]);
  params.width = size_of(context.shape(0)[3]);
  params.framework = op.framework == kTensorflow ? kernels::ProposalFramework::tensorflow
                                                 : kernels::ProposalFramework::caffe;
  params.anchors = kernels::proposal_anchors(static_cast<float>(op.base_size), floats(op.ratio),
                                             floats(op.scale), params.framework);
  params.feat_stride = static_cast<float>(op.feat_stride);
  params.min_size = static_cast<float>(op.min_size);
  params.box_coordinate_scale = static_cast<float>(op.box_coordinate_scale);
  params.box_size_scale = static_cast<float>(op.box_size_scale);
  params.clip_before_nms = op.clip_before_nms;
  params.clip_after_nms = op.clip_after_nms;
  params.normalize = op.normalize;
  params.pre_nms_topn = size_of(op.pre_nms_topn);
  params.post_nms_topn = size_of(op.post_nms_topn);
  params.nms_thresh = static_cast<float>(op.nms_thresh);
  return params;
}

PreparedKernel prepare_proposal(const PrepareContext& context, const ProposalAttributes& op) {
  if (!context.outputs_static() || context.output_size() == 0) return nothing_to_do("proposal");
  PreparedKernel prepared;
  prepared.name = "proposal";
  prepared.run = [params = params_of(context, op), scales = context.size(2) - 2,
                  scratch = std::make_shared<Reused<kernels::ProposalsScratch>>()](const StepMemory& memory) {
    const float* image = memory.in<float>(2);
    const kernels::ProposalInputs inputs{
        memory.in<float>(0), memory.in<float>(1), image[0], image[1], image[2], image[1 + scales]};
    float* probabilities = memory.outputs.size() > 1 ? memory.out<float>(1) : nullptr;
    scratch->with([&](kernels::ProposalsScratch& taken) {
      kernels::proposal(params, inputs, memory.out<float>(0), probabilities, taken);
    });
  };
  return computed_in_f32(context, std::move(prepared));
}

enum Port : std::size_t { kImageInfo, kAnchors, kDeltas, kScores };

kernels::ImageProposalsParams params_of(const PrepareContext& context, const v9::GenerateProposals& op) {
  const Shape& scores = context.shape(kScores);
  kernels::ImageProposalsParams params;
  params.cells = size_of(scores[2]) * size_of(scores[3]);
  params.anchors = size_of(scores[1]);
  params.pre_nms_count = size_of(op.pre_nms_count);
  params.post_nms_count = size_of(op.post_nms_count);
  params.nms_threshold = static_cast<float>(op.nms_threshold);
  params.nms_eta = static_cast<float>(op.nms_eta);
  params.extent = params.nms_extent = op.normalized ? 0.0F : 1.0F;
  return params;
}

// What all images together give.
struct Found {
  std::vector<float> boxes;
  std::vector<float> scores;
  std::vector<std::int64_t> counts;
};

// Inputs are f32: [images, 3 or 4] image sizes, then those of one image after the other.
Found find_proposals(const kernels::ImageProposalsParams& params, float min_size,
                     std::span<const Tensor> inputs) {
  Found found;
  kernels::ProposalsScratch scratch;
  const auto info_size = static_cast<std::size_t>(inputs[kImageInfo].shape()[1]);
  const std::size_t boxes = params.cells * params.anchors;
  for (std::size_t i = 0; i < static_cast<std::size_t>(inputs[kImageInfo].shape()[0]); ++i) {
    const float* image = inputs[kImageInfo].data<float>().data() + i * info_size;
    kernels::ImageProposalsInputs one;
    one.anchors = inputs[kAnchors].data<float>().data();
    one.deltas = inputs[kDeltas].data<float>().data() + i * boxes * 4;
    one.scores = inputs[kScores].data<float>().data() + i * boxes;
    one.image_height = image[0];
    one.image_width = image[1];
    one.min_height = min_size * image[2];
    one.min_width = min_size * image[info_size - 1];
    const std::size_t count = kernels::select_proposals(params, one, scratch);
    const std::size_t before = found.scores.size();
    found.boxes.resize(4 * (before + count));
    found.scores.resize(before + count);
    kernels::write_proposals(scratch, count, count, found.boxes.data() + 4 * before,
                             found.scores.data() + before);
    found.counts.push_back(static_cast<std::int64_t>(count));
  }
  return found;
}

}  // namespace

void v0::Proposal::infer(InferContext& context) const { infer_rows(context, *this); }
PreparedKernel v0::Proposal::prepare(PrepareContext& context) const {
  return prepare_proposal(context, *this);
}

void v4::Proposal::infer(InferContext& context) const {
  const Dimension rows = infer_rows(context, *this);
  context.set_output(1, context.type(0), PartialShape{rows});
}
PreparedKernel v4::Proposal::prepare(PrepareContext& context) const {
  return prepare_proposal(context, *this);
}

void v9::GenerateProposals::infer(InferContext& context) const {
  context.require_inputs(4);
  for (std::size_t i = 0; i < 4; ++i) context.require_real(i);
  const ElementType type = context.require_same_type({kImageInfo, kAnchors, kDeltas, kScores});
  require_counts(context, pre_nms_count, post_nms_count);
  require_type_of_indices(context, "roi_num_type", roi_num_type);
  SharedDim images{"the number of images", {}};
  SharedDim image_sizes{"the number of image sizes", {3, 4}};
  SharedDim height{"the height", {}};
  SharedDim width{"the width", {}};
  SharedDim anchors{"the number of anchors", {}};
  SharedDim coordinates{"the size of a box", 4};
  unify(context, kImageInfo, {&images, &image_sizes});
  unify(context, kAnchors, {&height, &width, &anchors, &coordinates});
  unify(context, kScores, {&images, &anchors, &height, &width});
  SharedDim deltas{"4 * the number of anchors", anchors.value * Dimension(4)};
  unify(context, kDeltas, {&images, &deltas, &height, &width});
  require_few_boxes(context, height.value * width.value * anchors.value);
  const Dimension rows(0, (images.value * Dimension(post_nms_count)).max());
  context.set_output(0, type, PartialShape{rows, 4});
  context.set_output(1, type, PartialShape{rows});
  context.set_output(2, roi_num_type, PartialShape{images.value});
}

PreparedKernel v9::GenerateProposals::prepare(PrepareContext& context) const {
  PreparedKernel prepared;
  prepared.name = "generate_proposals";
  prepared.run_dynamic = [params = params_of(context, *this), min = static_cast<float>(min_size),
                          count_type = roi_num_type](std::span<const Tensor> inputs) {
    const ElementType type = inputs[kScores].element_type();
    std::vector<Tensor> narrow(inputs.begin(), inputs.end());
    for (Tensor& tensor : narrow) tensor = in_f32(tensor);
    const Found found = find_proposals(params, min, narrow);
    const auto rows = static_cast<std::int64_t>(found.scores.size());
    const auto images = static_cast<std::int64_t>(found.counts.size());
    std::vector<Tensor> outputs{Tensor::of<float>({rows, 4}, std::span(found.boxes)),
                                Tensor::of<float>({rows}, std::span(found.scores)),
                                Tensor::of<std::int64_t>({images}, std::span(found.counts))};
    if (type != ElementType::f32) {
      for (const std::size_t i : {0, 1}) outputs[i] = outputs[i].converted(type);
    }
    if (count_type != ElementType::i64) outputs[2] = outputs[2].converted(count_type);
    return outputs;
  };
  return prepared;
}

}  // namespace ir::op
