// Operations that only change the order of elements: Transpose, Reverse, Roll and ReverseSequence.
#include "kernels/movement/transpose.h"

#include <numeric>

#include "ir_runtime/ops/movement.h"
#include "kernels/elementwise/convert.h"
#include "kernels/movement/space.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/slicing.h"
#include "runtime/types/scalar_type.h"

namespace ir::op {
namespace {

std::vector<std::size_t> reversed_order(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

// Whether elements stay where they are: axes of more than one element keep their order.
bool keeps_order(const Shape& shape, std::span<const std::size_t> order) {
  std::size_t last = 0;
  for (const std::size_t axis : order) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Other operations count axes below 0 from the end.
void require_axes_from_0(const InferContext& context) {
  const auto order = context.integers(1);
  if (!order) return;
  for (const std::int64_t axis : *order) {
    context.require(axis >= 0, "IR-axis", {.found = axis, .expected = "at least 0", .input = 1},
                    "input 1 holds axis {}; Transpose takes axes from 0 on", axis);
  }
}

}  // namespace

void v1::Transpose::infer(InferContext& context) const {
  context.require_inputs(2);
  const Dimension length = require_integer_vector(context, 1);
  require_axes_from_0(context);
  const PartialShape& data = context.shape(0);
  if (!data.has_rank()) {
    // The rank is that of the order, unless that is empty.
    const bool known = length.is_static() && length.value() > 0 && length.value() <= kMaxPropagatedElements;
    context.set_output(
        0, context.type(0),
        known ? PartialShape::of_rank(static_cast<std::size_t>(length.value())) : PartialShape());
    return;
  }
  if (!length.compatible(0)) require_one_per_axis(context, 1, length, "axes");
  PartialShape output = PartialShape::of_rank(data.rank());
  auto order = axes_input(context, 1, data.rank());
  if (order && order->empty()) order = reversed_order(data.rank());
  if (order) {
    for (std::size_t axis = 0; axis < order->size(); ++axis) {
      output[axis] = data[(*order)[axis]];
      if (context.explaining()) context.explain(0, axis, fmt::format("axis {} of the input", (*order)[axis]));
    }
  }
  context.set_output(0, context.type(0), output);
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v1::Transpose::prepare(PrepareContext& context) const {
  const Shape& shape = context.shape(0);
  std::vector<std::size_t> order = axes_input(context, 1, shape.size());
  if (order.empty()) order = reversed_order(shape.size());
  if (keeps_order(shape, order)) return PreparedKernel::view_of(0);
  if (context.output_size() == 0) return nothing_to_do("transpose");
  const kernels::Transpose transpose(sizes_of(shape), order, moved_bytes(context));
  PreparedKernel prepared = moving_kernel(
      context, fmt::format("transpose/{}", transpose.algorithm()), {0},
      [transpose](const StepMemory& memory) { transpose.run(memory.inputs[0], memory.outputs[0]); });
  prepared.per_target = transpose.algorithm() == "planes";
  return prepared;
}

void v1::Reverse::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_rank(1, 0, 1);
  const PartialShape& data = context.shape(0);
  if (mode == ReverseMode::mask) {
    context.require_type(1, {ElementType::boolean});
    const Dimension length = context.shape(1).has_rank() ? context.shape(1).element_count() : Dimension();
    context.require(
        !data.has_rank() || length.compatible(static_cast<std::int64_t>(data.rank())), "IR-shape",
        {.found = length, .expected = data.rank(), .rule = words("input 0 has shape {}", data), .input = 1},
        "input 1 has {} elements, one for each axis of input 0 of shape {} is taken", length, data);
  } else {
    context.require_integer(1);
    if (data.has_rank()) require_axes(context, 1, data.rank());
  }
  context.set_output(0, context.type(0), data);
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v1::Reverse::prepare(PrepareContext& context) const {
  const Shape& shape = context.shape(0);
  std::vector<SliceRange> ranges;
  for (const std::int64_t dim : shape) ranges.push_back({0, 1, dim});
  const auto reverse = [&](std::size_t axis) {
    const std::int64_t dim = shape[axis];
    ranges[axis] = resolve_slice(dim, open_start(-1), open_stop(-1), -1);
  };
  if (mode == ReverseMode::mask) {
    const std::vector<std::int64_t> mask = context.integers(1);
    for (std::size_t axis = 0; axis < mask.size(); ++axis) {
      if (mask[axis] != 0) reverse(axis);
    }
  } else {
    for (const std::size_t axis : axes_input(context, 1, shape.size())) reverse(axis);
  }
  return prepare_slice(context, "reverse", ranges);
}

void v7::Roll::infer(InferContext& context) const {
  context.require_inputs(3);
  context.require_integer(1);
  context.require_integer(2);
  context.require_rank(1, 0, 1);
  context.require_rank(2, 0, 1);
  const PartialShape& data = context.shape(0);
  const PartialShape& shift = context.shape(1);
  const PartialShape& axes = context.shape(2);
  // Until both lengths are known nothing is said of the axes, as in OpenVINO.
  if (shift.is_static() && axes.is_static()) {
    context.require(shift.rank() == 0 || shift.element_count() == axes.element_count(), "IR-shape",
                    {.found = shift.element_count(),
                     .expected = axes.element_count(),
                     .rule = words("there are {} axes", axes.element_count()),
                     .input = 1},
                    "input 1 has {} shifts for {} axes", shift.element_count(), axes.element_count());
    if (data.has_rank()) require_axes(context, 2, data.rank());
  }
  context.set_output(0, context.type(0), data);
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v7::Roll::prepare(PrepareContext& context) const {
  const Shape& shape = context.shape(0);
  const std::vector<std::size_t> axes = axes_input(context, 2, shape.size());
  std::vector<std::int64_t> shifts = context.integers(1);
  if (context.shape(1).empty()) shifts.assign(axes.size(), shifts.at(0));
  if (context.output_size() == 0) return nothing_to_do("roll");
  const kernels::Roll roll(sizes_of(shape), axes, shifts, moved_bytes(context));
  return moving_kernel(context, "roll", {0},
                       [roll](const StepMemory& memory) { roll.run(memory.inputs[0], memory.outputs[0]); });
}

void v0::ReverseSequence::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_number(1);
  context.require_rank(1, 1);
  require_min_rank(context, 0, 2);
  PartialShape output = context.shape(0);
  if (output.has_rank()) {
    const std::size_t batch = context.require_axis(batch_axis, output.rank(), "batch_axis");
    const std::size_t sequence = context.require_axis(seq_axis, output.rank(), "seq_axis");
    context.require(batch != sequence, "IR-axis",
                    {.found = words("axis {} twice", batch), .expected = "two axes"},
                    "batch_axis and seq_axis are both axis {}", batch);
    const Dimension lengths = context.shape(1).has_rank() ? context.shape(1)[0] : Dimension();
    const auto merged = output[batch].merged(lengths);
    context.require(merged.has_value(), "IR-shape",
                    {.found = lengths,
                     .expected = output[batch],
                     .rule = words("axis {} of input 0 has {}", batch, output[batch]),
                     .input = 1},
                    "input 1 has {} lengths, axis {} of input 0 has {}", lengths, batch, output[batch]);
    output[batch] = *merged;
  }
  context.set_output(0, context.type(0), output);
}

PreparedKernel v0::ReverseSequence::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("reverse_sequence");
  const std::size_t rank = context.shape(0).size();
  const std::size_t batch = normalized_axis(batch_axis, rank);
  const std::size_t sequence = normalized_axis(seq_axis, rank);
  // Lengths may be of any numeric type.
  const ElementType type = context.type(1);
  const bool is_index = is_integral(type) && bits_of(type) >= 8;
  const std::size_t count = context.size(1);
  const auto scalar = scalar_type_of(type);
  const std::size_t element = moved_bytes(context);
  return moving_kernel(
      context, "reverse_sequence", {0},
      [=, dims = sizes_of(context.shape(0))](const StepMemory& memory) {
        const void* lengths = memory.inputs[1];
        if (!is_index) {
          kernels::convert(scalar, lengths, kernels::ScalarType::i64, memory.scratch, count);
          lengths = memory.scratch;
        }
        require_good_indices(kernels::reverse_sequence(
                                 dims, batch, sequence, element, memory.inputs[0],
                                 index_view(is_index ? type : ElementType::i64, lengths), memory.outputs[0]),
                             "input 1 (lengths)");
      },
      is_index ? 0 : count * sizeof(std::int64_t));
}

}  // namespace ir::op
