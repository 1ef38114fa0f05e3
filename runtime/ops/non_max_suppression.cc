// NonMaxSuppression and NMSRotated.
#include <algorithm>
#include <functional>
#include <limits>

#include "ir_runtime/ops/nms_rotated.h"
#include "ir_runtime/ops/sort.h"
#include "kernels/detection/nms.h"
#include "kernels/detection/rotated_boxes.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr std::int64_t kMaxBoxes = std::numeric_limits<std::uint32_t>::max();

enum Port : std::size_t { kBoxes, kScores, kMaxPerClass, kIouThreshold, kScoreThreshold, kSigma };

struct NmsSizes {
  SharedDim batches{"the number of batches", {}};
  SharedDim classes{"the number of classes", {}};
  SharedDim boxes{"the number of boxes", {}};
};

Dimension lesser(const Dimension& a, const Dimension& b) {
  return {std::min(a.min(), b.min()), std::min(a.max(), b.max())};
}

// The largest number of boxes per class, as far as it is known; none is selected when it is negative.
Dimension max_per_class(const InferContext& context) {
  if (context.input_count() <= kMaxPerClass) return 0;
  const auto elements = context.elements(kMaxPerClass);
  if (!elements || elements->size() != 1) return {};
  const Dimension& given = elements->front();
  return {std::max<std::int64_t>(given.min(), 0), std::max<std::int64_t>(given.max(), 0)};
}

struct NmsSignature {
  std::size_t min_inputs = 2;
  std::size_t max_inputs = 6;
  std::int64_t box_size = 4;
};

NmsSizes checked_sizes(const InferContext& context, ElementType output_type, const NmsSignature& signature) {
  context.require_inputs(signature.min_inputs, signature.max_inputs);
  context.require_real(kBoxes);
  context.require_real(kScores);
  if (context.input_count() > kMaxPerClass) context.require_integer(kMaxPerClass);
  for (std::size_t i = kMaxPerClass; i < context.input_count(); ++i) {
    if (i != kMaxPerClass) context.require_real(i);
    require_one_element(context, i);
  }
  require_type_of_indices(context, "output_type", output_type);
  NmsSizes sizes;
  SharedDim coordinates{"the size of a box", signature.box_size};
  unify(context, kBoxes, {&sizes.batches, &sizes.boxes, &coordinates});
  unify(context, kScores, {&sizes.batches, &sizes.classes, &sizes.boxes});
  const Dimension& boxes = sizes.boxes.value;
  context.require(boxes.min() <= kMaxBoxes, "IR-shape",
                  {.found = boxes, .expected = words("at most {}", kMaxBoxes), .input = kBoxes},
                  "input 0 has {} boxes; at most {} can be handled", boxes, kMaxBoxes);
  return sizes;
}

// Versions 1 and 3 do not count batches, and take the least of all boxes and all classes' boxes.
void infer_bounded_by_classes(InferContext& context, const NonMaxSuppressionAttributes& op) {
  const NmsSizes sizes = checked_sizes(context, op.output_type, {.max_inputs = 5});
  const Dimension most = max_per_class(context) * sizes.classes.value;
  const Dimension rows = lesser(sizes.boxes.value, most);
  if (context.explaining() && rows.is_static()) {
    context.explain(
        0, 0, fmt::format("min({}, {}) = {}", to_string(sizes.boxes.value), to_string(most), rows.value()));
  }
  context.set_output(0, op.output_type, PartialShape{rows, 3});
}

Dimension most_rows(const InferContext& context, const NmsSizes& sizes) {
  return lesser(sizes.boxes.value, max_per_class(context)) * sizes.batches.value * sizes.classes.value;
}

void infer_selected(InferContext& context, ElementType output_type, const NmsSignature& signature) {
  const Dimension most = most_rows(context, checked_sizes(context, output_type, signature));
  const PartialShape rows{Dimension(0, most.max()), 3};
  context.set_output(0, output_type, rows);
  context.set_output(1, ElementType::f32, rows);
  context.set_output(2, output_type, PartialShape{1});
}

