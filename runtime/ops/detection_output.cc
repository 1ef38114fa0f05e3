#include "kernels/detection/detection_output.h"

#include <algorithm>

#include "ir_runtime/ops/detection.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/reused.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/sizes.h"

namespace ir::op {
namespace {

constexpr std::int64_t kMaxCandidates = std::int64_t{1} << 32;

// What the inputs agree on. The numbers of priors and classes are empty while unknown.
struct Sizes {
  SharedDim images{"the number of images", {}};
  std::optional<std::int64_t> priors;
  std::optional<std::int64_t> classes;
};

std::int64_t values_of_prior(const DetectionOutputAttributes& op) { return op.normalized ? 4 : 5; }

std::optional<std::int64_t> product(std::initializer_list<std::optional<std::int64_t>> factors) {
  Dimension all(1);
  for (const auto& factor : factors) {
    if (!factor) return std::nullopt;
    all = all * Dimension(*factor);
  }
  return all.value();
}

// Sets `count` to the last dim of input `index` over `per_item`, unless it is known already or one of these
// is not.
void derive(const InferContext& context, std::size_t index, std::optional<std::int64_t> per_item,
            std::string_view what, std::optional<std::int64_t>& count) {
  if (count || per_item.value_or(0) <= 0 || index >= context.input_count()) return;
  const PartialShape& shape = context.shape(index);
  if (!shape.has_rank() || !shape[shape.rank() - 1].is_static()) return;
  const std::int64_t length = shape[shape.rank() - 1].value();
  context.require(length % *per_item == 0, "IR-shape",
                  {.found = length,
                   .expected = words("a multiple of {}", *per_item),
                   .rule = words("{} values per {}", *per_item, what),
                   .input = index},
                  "input {} has shape {}: its last dim is no multiple of {} values per {}", index, shape,
                  *per_item, what);
  count = length / *per_item;
}

SharedDim row_of(std::string name, std::optional<std::int64_t> length) {
  return {std::move(name), length ? Dimension(*length) : Dimension()};
}

void require_types(const InferContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) context.require_real(i);
  if (context.input_count() == 5) {
    (void)context.require_same_type({0, 1, 3, 4});
  } else {
    (void)context.require_same_type({0, 1});
  }
}

void require_ranks(const InferContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) context.require_rank(i, i == 2 ? 3 : 2);
}

// Numbers of priors and classes, from wherever they can be read.
void derive_counts(const InferContext& context, const DetectionOutputAttributes& op, Sizes& sizes) {
  std::optional<std::int64_t>& priors = sizes.priors;
  std::optional<std::int64_t>& classes = sizes.classes;
  const auto locations = [&] { return op.share_location ? std::optional<std::int64_t>(1) : classes; };
  derive(context, 0, product({4, locations()}), "prior", priors);
  derive(context, 2, values_of_prior(op), "prior", priors);
  derive(context, 3, 2, "prior", priors);
  derive(context, 1, priors, "class", classes);
  if (!op.share_location) {
    derive(context, 0, product({4, priors}), "class", classes);
    derive(context, 4, product({4, priors}), "class", classes);
  }
  derive(context, 1, classes, "prior", priors);
  context.require(priors.value_or(1) > 0 && classes.value_or(1) > 0, "IR-shape",
                  {.found = "no priors or no classes", .expected = "at least one of both"},
                  "inputs 0, 1 and 2 have shapes {}, {} and {}: there are no priors or no classes",
                  context.shape(0), context.shape(1), context.shape(2));
}

void require_shapes(const InferContext& context, const DetectionOutputAttributes& op, Sizes& sizes) {
  const auto locations = op.share_location ? std::optional<std::int64_t>(1) : sizes.classes;
  SharedDim logits = row_of("priors * locations * 4", product({sizes.priors, locations, 4}));
  SharedDim scores = row_of("priors * classes", product({sizes.priors, sizes.classes}));
  unify(context, 0, {&sizes.images, &logits});
  unify(context, 1, {&sizes.images, &scores});
  if (context.input_count() == 5) {
    SharedDim objectness = row_of("priors * 2", product({sizes.priors, 2}));
    unify(context, 3, {&sizes.images, &objectness});
    unify(context, 4, {&sizes.images, &logits});
  }
  const PartialShape& proposals = context.shape(2);
  SharedDim batches{"the number of prior batches", {}};
  SharedDim rows{"the number of rows of priors", op.variance_encoded_in_target ? 1 : 2};
  SharedDim priors = row_of("priors * values of a prior", product({sizes.priors, values_of_prior(op)}));
  unify(context, 2, {&batches, &rows, &priors});
  context.require(
      !proposals.has_rank() || proposals[0].compatible(1) || proposals[0].compatible(sizes.images.value),
      "IR-shape",
      {.found = proposals,
       .expected = words("1 or {} on axis 0", sizes.images.value),
       .rule = words("the number of images is {}", sizes.images.value),
       .input = 2},
      "input 2 has shape {}: axis 0 takes 1 or the number of images, {}", proposals, sizes.images.value);
}

