// Broadcast and Tile: elements repeated along axes.
#include <fmt/ranges.h>

#include <algorithm>

#include "ir_runtime/ops/movement.h"
#include "kernels/movement/strided_copy.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

// What input 1 says about the target: of unknown rank when its length is not known.
PartialShape read_target(const InferContext& context) {
  const Dimension rank = require_integer_vector(context, 1);
  if (!rank.is_static() || rank.value() > kMaxPropagatedElements) return {};
  PartialShape target = PartialShape::of_rank(0);
  for (const Dimension& dim : elements_or_unknown(context, 1, static_cast<std::size_t>(rank.value()))) {
    target.push_back(require_size(context, 1, dim, "dim {} of the target shape is {}", target.rank(), dim));
  }
  return target;
}

// Narrows `dim` of the target by a dim that is spread over it.
void spread(const InferContext& context, const Dimension& from, Dimension& dim, std::size_t axis) {
  if (from.compatible(1)) return;
  const auto merged = dim.merged(from);
  context.require(merged.has_value(), "IR-broadcast",
                  {.found = from,
                   .expected = words("1 or {}", dim),
                   .rule = words("axis {} of the target is {}", axis, dim),
                   .input = 0},
                  "a dim of size {} of input 0 cannot spread over axis {} of {}", from, axis, dim);
  dim = *merged;
}

// Axes of the target for axes `first`, `first` + 1, ...
void spread_from(const InferContext& context, std::size_t first, PartialShape& target) {
  const PartialShape& data = context.shape(0);
  for (std::size_t axis = 0; axis < data.rank(); ++axis) {
    spread(context, data[axis], target[first + axis], first + axis);
  }
}

// Broadcast-1 may have any axes while dims of its data are unknown, as in releases of OpenVINO.
enum class AxesCheck { of_static_data, of_known_rank };

void spread_explicitly(const InferContext& context, PartialShape& target, AxesCheck check) {
  context.require_inputs(3);
  const Dimension count = require_integer_vector(context, 2);
  const PartialShape& data = context.shape(0);
  if (!data.has_rank() || (check == AxesCheck::of_static_data && !data.is_static())) return;
  // A scalar has the one axis that it spreads over.
  if (data.rank() != 0 || !count.compatible(1)) require_one_per_axis(context, 2, count, "axes");
  const auto axes = context.integers(2);
  if (!axes || !target.has_rank()) return;
  std::size_t next = 0;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::size_t axis = context.require_axis((*axes)[i], target.rank(), "axis", 2);
    if (axis < next) {
      const std::string given = fmt::format("[{}]", fmt::join(*axes, ","));
      context.fail("IR-axis", fmt::format("the axes {} of input 2 do not ascend", given),
                   Compared{given, "axes that ascend", {}, 2});
    }
    next = axis + 1;
    if (i < data.rank()) spread(context, data[i], target[axis], axis);
  }
}

void infer_broadcast_to(InferContext& context, BroadcastMode mode, std::int64_t first_axis, AxesCheck check) {
  context.require_inputs(2, 3);
  const PartialShape& data = context.shape(0);
  PartialShape target = read_target(context);
  const bool ranks_known = data.has_rank() && target.has_rank();
  switch (mode) {
    case BroadcastMode::explicit_:
      spread_explicitly(context, target, check);
      break;
    case BroadcastMode::bidirectional: {
      const auto shape = broadcast_shape(data, target);
      context.require(shape.has_value(), "IR-broadcast", {.found = data, .expected = target, .input = 0},
                      "input 0 of shape {} and the target {} do not match", data, target);
      target = *shape;
      break;
    }
    case BroadcastMode::numpy:
      if (!ranks_known) break;
      context.require(data.rank() <= target.rank(), "IR-broadcast",
                      {.found = data,
                       .expected = words("at most {} dims", target.rank()),
                       .rule = words("the target is {}", target),
                       .input = 0},
                      "input 0 of shape {} has more dims than the target {}", data, target);
      spread_from(context, target.rank() - data.rank(), target);
      break;
    case BroadcastMode::pdpd:
      if (!ranks_known) break;
      context.require(first_axis >= 0 && data.rank() <= target.rank() &&
                          first_axis <= static_cast<std::int64_t>(target.rank() - data.rank()),
                      "IR-broadcast",
                      {.found = data,
                       .expected = words("dims that fit into {} from axis {} on", target, first_axis),
                       .input = 0},
                      "input 0 of shape {} does not fit into the target {} from axis {} on", data, target,
                      first_axis);
      spread_from(context, static_cast<std::size_t>(first_axis), target);
      break;
  }
  if (context.explaining()) {
    for (std::size_t axis = 0; axis < target.rank(); ++axis) {
      context.explain(0, axis, fmt::format("target {} = {}", axis, to_string(target[axis])));
    }
  }
  context.set_output(0, context.type(0), target);
}