// The first element of an input of any arithmetic type.
double first_element(const void* data, ElementType type) {
  double value = 0;
  with_arithmetic_type(type, [&]<class T>() { value = static_cast<double>(*static_cast<const T*>(data)); });
  return value;
}

/// All inputs of one run.
struct NmsInput {
  const float* boxes = nullptr;
  const float* scores = nullptr;
  std::size_t batches = 0;
  std::size_t classes = 0;
  std::size_t count = 0;
  std::int64_t max_per_class = 0;
  float iou_threshold = 0;
  float score_threshold = 0;
  float sigma = 0;
};

using Select = std::function<std::vector<kernels::SelectedBox>(const NmsInput&)>;

/// Everything about one node but its data.
class Suppression {
 public:
  Suppression(const PrepareContext& context, Select select) : select_(std::move(select)) {
    const Shape& scores = context.shape(kScores);
    sizes_.batches = static_cast<std::size_t>(scores[0]);
    sizes_.classes = static_cast<std::size_t>(scores[1]);
    sizes_.count = static_cast<std::size_t>(scores[2]);
    for (std::size_t i = 0; i < context.input_count(); ++i) {
      types_.push_back(context.type(i) == ElementType::f64 ? ElementType::f32 : context.type(i));
    }
  }

  /// `inputs` are those of the node, with f32 in the place of f64.
  [[nodiscard]] std::vector<kernels::SelectedBox> run(std::span<const void* const> inputs) const {
    const auto scalar = [&](Port port) {
      return port < inputs.size() ? first_element(inputs[port], types_[port]) : 0.0;
    };
    NmsInput input = sizes_;
    input.boxes = static_cast<const float*>(inputs[kBoxes]);
    input.scores = static_cast<const float*>(inputs[kScores]);
    // Beyond the number of boxes the limit says nothing, and any integer type fits.
    input.max_per_class =
        static_cast<std::int64_t>(std::clamp(scalar(kMaxPerClass), 0.0, static_cast<double>(input.count)));
    input.iou_threshold = static_cast<float>(scalar(kIouThreshold));
    input.score_threshold = static_cast<float>(scalar(kScoreThreshold));
    input.sigma = static_cast<float>(scalar(kSigma));
    return select_(input);
  }

 private:
  NmsInput sizes_;
  std::vector<ElementType> types_;
  Select select_;
};

Suppression suppression_of(const PrepareContext& context, const NonMaxSuppressionAttributes& op,
                           bool version_9) {
  kernels::NonMaxSuppressionParams fixed;
  fixed.encoding =
      op.box_encoding == BoxEncoding::corner ? kernels::BoxEncoding::corner : kernels::BoxEncoding::center;
  fixed.sort_result_descending = op.sort_result_descending;
  fixed.suppress_at_threshold = !version_9;
  fixed.soft_suppresses_by_iou = !version_9;
  return Suppression(context, [fixed](const NmsInput& input) {
    kernels::NonMaxSuppressionParams params = fixed;
    params.max_output_boxes_per_class = input.max_per_class;
    params.iou_threshold = input.iou_threshold;
    params.score_threshold = input.score_threshold;
    params.soft_nms_sigma = input.sigma;
    return kernels::non_max_suppression(input.boxes, input.scores, input.batches, input.classes, input.count,
                                        params);
  });
}

Suppression suppression_of(const PrepareContext& context, const v13::NMSRotated& op) {
  return Suppression(
      context, [descending = op.sort_result_descending, clockwise = op.clockwise](const NmsInput& input) {
        const kernels::RotatedNmsParams params{descending, clockwise, input.max_per_class,
                                               input.iou_threshold, input.score_threshold};
        return kernels::rotated_non_max_suppression(input.boxes, input.scores, input.batches, input.classes,
                                                    input.count, params);
      });
}

