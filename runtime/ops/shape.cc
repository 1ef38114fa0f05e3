#include "ir_runtime/ops/shape.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

void infer_shape_of(InferContext& context, ElementType type) {
  context.require_inputs(1);
  require_type_of_indices(context, "output_type", type);
  const PartialShape& shape = context.shape(0);
  if (!shape.has_rank()) {
    context.set_output(0, type, PartialShape{Dimension()});
    return;
  }
  context.set_output(0, type, PartialShape{static_cast<std::int64_t>(shape.rank())});
  context.set_elements(0, shape.dims());
}

PreparedKernel prepare_shape_of(const PrepareContext& context, ElementType type) {
  Tensor dims = Tensor::of(context.output_shape(), std::span<const std::int64_t>(context.shape(0)));
  if (type != ElementType::i64) dims = dims.converted(type);
  PreparedKernel kernel;
  kernel.name = "shape_of";
  kernel.run = [dims](const StepMemory& memory) {
    if (dims.byte_size() > 0) std::memcpy(memory.outputs[0], dims.raw(), dims.byte_size());
  };
  return kernel;
}

// Which axes to remove; empty when that is not known.
std::optional<std::vector<bool>> axes_to_squeeze(const InferContext& context, std::size_t rank) {
  std::vector<bool> removed(rank, false);
  if (context.input_count() == 1) return removed;
  const auto axes = context.integers(1);
  if (!axes) return std::nullopt;
  for (const std::int64_t axis : *axes) {
    const std::size_t index = require_axis_or_0(context, axis, rank, "axis");
    if (index < rank) removed[index] = true;
  }
  return removed;
}

PartialShape squeezed(InferContext& context, bool allow_axis_skip) {
  const PartialShape& shape = context.shape(0);
  if (!shape.has_rank()) return {};
  const auto axes = axes_to_squeeze(context, shape.rank());
  if (!axes) return {};
  const bool all = std::ranges::find(*axes, true) == axes->end();
  PartialShape output = PartialShape::of_rank(0);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const Dimension& dim = shape[axis];
    const bool chosen = all || (*axes)[axis];
    if (chosen && dim.compatible(1)) {
      if (!dim.is_static() && (all || allow_axis_skip)) return {};
      continue;
    }
    if (context.explaining()) context.explain(0, output.rank(), fmt::format("axis {} stays", axis));
    output.push_back(dim);
  }
  return output;
}

void infer_squeeze(InferContext& context, bool allow_axis_skip) {
  context.require_inputs(1, 2);
  if (context.input_count() == 2) {
    context.require_integer(1);
    context.require_rank(1, 0, 1);
  }
  context.set_output(0, context.type(0), squeezed(context, allow_axis_skip));
  keep_elements(context);
}

// Where the dims of the output come from: an axis of the input, or nowhere. As in OpenVINO, an axis that is
// named twice counts once: the numbers that differ say from where negative ones count, and of those that then
// are one axis one is left, which may leave a place behind the end.
std::vector<std::optional<std::size_t>> unsqueezed_axes(const InferContext& context,
                                                        const std::vector<std::int64_t>& axes) {
  const std::size_t data_rank = context.shape(0).rank();
  const std::set<std::int64_t> numbers(axes.begin(), axes.end());
  const std::size_t rank = data_rank + numbers.size();
  std::set<std::size_t> places;
  for (const std::int64_t number : numbers) places.insert(context.require_axis(number, rank, "axis", 1));

  std::vector<std::optional<std::size_t>> sources;
  for (std::size_t axis = 0; axis < data_rank; ++axis) sources.emplace_back(axis);
  for (const std::size_t place : places) {
    context.require(place <= sources.size() + 1, "IR-axis",
                    {.found = place, .expected = words("at most {}", sources.size() + 1), .input = 1},
                    "axis {} is given for a tensor of rank {}", place, sources.size());
    const std::size_t index = std::min(place, sources.size());
    sources.insert(sources.begin() + static_cast<std::ptrdiff_t>(index), std::nullopt);
  }
  return sources;
}

PartialShape unsqueezed(InferContext& context, const std::vector<std::int64_t>& axes) {
  context.require(!axes.empty(), "IR-shape", {.found = "no axes", .expected = "one axis or more", .input = 1},
                  "input 1 names no axes; it takes one or more");
  const PartialShape& data = context.shape(0);
  PartialShape output = PartialShape::of_rank(0);
  for (const std::optional<std::size_t>& source : unsqueezed_axes(context, axes)) {
    if (context.explaining()) {
      context.explain(0, output.rank(),
                      source ? fmt::format("axis {} of the input", *source) : "inserted = 1");
    }
    output.push_back(source ? data[*source] : Dimension(1));
  }
  return output;
}

}  // namespace

void v0::ShapeOf::infer(InferContext& context) const { infer_shape_of(context, ElementType::i64); }
PreparedKernel v0::ShapeOf::prepare(PrepareContext& context) const {
  return prepare_shape_of(context, ElementType::i64);
}

void v3::ShapeOf::infer(InferContext& context) const { infer_shape_of(context, output_type); }
PreparedKernel v3::ShapeOf::prepare(PrepareContext& context) const {
  return prepare_shape_of(context, output_type);
}

void v0::Squeeze::infer(InferContext& context) const { infer_squeeze(context, false); }
PreparedKernel v0::Squeeze::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }

void v15::Squeeze::infer(InferContext& context) const { infer_squeeze(context, allow_axis_skip); }
PreparedKernel v15::Squeeze::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }

void v0::Unsqueeze::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_integer(1);
  context.require_rank(1, 0, 1);
  const PartialShape& data = context.shape(0);
  const PartialShape& axes_shape = context.shape(1);
  const Dimension count = axes_shape.has_rank() ? axes_shape.element_count() : Dimension();
  PartialShape output;
  if (data.has_rank() && count.is_static()) {
    context.require(count.value() <= kMaxPropagatedElements, "IR-shape",
                    {.found = count, .expected = words("at most {}", kMaxPropagatedElements), .input = 1},
                    "input 1 has shape {}; it takes at most {} axes", axes_shape, kMaxPropagatedElements);
    if (const auto axes = context.integers(1)) {
      output = unsqueezed(context, *axes);
    } else if (count.value() == 1) {
      // Several may be the same one.
      output = PartialShape::of_rank(data.rank() + 1);
    }
  }
  context.set_output(0, context.type(0), output);
  keep_elements(context);
}

PreparedKernel v0::Unsqueeze::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }

}  // namespace ir::op
