// MulticlassNms and MatrixNms.
#include "ir_runtime/ops/multiclass_nms.h"

#include <algorithm>
#include <limits>

#include "ir_runtime/diagnostics.h"
#include "kernels/detection/multiclass_nms.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr std::int64_t kMaxBoxes = std::numeric_limits<std::uint32_t>::max();

enum Port : std::size_t { kBoxes, kScores, kRoisNum };

// Boxes and scores have one type by the specification, but OpenVINO wrote models where they have not: the
// results have the wider one then.
ElementType result_type(const InferContext& context) {
  const ElementType boxes = context.type(kBoxes);
  const ElementType scores = context.type(kScores);
  if (boxes == scores) return boxes;
  if (boxes == ElementType::f64 || scores == ElementType::f64) return ElementType::f64;
  // The other one may turn out to be the wider one.
  const bool open = boxes == ElementType::dynamic || scores == ElementType::dynamic;
  return open ? ElementType::dynamic : ElementType::f32;
}

void infer_selection(InferContext& context, const SelectionAttributes& op, std::size_t max_inputs) {
  context.require_inputs(2, max_inputs);
  context.require_real(kBoxes);
  context.require_real(kScores);
  require_type_of_indices(context, "output_type", op.output_type);
  SharedDim images{"the number of images", {}};
  SharedDim classes{"the number of classes", {}};
  SharedDim boxes{"the number of boxes", {}};
  SharedDim coordinates{"the size of a box", 4};
  if (context.input_count() > kRoisNum) {
    context.require_integer(kRoisNum);
    unify(context, kBoxes, {&classes, &boxes, &coordinates});
    unify(context, kScores, {&classes, &boxes});
    unify(context, kRoisNum, {&images});
  } else {
    unify(context, kBoxes, {&images, &boxes, &coordinates});
    unify(context, kScores, {&images, &classes, &boxes});
  }
  context.require(boxes.value.min() <= kMaxBoxes, "IR-shape",
                  {.found = boxes.value, .expected = words("at most {}", kMaxBoxes), .input = kBoxes},
                  "input 0 has {} boxes; at most {} can be handled", boxes.value, kMaxBoxes);
  Dimension most = boxes.value;
  if (op.nms_top_k >= 0) most = element_minimum(most, op.nms_top_k);
  most = most * classes.value;
  if (op.keep_top_k >= 0) most = element_minimum(most, op.keep_top_k);
  most = most * images.value;
  const Dimension rows(0, most.max());
  context.set_output(0, result_type(context), PartialShape{rows, 6});
  context.set_output(1, op.output_type, PartialShape{rows, 1});
  context.set_output(2, op.output_type, PartialShape{images.value});
}

kernels::MulticlassLimits limits_of(const SelectionAttributes& op) {
  const auto count = [](std::int64_t k) { return k < 0 ? SIZE_MAX : static_cast<std::size_t>(k); };
  kernels::MulticlassLimits limits;
  limits.score_threshold = static_cast<float>(op.score_threshold);
  limits.normalized = op.normalized;
  limits.max_candidates = count(op.nms_top_k);
  limits.max_per_image = count(op.keep_top_k);
  limits.background = op.background_class;
  return limits;
}

// Where each image starts in all rows, and the end.
std::vector<std::size_t> starts_of_equal(std::size_t images, std::size_t boxes) {
  std::vector<std::size_t> starts(images + 1);
  for (std::size_t i = 0; i < images; ++i) starts[i + 1] = starts[i] + boxes;
  return starts;
}

std::vector<std::size_t> starts_of(const Tensor& rois_num, std::size_t boxes) {
  const kernels::IndexView counts = index_view(rois_num.element_type(), rois_num.raw());
  std::vector<std::size_t> starts{0};
  for (std::size_t i = 0; i < static_cast<std::size_t>(rois_num.size()); ++i) {
    // As in OpenVINO, what is below 0 stands for no boxes.
    const std::int64_t count = std::max<std::int64_t>(counts[i], 0);
    if (std::cmp_greater(count, boxes - starts.back())) {
      throw Error("IR-value", fmt::format("input 2 asks for {} boxes of image {}, {} of {} are left", count,
                                          i, boxes - starts.back(), boxes));
    }
    starts.push_back(starts.back() + static_cast<std::size_t>(count));
  }
  return starts;
}