// For versions whose number of rows follows from the inputs' shapes.
PreparedKernel prepare_filled(const PrepareContext& context, const NonMaxSuppressionAttributes& op) {
  if (!context.outputs_static()) return nothing_to_do("non_max_suppression");
  PreparedKernel prepared;
  prepared.name = "non_max_suppression";
  prepared.per_target = true;
  const auto rows = static_cast<std::size_t>(context.output_shape()[0]);
  with_index_type(op.output_type, [&]<class Index>() {
    prepared.run = [suppression = suppression_of(context, op, false), rows](const StepMemory& memory) {
      kernels::write_selected(suppression.run(memory.inputs), rows, memory.out<Index>(0), nullptr);
    };
  });
  return computed_in_f32(context, std::move(prepared));
}

// For versions that have as many rows as there are results.
PreparedKernel prepare_selected(const char* name, ElementType output_type, const Suppression& suppression) {
  PreparedKernel prepared;
  prepared.name = name;
  with_index_type(output_type, [&]<class Index>() {
    prepared.run_dynamic = [suppression, type = output_type](std::span<const Tensor> inputs) {
      std::vector<Tensor> narrow(inputs.begin(), inputs.end());
      std::vector<const void*> data;
      for (Tensor& tensor : narrow) {
        if (tensor.element_type() == ElementType::f64) tensor = tensor.converted(ElementType::f32);
        data.push_back(tensor.raw());
      }
      const std::vector<kernels::SelectedBox> selected = suppression.run(data);
      const auto rows = static_cast<std::int64_t>(selected.size());
      std::vector<Tensor> outputs{Tensor(type, {rows, 3}), Tensor(ElementType::f32, {rows, 3}),
                                  Tensor(type, {1})};
      kernels::write_selected(selected, selected.size(), outputs[0].data<Index>().data(),
                              outputs[1].data<float>().data());
      outputs[2].data<Index>()[0] = static_cast<Index>(rows);
      return outputs;
    };
  });
  return prepared;
}

}  // namespace

void v1::NonMaxSuppression::infer(InferContext& context) const { infer_bounded_by_classes(context, *this); }
PreparedKernel v1::NonMaxSuppression::prepare(PrepareContext& context) const {
  return prepare_filled(context, *this);
}

void v3::NonMaxSuppression::infer(InferContext& context) const { infer_bounded_by_classes(context, *this); }
PreparedKernel v3::NonMaxSuppression::prepare(PrepareContext& context) const {
  return prepare_filled(context, *this);
}

void v4::NonMaxSuppression::infer(InferContext& context) const {
  const NmsSizes sizes = checked_sizes(context, output_type, {.max_inputs = 5});
  const Dimension rows = most_rows(context, sizes);
  if (context.explaining() && rows.is_static()) {
    context.explain(0, 0,
                    fmt::format("min({}, {}) * {} * {} = {}", to_string(sizes.boxes.value),
                                to_string(max_per_class(context)), to_string(sizes.batches.value),
                                to_string(sizes.classes.value), rows.value()));
  }
  context.set_output(0, output_type, PartialShape{rows, 3});
}
PreparedKernel v4::NonMaxSuppression::prepare(PrepareContext& context) const {
  return prepare_filled(context, *this);
}

void v5::NonMaxSuppression::infer(InferContext& context) const { infer_selected(context, output_type, {}); }
PreparedKernel v5::NonMaxSuppression::prepare(PrepareContext& context) const {
  return prepare_selected("non_max_suppression", output_type, suppression_of(context, *this, false));
}

void v9::NonMaxSuppression::infer(InferContext& context) const { infer_selected(context, output_type, {}); }
PreparedKernel v9::NonMaxSuppression::prepare(PrepareContext& context) const {
  return prepare_selected("non_max_suppression", output_type, suppression_of(context, *this, true));
}

void v13::NMSRotated::infer(InferContext& context) const {
  infer_selected(context, output_type, {.min_inputs = 5, .max_inputs = 5, .box_size = 5});
}
PreparedKernel v13::NMSRotated::prepare(PrepareContext& context) const {
  return prepare_selected("nms_rotated", output_type, suppression_of(context, *this));
}

}  // namespace ir::op