// Rows of the output: as many as may be kept of each image.
Dimension infer_rows(InferContext& context, const DetectionOutputAttributes& op, const Sizes& sizes) {
  const std::int64_t keep = op.keep_top_k[0];
  const auto known = [](const std::optional<std::int64_t>& count) {
    return count ? Dimension(*count) : Dimension();
  };
  const Dimension& images = sizes.images.value;
  Dimension rows;
  std::string rule;
  if (keep > 0) {
    rows = images * Dimension(keep);
    rule = fmt::format("images * keep_top_k: {} * {}", to_string(images), keep);
  } else if (op.top_k > 0) {
    rows = images * Dimension(op.top_k) * known(sizes.classes);
    rule = fmt::format("images * top_k * classes: {} * {} * {}", to_string(images), op.top_k,
                       to_string(known(sizes.classes)));
  } else {
    rows = images * known(sizes.priors) * known(sizes.classes);
    rule = fmt::format("images * priors * classes: {} * {} * {}", to_string(images),
                       to_string(known(sizes.priors)), to_string(known(sizes.classes)));
  }
  if (context.explaining()) context.explain(0, 2, rule + " = " + to_string(rows));
  return rows;
}

void infer_detections(InferContext& context, const DetectionOutputAttributes& op,
                      std::optional<std::int64_t> classes) {
  context.require(context.input_count() == 3 || context.input_count() == 5, "IR-input-count",
                  {.found = context.input_count(), .expected = "3 or 5"},
                  "has {} inputs, DetectionOutput takes 3 or 5", context.input_count());
  require_not_empty(context, "keep_top_k", op.keep_top_k.size());
  const std::int64_t keep = op.keep_top_k[0];
  context.require(keep == -1 || keep >= 1, "IR-attribute-range",
                  {.found = keep, .expected = "-1 or more than 0"},
                  "keep_top_k is {}; it takes -1 or more than 0", keep);
  context.require(op.normalized || (op.input_width >= 1 && op.input_height >= 1), "IR-attribute-range",
                  {.found = std::min(op.input_width, op.input_height),
                   .expected = "sizes of at least 1",
                   .rule = "priors are in pixels"},
                  "input_width is {} and input_height is {}; priors in pixels take sizes of at least 1",
                  op.input_width, op.input_height);
  if (classes) require_range(context, "num_classes", *classes, 1, kMaxCandidates - 1);
  require_types(context);
  require_ranks(context);

  Sizes sizes;
  sizes.classes = classes;
  derive_counts(context, op, sizes);
  require_shapes(context, op, sizes);
  const auto candidates = product({sizes.priors, sizes.classes});
  context.require(candidates.value_or(0) < kMaxCandidates, "IR-shape",
                  {.found = words("{} * {}", sizes.priors.value_or(0), sizes.classes.value_or(0)),
                   .expected = words("less than {}", kMaxCandidates),
                   .rule = "priors times classes are candidates"},
                  "{} priors times {} classes are more than {} candidates", sizes.priors.value_or(0),
                  sizes.classes.value_or(0), kMaxCandidates);

  const Dimension rows = infer_rows(context, op, sizes);
  context.set_output(0, context.type(0), PartialShape{1, 1, rows, 7});
}

PreparedKernel prepare_detections(const PrepareContext& context, const DetectionOutputAttributes& op) {
  if (!context.outputs_static() || context.output_size() == 0) return nothing_to_do("detection_output");
  kernels::DetectionOutputParams params;
  params.images = size_of(context.shape(0)[0]);
  params.priors = size_of(context.shape(2)[2] / values_of_prior(op));
  params.classes = size_of(context.shape(1)[1]) / params.priors;
  params.prior_batches = size_of(context.shape(2)[0]);
  params.background_label_id = op.background_label_id;
  params.top_k = op.top_k;
  params.keep_top_k = op.keep_top_k[0];
  params.nms_threshold = static_cast<float>(op.nms_threshold);
  params.confidence_threshold = static_cast<float>(op.confidence_threshold);
  params.objectness_score = static_cast<float>(op.objectness_score);
  params.code_type =
      op.code_type == CodeType::corner ? kernels::BoxCoding::corner : kernels::BoxCoding::center_size;
  params.variance_encoded_in_target = op.variance_encoded_in_target;
  params.share_location = op.share_location;
  params.clip_before_nms = op.clip_before_nms;
  params.clip_after_nms = op.clip_after_nms;
  params.decrease_label_id = op.decrease_label_id;
  params.normalized = op.normalized;
  params.input_height = op.input_height;
  params.input_width = op.input_width;

  PreparedKernel prepared;
  prepared.name = "detection_output";
  prepared.run = [params, scratch = std::make_shared<Reused<kernels::DetectionOutputScratch>>()](
                     const StepMemory& memory) {
    kernels::DetectionOutputInputs inputs{memory.in<float>(0), memory.in<float>(1), memory.in<float>(2)};
    if (memory.inputs.size() == 5) {
      inputs.objectness = memory.in<float>(3);
      inputs.first_box_logits = memory.in<float>(4);
    }
    scratch->with([&](kernels::DetectionOutputScratch& taken) {
      kernels::detection_output(params, inputs, memory.out<float>(0), taken);
    });
  };
  return computed_in_f32(context, std::move(prepared));
}

}  // namespace

void v0::DetectionOutput::infer(InferContext& context) const {
  infer_detections(context, *this, num_classes);
}
PreparedKernel v0::DetectionOutput::prepare(PrepareContext& context) const {
  return prepare_detections(context, *this);
}

void v8::DetectionOutput::infer(InferContext& context) const {
  infer_detections(context, *this, std::nullopt);
}
PreparedKernel v8::DetectionOutput::prepare(PrepareContext& context) const {
  return prepare_detections(context, *this);
}

}  // namespace ir::op
