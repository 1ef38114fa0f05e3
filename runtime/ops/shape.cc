#include "ir_runtime/ops/shape.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/attribute_checks.h"
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
  for (const std::int64_t axis : *axes) removed[context.require_axis(axis, rank, "axis")] = true;
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
    const std::size_t rank = data.rank() + static_cast<std::size_t>(count.value());
    output = PartialShape::of_rank(rank);
    if (const auto axes = axes_input(context, 1, rank)) {
      for (const std::size_t axis : *axes) output[axis] = Dimension(1);
      std::size_t from = 0;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const bool inserted = std::ranges::find(*axes, axis) != axes->end();
        if (context.explaining()) {
          context.explain(0, axis, inserted ? "inserted = 1" : fmt::format("axis {} of the input", from));
        }
        if (!inserted) output[axis] = data[from++];
      }
    }
  }
  context.set_output(0, context.type(0), output);
  keep_elements(context);
}

PreparedKernel v0::Unsqueeze::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }

}  // namespace ir::op
