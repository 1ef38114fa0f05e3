#include "runtime/passes/repetition.h"

#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "kernels/base/indices.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/shape_elements.h"

namespace ir::passes {
namespace {

// `tensor` with an axis of one element more.
struct Unsqueezed {
  Output tensor;
  Output value;
  std::size_t new_axis = 0;
};

std::optional<Unsqueezed> unsqueezed(const Output& value) {
  const Node& node = *value.node;
  const PartialShape& shape = value.info().shape;
  if (!node.op().is<op::v0::Unsqueeze>() || !shape.has_rank()) return std::nullopt;
  const auto axes = constant_integers(node.input(1));
  if (!axes || axes->size() != 1) return std::nullopt;
  const std::size_t axis = kernels::normalize_index(axes->front(), shape.rank());
  if (axis == 0 || axis >= shape.rank()) return std::nullopt;
  return Unsqueezed{node.input(0), value, axis};
}

// Whether the element is the dim of an axis of the tensor before Unsqueeze.
bool is_dim(const ShapeElement& element, const Unsqueezed& from, std::size_t axis) {
  if (is_dim_of(element, from.tensor, axis)) return true;
  return element.tensor == from.value && element.axis == axis + (axis < from.new_axis ? 0 : 1);
}

// Whether Broadcast or Tile changes nothing but the new axis.
bool repeats_new_axis(const Node& node, const Unsqueezed& from) {
  const auto* broadcast = node.op().as<op::v3::Broadcast>();
  const bool tiles = node.op().is<op::v0::Tile>();
  if (!tiles && (broadcast == nullptr || broadcast->mode == op::BroadcastMode::pdpd ||
                 broadcast->mode == op::BroadcastMode::explicit_))
    return false;
  const auto target = shape_elements(node.input(1));
  const std::size_t rank = from.tensor.info().shape.rank();
  if (!target || target->size() != rank + 1) return false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const ShapeElement& element = (*target)[axis + (axis < from.new_axis ? 0 : 1)];
    const bool keeps = element.number == 1 && (tiles || broadcast->mode == op::BroadcastMode::bidirectional);
    if (!keeps && (tiles || !is_dim(element, from, axis))) return false;
  }
  return true;
}

// Whether Reshape gives the tensor's own dims but for `joined`. One of them may be left to what remains.
bool keeps_other_axes(const Node& node, const Unsqueezed& from, std::size_t joined) {
  const auto* reshape = node.op().as<op::v1::Reshape>();
  const auto target = reshape == nullptr ? std::nullopt : shape_elements(node.input(1));
  const std::size_t rank = from.tensor.info().shape.rank();
  if (!target || target->size() != rank) return false;
  std::size_t left = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const ShapeElement& element = (*target)[axis];
    if (element.number == -1) {
      ++left;
    } else if (axis != joined && !is_dim(element, from, axis) &&
               !(element.number == 0 && reshape->special_zero && axis < joined)) {
      return false;
    }
  }
  return left <= 1;
}

}  // namespace

std::optional<Repetition> repetition_of(const Output& value) {
  const Node& reshape = *value.node;
  if (!reshape.op().is<op::v1::Reshape>()) return std::nullopt;
  const Node& spread = *reshape.input(0).node;
  if (spread.inputs().size() < 2) return std::nullopt;
  const auto from = unsqueezed(spread.input(0));
  const PartialShape& wide = reshape.input(0).info().shape;
  if (!from || !wide.has_rank() || wide.rank() != from->value.info().shape.rank()) return std::nullopt;
  const std::size_t axis = from->new_axis - 1;
  const PartialShape& shape = value.info().shape;
  const Dimension& slices = from->tensor.info().shape[axis];
  const Dimension& times = wide[from->new_axis];
  if (!shape.has_rank() || shape.rank() + 1 != wide.rank() || !slices.is_static() || !times.is_static() ||
      shape[axis] != Dimension(slices.value() * times.value()))
    return std::nullopt;
  if (!repeats_new_axis(spread, *from) || !keeps_other_axes(reshape, *from, axis)) return std::nullopt;
  return Repetition{from->tensor, axis, times.value()};
}

}  // namespace ir::passes