/// Runs `select`(MulticlassInput), which returns the selection in its final order.
template <class Select>
std::vector<Tensor> run_selection(std::span<const Tensor> inputs, ElementType output_type, ElementType type,
                                  const Select& select) {
  const Tensor boxes = in_f32(inputs[kBoxes]);
  const Tensor scores = in_f32(inputs[kScores]);
  const bool own_boxes = inputs.size() > kRoisNum;
  const std::int64_t images = own_boxes ? inputs[kRoisNum].size() : scores.shape()[0];
  // First, for it fails where there are too many images.
  Tensor counts(output_type, {images});

  kernels::MulticlassInput input;
  input.boxes = static_cast<const float*>(boxes.raw());
  input.scores = static_cast<const float*>(scores.raw());
  input.shared_boxes = !own_boxes;
  input.classes = static_cast<std::size_t>(scores.shape()[own_boxes ? 0 : 1]);
  input.scores_per_class = static_cast<std::size_t>(scores.shape()[own_boxes ? 1 : 2]);
  const std::vector<std::size_t> starts =
      own_boxes ? starts_of(inputs[kRoisNum], input.scores_per_class)
                : starts_of_equal(static_cast<std::size_t>(images), input.scores_per_class);
  input.starts = starts;

  const kernels::MulticlassSelection selection = select(input);
  const auto rows = static_cast<std::int64_t>(selection.boxes.size());
  Tensor outputs(ElementType::f32, {rows, 6});
  Tensor indices(output_type, {rows, 1});
  with_index_type(output_type, [&]<class Index>() {
    kernels::write_selection(input, selection, outputs.data<float>().data(), indices.data<Index>().data(),
                             counts.data<Index>().data());
  });
  if (type != ElementType::f32) outputs = outputs.converted(type);
  return {outputs, indices, counts};
}

/// `select`(MulticlassInput) returns the selection by image and score.
template <class Select>
PreparedKernel prepare_selection(const PrepareContext& context, const char* name,
                                 const SelectionAttributes& op, Select select) {
  if (context.input_count() > kRoisNum) require_index_type(context, kRoisNum);
  PreparedKernel prepared;
  prepared.name = name;
  prepared.run_dynamic = [select, type = context.output(0).type,
                          output_type = op.output_type](std::span<const Tensor> inputs) {
    return run_selection(inputs, output_type, type, select);
  };
  return prepared;
}

PreparedKernel prepare_multiclass(const PrepareContext& context, const MulticlassNmsAttributes& op) {
  kernels::MulticlassNmsParams params;
  params.limits = limits_of(op);
  params.iou_threshold = static_cast<float>(op.iou_threshold);
  params.eta = static_cast<float>(op.nms_eta);
  const auto select = [params, sort = op.sort_result_type,
                       across = op.sort_result_across_batch](const kernels::MulticlassInput& input) {
    auto selection = kernels::multiclass_nms(input, params);
    const auto scope = across ? kernels::SortScope::batch : kernels::SortScope::image;
    if (sort == SelectionSort::label) sort_selection(selection, kernels::SelectedOrder::label, scope);
    if (sort == SelectionSort::score) sort_selection(selection, kernels::SelectedOrder::score, scope);
    return selection;
  };
  return prepare_selection(context, "multiclass_nms", op, select);
}

}  // namespace

void v8::MulticlassNms::infer(InferContext& context) const { infer_selection(context, *this, 2); }
PreparedKernel v8::MulticlassNms::prepare(PrepareContext& context) const {
  return prepare_multiclass(context, *this);
}

void v9::MulticlassNms::infer(InferContext& context) const { infer_selection(context, *this, 3); }
PreparedKernel v9::MulticlassNms::prepare(PrepareContext& context) const {
  return prepare_multiclass(context, *this);
}

void v8::MatrixNms::infer(InferContext& context) const { infer_selection(context, *this, 2); }
PreparedKernel v8::MatrixNms::prepare(PrepareContext& context) const {
  kernels::MatrixNmsParams params;
  params.limits = limits_of(*this);
  params.decay = decay_function == DecayFunction::linear ? kernels::DecayFunction::linear
                                                         : kernels::DecayFunction::gaussian;
  params.gaussian_sigma = static_cast<float>(gaussian_sigma);
  params.post_threshold = static_cast<float>(post_threshold);
  const auto select = [params, sort = sort_result_type,
                       across = sort_result_across_batch](const kernels::MulticlassInput& input) {
    auto selection = kernels::matrix_nms(input, params);
    // Within images OpenVINO (reference code and CPU plugin) sorts by score, whatever is asked for.
    if (!across || sort == SelectionSort::none) return selection;
    const auto order =
        sort == SelectionSort::label ? kernels::SelectedOrder::label : kernels::SelectedOrder::score;
    sort_selection(selection, order, kernels::SortScope::batch);
    return selection;
  };
  return prepare_selection(context, "matrix_nms", *this, select);
}

}  // namespace ir::op
