#include "ir_runtime/ops/experimental_detectron.h"

#include <limits>

#include "kernels/detection/detectron.h"
#include "kernels/detection/proposals.h"
#include "kernels/reduction/topk.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/proposal_limits.h"
#include "runtime/ops/reused.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/sizes.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr std::int64_t kMaxRois = (std::int64_t{1} << 31) - 1;

// The real type of all inputs.
template <std::size_t... Index>
ElementType require_one_real_type(const InferContext& context, std::index_sequence<Index...>) {
  context.require_inputs(sizeof...(Index));
  (context.require_real(Index), ...);
  return context.require_same_type({Index...});
}

template <std::size_t kInputs>
ElementType require_one_real_type(const InferContext& context) {
  return require_one_real_type(context, std::make_index_sequence<kInputs>());
}

}  // namespace

void v6::ExperimentalDetectronDetectionOutput::infer(InferContext& context) const {
  const ElementType type = require_one_real_type<4>(context);
  require_range(context, "num_classes", num_classes, 1, kMaxProposedBoxes - 1);
  require_at_least(context, "max_detections_per_image", max_detections_per_image, 0);
  context.require(deltas_weights.size() == 4, "IR-attribute-size",
                  {.found = deltas_weights.size(), .expected = "4"},
                  "deltas_weights has {} values; it takes four", deltas_weights.size());
  SharedDim rois{"the number of regions", {}};
  SharedDim coordinates{"the size of a box", 4};
  SharedDim deltas{"4 * num_classes", Dimension(num_classes * 4)};
  SharedDim classes{"num_classes", Dimension(num_classes)};
  SharedDim image{"the number of images", 1};
  SharedDim image_sizes{"the number of image sizes", 3};
  unify(context, 0, {&rois, &coordinates});
  unify(context, 1, {&rois, &deltas});
  unify(context, 2, {&rois, &classes});
  unify(context, 3, {&image, &image_sizes});
  require_few_boxes(context, rois.value * classes.value);
  context.set_output(0, type, PartialShape{max_detections_per_image, 4});
  context.set_output(1, ElementType::i32, PartialShape{max_detections_per_image});
  context.set_output(2, type, PartialShape{max_detections_per_image});
}

PreparedKernel v6::ExperimentalDetectronDetectionOutput::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("detectron_output");
  kernels::DetectronOutputParams params;
  params.rois = size_of(context.shape(0)[0]);
  params.classes = size_of(num_classes);
  params.score_threshold = static_cast<float>(score_threshold);
  params.nms_threshold = static_cast<float>(nms_threshold);
  params.max_delta_log_wh = static_cast<float>(max_delta_log_wh);
  for (std::size_t i = 0; i < 4; ++i) params.deltas_weights[i] = static_cast<float>(deltas_weights[i]);
  params.post_nms_count =
      post_nms_count < 0 ? std::numeric_limits<std::size_t>::max() : size_of(post_nms_count);
  params.max_detections = size_of(max_detections_per_image);
  PreparedKernel prepared;
  prepared.name = "detectron_output";
  prepared.run = [params, scratch = std::make_shared<Reused<kernels::DetectronOutputScratch>>()](
                     const StepMemory& memory) {
    const kernels::DetectronOutputInputs inputs{memory.in<float>(0), memory.in<float>(1),
                                                memory.in<float>(2)};
    scratch->with([&](kernels::DetectronOutputScratch& taken) {
      kernels::detectron_output(params, inputs, memory.out<float>(0), memory.out<std::int32_t>(1),
                                memory.out<float>(2), taken);
    });
  };
  return computed_in_f32(context, std::move(prepared));
}

void v6::ExperimentalDetectronGenerateProposalsSingleImage::infer(InferContext& context) const {
  const ElementType type = require_one_real_type<4>(context);
  require_counts(context, pre_nms_count, post_nms_count);
  SharedDim image_sizes{"the number of image sizes", 3};
  SharedDim anchors{"the number of anchors", {}};
  SharedDim height{"the height", {}};
  SharedDim width{"the width", {}};
  SharedDim coordinates{"the size of a box", 4};
  unify(context, 0, {&image_sizes});
  unify(context, 3, {&anchors, &height, &width});
  SharedDim deltas{"4 * the number of anchors", anchors.value * Dimension(4)};
  unify(context, 2, {&deltas, &height, &width});
  const Dimension boxes = height.value * width.value * anchors.value;
  SharedDim all{"the number of anchors of all cells", boxes};
  unify(context, 1, {&all, &coordinates});
  require_few_boxes(context, boxes);
  context.set_output(0, type, PartialShape{post_nms_count, 4});
  context.set_output(1, type, PartialShape{post_nms_count});
}

PreparedKernel v6::ExperimentalDetectronGenerateProposalsSingleImage::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("generate_proposals");
  const Shape& scores = context.shape(3);
  kernels::ImageProposalsParams params;
  params.cells = size_of(scores[1]) * size_of(scores[2]);
  params.anchors = size_of(scores[0]);
  params.pre_nms_count = size_of(pre_nms_count);
  params.post_nms_count = size_of(post_nms_count);
  params.nms_threshold = static_cast<float>(nms_threshold);
  // As OpenVINO does: the sides of a box are a pixel longer where it moves, not where it overlaps.
  params.extent = 1;
  params.nms_extent = 0;
  params.keep_small = true;
  PreparedKernel prepared;
  prepared.name = "generate_proposals";
  prepared.run = [params, min = static_cast<float>(min_size),
                  scratch = std::make_shared<Reused<kernels::ProposalsScratch>>()](const StepMemory& memory) {
    const float* image = memory.in<float>(0);
    const kernels::ImageProposalsInputs inputs{
        memory.in<float>(1), memory.in<float>(2), memory.in<float>(3), image[0], image[1], min, min};
    scratch->with([&](kernels::ProposalsScratch& taken) {
      const std::size_t count = kernels::select_proposals(params, inputs, taken);
      kernels::write_proposals(taken, count, params.post_nms_count, memory.out<float>(0),
                               memory.out<float>(1));
    });
  };
  return computed_in_f32(context, std::move(prepared));
}

