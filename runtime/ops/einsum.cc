#include "ir_runtime/ops/einsum.h"

#include <algorithm>
#include <map>

#include "runtime/ops/broadcast.h"
#include "runtime/ops/einsum_equation.h"
#include "runtime/ops/einsum_plan.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

using LabelDims = std::map<EinsumLabel, Dimension>;

// What one input says about its labels: equal ones have equal dims.
LabelDims dims_of(const InferContext& context, std::size_t index, const EinsumLabels& labels) {
  const PartialShape& shape = context.shape(index);
  LabelDims dims;
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    const auto [known, is_new] = dims.emplace(labels[axis], shape[axis]);
    if (is_new) continue;
    const auto merged = known->second.merged(shape[axis]);
    context.require(merged.has_value(), "IR-shape",
                    {.found = shape[axis],
                     .expected = known->second,
                     .rule = words("{} is {}", name_of_label(labels[axis]), known->second),
                     .input = index},
                    "input {} has shape {}: {} is {} and {}", index, shape, name_of_label(labels[axis]),
                    known->second, shape[axis]);
    known->second = *merged;
  }
  return dims;
}

// Adds to `all` what input `index` says; between inputs, dims broadcast.
void add_dims(const InferContext& context, std::size_t index, const LabelDims& dims, LabelDims& all) {
  for (const auto& [label, dim] : dims) {
    const auto [known, is_new] = all.emplace(label, dim);
    if (is_new) continue;
    const auto common = broadcast_dim(known->second, dim);
    context.require(common.has_value(), "IR-broadcast",
                    {.found = dim,
                     .expected = known->second,
                     .rule = words("{} is {} before", name_of_label(label), known->second),
                     .input = index},
                    "{} is {} in input {}, but {} before", name_of_label(label), dim, index, known->second);
    known->second = *common;
  }
}

void require_fitting_rank(const InferContext& context, std::size_t index, const EinsumLabels& labels) {
  const std::size_t rank = context.shape(index).rank();
  const std::size_t letters = labels.size() - (has_ellipsis(labels) ? 1 : 0);
  context.require(has_ellipsis(labels) ? rank >= letters : rank == letters, "IR-rank",
                  {.found = rank,
                   .expected = words("{}{}", has_ellipsis(labels) ? "at least " : "", letters),
                   .rule = words("its subscript has {} labels", letters),
                   .input = index},
                  "input {} has shape {}; its subscript has {}{} labels", index, context.shape(index),
                  has_ellipsis(labels) ? "at least " : "", letters);
}

// What all inputs together say.
struct EinsumDims {
  LabelDims of_label;
  std::size_t ellipsis_axes = 0;  // of the input where the ellipsis stands for most
  bool has_rank = true;           // whether the ellipsis' axes are known
};

void add_input(const InferContext& context, std::size_t index, const EinsumLabels& labels, EinsumDims& all) {
  if (!context.shape(index).has_rank()) {
    if (has_ellipsis(labels)) all.has_rank = false;
    LabelDims letters;
    for (const EinsumLabel label : labels) {
      if (label != kEllipsis) letters.emplace(label, Dimension());
    }
    // Whatever these dims are, they broadcast with the others or fail later.
    return add_dims(context, index, letters, all.of_label);
  }
  require_fitting_rank(context, index, labels);
  const std::size_t axes = ellipsis_axes(labels, context.shape(index).rank());
  if (has_ellipsis(labels)) all.ellipsis_axes = std::max(all.ellipsis_axes, axes);
  add_dims(context, index, dims_of(context, index, expanded(labels, axes)), all.of_label);
}

ElementType common_type(const InferContext& context) {
  ElementType type = ElementType::dynamic;
  for (std::size_t index = 0; index < context.input_count(); ++index) {
    context.require_number(index);
    const ElementType common = context.require_same_type({0, index});
    if (common != ElementType::dynamic) type = common;
  }
  return type;
}

}  // namespace

void v7::Einsum::infer(InferContext& context) const {
  const EinsumEquation parsed = parse_einsum(context, equation);
  context.require_inputs(parsed.inputs.size());
  const ElementType type = common_type(context);
  EinsumDims all;
  for (std::size_t index = 0; index < parsed.inputs.size(); ++index)
    add_input(context, index, parsed.inputs[index], all);
  if (!all.has_rank) {
    context.set_output(0, type, PartialShape());
    return;
  }
  std::vector<Dimension> dims;
  for (const EinsumLabel label : expanded(parsed.output, all.ellipsis_axes)) {
    const Dimension& dim = all.of_label.at(label);
    if (context.explaining() && dim.is_static()) {
      context.explain(0, dims.size(), fmt::format("{} = {}", name_of_label(label), dim.value()));
    }
    dims.push_back(dim);
  }
  context.set_output(0, type, PartialShape(std::move(dims)));
}

PreparedKernel v7::Einsum::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("einsum");
  EinsumEquation parsed = parse_einsum(equation);
  std::vector<std::size_t> ranks;
  for (std::size_t index = 0; index < parsed.inputs.size(); ++index)
    ranks.push_back(context.shape(index).size());
  parsed = expanded(parsed, ranks);
  PreparedKernel prepared;
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    prepared = prepare_einsum<T>(context, parsed.inputs, parsed.output);
  });
  if (!found) context.fail_unsupported("Einsum of this element type");
  return prepared;
}

}  // namespace ir::op