// Shape of input 0 with ones where the target repeats it.
std::vector<std::size_t> dims_in_target(const PrepareContext& context, BroadcastMode mode,
                                        std::int64_t first_axis) {
  const Shape& data = context.shape(0);
  const std::size_t rank = context.output_shape().size();
  std::vector<std::size_t> dims(rank, 1);
  if (mode == BroadcastMode::explicit_) {
    const std::vector<std::size_t> axes = axes_input(context, 2, rank);
    for (std::size_t i = 0; i < data.size(); ++i) dims[axes[i]] = static_cast<std::size_t>(data[i]);
    return dims;
  }
  const std::size_t first =
      mode == BroadcastMode::pdpd ? static_cast<std::size_t>(first_axis) : rank - data.size();
  std::ranges::copy(sizes_of(data), dims.begin() + static_cast<std::ptrdiff_t>(first));
  return dims;
}

PreparedKernel prepare_repetition(const PrepareContext& context, std::string_view name,
                                  const kernels::StridedCopy& copy) {
  return moving_kernel(context, name, {0},
                       [copy](const StepMemory& memory) { copy.run(memory.inputs[0], memory.outputs[0]); });
}

PreparedKernel prepare_broadcast_to(const PrepareContext& context, BroadcastMode mode,
                                    std::int64_t first_axis) {
  require_known_outputs(context);
  if (context.output_size() == 0) return nothing_to_do("broadcast");
  if (context.size(0) == context.output_size()) return PreparedKernel::view_of(0);
  return prepare_repetition(context, "broadcast",
                            kernels::make_broadcast(dims_in_target(context, mode, first_axis),
                                                    sizes_of(context.output_shape()), moved_bytes(context)));
}

}  // namespace

void v1::Broadcast::infer(InferContext& context) const {
  context.require(mode != BroadcastMode::bidirectional, "IR-attribute-value",
                  {.found = "bidirectional",
                   .expected = "numpy, explicit or pdpd",
                   .rule = "Broadcast knows bidirectional since opset3"},
                  "mode is bidirectional, which Broadcast knows since opset3");
  infer_broadcast_to(context, mode, axis, AxesCheck::of_static_data);
  propagate_moved_elements(context, *this, {0});
}
PreparedKernel v1::Broadcast::prepare(PrepareContext& context) const {
  return prepare_broadcast_to(context, mode, axis);
}

void v3::Broadcast::infer(InferContext& context) const {
  // Which axes input 2 names is a matter of explicit mode.
  context.require_inputs(mode == BroadcastMode::explicit_ ? 3 : 2);
  infer_broadcast_to(context, mode, axis, AxesCheck::of_known_rank);
  propagate_moved_elements(context, *this, {0});
}
PreparedKernel v3::Broadcast::prepare(PrepareContext& context) const {
  return prepare_broadcast_to(context, mode, axis);
}

void v0::Tile::infer(InferContext& context) const {
  context.require_inputs(2);
  const Dimension length = require_integer_vector(context, 1);
  const PartialShape& data = context.shape(0);
  if (!data.has_rank() || !length.is_static() || length.value() > kMaxPropagatedElements) {
    context.set_output(0, context.type(0), PartialShape());
    return;
  }
  const auto count = static_cast<std::size_t>(length.value());
  const std::vector<Dimension> repeats = elements_or_unknown(context, 1, count);
  const std::size_t rank = std::max(count, data.rank());
  PartialShape output = PartialShape::of_rank(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Dimension dim = axis < rank - data.rank() ? Dimension(1) : data[axis - (rank - data.rank())];
    const Dimension given = axis < rank - count ? Dimension(1) : repeats[axis - (rank - count)];
    output[axis] = dim * element_maximum(given, Dimension(0));
    if (context.explaining()) {
      context.explain(0, axis,
                      fmt::format("{} * {} = {}", to_string(dim), to_string(given), to_string(output[axis])));
    }
  }
  context.set_output(0, context.type(0), output);
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v0::Tile::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  if (context.output_size() == 0) return nothing_to_do("tile");
  if (context.size(0) == context.output_size()) return PreparedKernel::view_of(0);
  const std::size_t rank = context.output_shape().size();
  std::vector<std::size_t> dims = sizes_of(context.shape(0));
  dims.insert(dims.begin(), rank - dims.size(), 1);
  std::vector<std::size_t> repeats;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    repeats.push_back(static_cast<std::size_t>(context.output_shape()[axis]) / dims[axis]);
  }
  return prepare_repetition(context, "tile", kernels::make_tile(dims, repeats, moved_bytes(context)));
}

}  // namespace ir::op