void v6::ExperimentalDetectronPriorGridGenerator::infer(InferContext& context) const {
  const ElementType type = require_one_real_type<3>(context);
  SharedDim priors{"the number of priors", {}};
  SharedDim coordinates{"the size of a box", 4};
  SharedDim images{"the number of images", {}};
  SharedDim height{"the height", {}};
  SharedDim width{"the width", {}};
  SharedDim channels{"the number of channels", {}};
  // The text wants as many channels in the image; OpenVINO does not, and models differ.
  SharedDim image_channels = channels;
  SharedDim image_height = height;
  SharedDim image_width = width;
  unify(context, 0, {&priors, &coordinates});
  unify(context, 1, {&images, &channels, &height, &width});
  unify(context, 2, {&images, &image_channels, &image_height, &image_width});
  for (const auto& [name, length, dim] : {std::tuple{"h", h, height.value}, {"w", w, width.value}}) {
    require_at_least(context, name, length, 0);
    context.require(
        length <= dim.max(), "IR-attribute-range",
        {.found = length, .expected = words("up to {}", dim), .rule = "the size of the feature map"},
        "{} is {}; it takes up to {}, the size of the feature map", name, length, dim);
  }
  if (!flatten) {
    context.set_output(0, type, PartialShape{height.value, width.value, priors.value, 4});
    return;
  }
  const Dimension rows = height.value * width.value * priors.value;
  if (context.explaining()) {
    context.explain(0, 0,
                    fmt::format("height * width * priors: {} * {} * {} = {}", to_string(height.value),
                                to_string(width.value), to_string(priors.value), to_string(rows)));
  }
  context.set_output(0, type, PartialShape{rows, 4});
}

PreparedKernel v6::ExperimentalDetectronPriorGridGenerator::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("prior_grid");
  const Shape& map = context.shape(1);
  const Shape& image = context.shape(2);
  kernels::PriorGridParams params;
  params.priors = size_of(context.shape(0)[0]);
  params.height = size_of(h != 0 ? h : map[2]);
  params.width = size_of(w != 0 ? w : map[3]);
  params.boxes = context.output_size() / 4;
  const auto step = [](double given, std::int64_t length, std::size_t cells) {
    return given != 0 ? static_cast<float>(given) : static_cast<float>(length) / static_cast<float>(cells);
  };
  params.step_y = step(stride_y, image[2], params.height);
  params.step_x = step(stride_x, image[3], params.width);
  PreparedKernel prepared;
  prepared.name = "prior_grid";
  const bool found = with_real_type(context.type(0), [&]<class T>() {
    prepared.run = [params](const StepMemory& memory) {
      kernels::prior_grid(params, memory.in<T>(0), memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported("ExperimentalDetectronPriorGridGenerator of this element type");
  return prepared;
}

void v6::ExperimentalDetectronTopKROIs::infer(InferContext& context) const {
  const ElementType type = require_one_real_type<2>(context);
  require_at_least(context, "max_rois", max_rois, 0);
  SharedDim rois{"the number of regions", {}};
  SharedDim coordinates{"the size of a box", 4};
  unify(context, 0, {&rois, &coordinates});
  unify(context, 1, {&rois});
  context.require(rois.value.min() <= kMaxRois, "IR-shape",
                  {.found = rois.value, .expected = words("at most {}", kMaxRois), .input = 0},
                  "input 0 has {} regions; at most {} can be searched", rois.value, kMaxRois);
  context.set_output(0, type, PartialShape{max_rois, 4});
}

PreparedKernel v6::ExperimentalDetectronTopKROIs::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("top_rois");
  kernels::TopKParams params;
  params.axis = size_of(context.shape(1)[0]);
  const std::size_t rows = size_of(max_rois);
  params.k = std::min(rows, params.axis);
  PreparedKernel prepared;
  prepared.name = "top_rois";
  const bool found = with_real_type(context.type(0), [&]<class T>() {
    // The order, then what the search needs, from a border of 8 bytes on.
    const std::size_t order_bytes = (params.k * sizeof(std::int32_t) + 7) / 8 * 8;
    prepared.scratch_bytes = order_bytes + kernels::top_k_scratch_bytes<T>(params);
    prepared.run = [params, rows, order_bytes](const StepMemory& memory) {
      auto* order = reinterpret_cast<std::int32_t*>(memory.scratch);
      if (params.k > 0) {
        kernels::top_k<T, std::int32_t>(params, memory.in<T>(1), nullptr, order,
                                        memory.scratch + order_bytes);
      }
      kernels::take_boxes(memory.in<T>(0), order, params.k, rows, memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported("ExperimentalDetectronTopKROIs of this element type");
  return prepared;
}

}  // namespace ir::op
