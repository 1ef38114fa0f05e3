#include "runtime/passes/repetition.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "kernels/base/indices.h"

namespace ir::passes {
namespace {

constexpr int kMostSteps = 8;

// One element of a shape that is computed: a number, or a dim of a tensor; neither where it is not known.
struct Element {
  std::optional<std::int64_t> number;
  std::optional<Output> tensor;
  std::size_t axis = 0;
};

using Elements = std::optional<std::vector<Element>>;

Elements elements_of(const Output& value, int steps);

Elements dims_of(const Output& tensor) {
  const PartialShape& shape = tensor.info().shape;
  if (!shape.has_rank()) return std::nullopt;
  std::vector<Element> elements;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const bool known = shape[axis].is_static();
    elements.push_back({known ? std::optional(shape[axis].value()) : std::nullopt, tensor, axis});
  }
  return elements;
}

Elements chosen_elements(const Node& node, int steps) {
  const auto from = elements_of(node.input(0), steps);
  const auto indices = constant_integers(node.input(1));
  const auto axis = constant_integers(node.input(2));
  if (!from || !indices || !axis || axis->size() != 1 || axis->front() != 0) return std::nullopt;
  std::vector<Element> elements;
  for (const std::int64_t index : *indices) {
    const std::size_t normal = kernels::normalize_index(index, from->size());
    if (normal >= from->size()) return std::nullopt;
    elements.push_back((*from)[normal]);
  }
  return elements;
}

Elements joined_elements(const Node& node, int steps) {
  std::vector<Element> elements;
  for (const Output& input : node.inputs()) {
    const auto part = elements_of(input, steps);
    if (!part) return std::nullopt;
    elements.insert(elements.end(), part->begin(), part->end());
  }
  return elements;
}

Elements elements_of(const Output& value, int steps) {
  if (const auto numbers = constant_integers(value)) {
    std::vector<Element> elements;
    for (const std::int64_t number : *numbers) elements.push_back({number, std::nullopt, 0});
    return elements;
  }
  const Node& node = *value.node;
  const Op& op = node.op();
  if (steps == 0 || node.inputs().empty()) return std::nullopt;
  if (op.is<op::v0::ShapeOf>() || op.is<op::v3::ShapeOf>()) return dims_of(node.input(0));
  if (op.is<op::v0::Concat>()) return joined_elements(node, steps - 1);
  if (op.is<op::v1::Gather>() || op.is<op::v7::Gather>() || op.is<op::v8::Gather>())
    return chosen_elements(node, steps - 1);
  const bool keeps_elements = op.is<op::v0::Unsqueeze>() || op.is<op::v0::Squeeze>() ||
                              op.is<op::v15::Squeeze>() || op.is<op::v1::Reshape>() ||
                              (op.is<op::v0::Convert>() && is_integral(value.info().type));
  if (keeps_elements && is_integral(node.input(0).info().type)) return elements_of(node.input(0), steps - 1);
  return std::nullopt;
}

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

// A dim of a tensor, where it stands before Transposes.
std::pair<Output, std::size_t> origin_of(Output tensor, std::size_t axis) {
  while (tensor.node->op().is<op::v1::Transpose>()) {
    const auto order = constant_integers(tensor.node->input(1));
    if (!order || axis >= order->size()) break;
    axis = static_cast<std::size_t>((*order)[axis]);
    tensor = tensor.node->input(0);
  }
  return {tensor, axis};
}

// Whether the element is the dim of an axis of the tensor before Unsqueeze.
bool is_dim(const Element& element, const Unsqueezed& from, std::size_t axis) {
  const Dimension& dim = from.tensor.info().shape[axis];
  if (element.number && dim.is_static()) return *element.number == dim.value();
  if (!element.tensor) return false;
  if (*element.tensor == from.value) return element.axis == axis + (axis < from.new_axis ? 0 : 1);
  return origin_of(*element.tensor, element.axis) == origin_of(from.tensor, axis);
}

// Whether Broadcast or Tile changes nothing but the new axis.
bool repeats_new_axis(const Node& node, const Unsqueezed& from) {
  const auto* broadcast = node.op().as<op::v3::Broadcast>();
  const bool tiles = node.op().is<op::v0::Tile>();
  if (!tiles && (broadcast == nullptr || broadcast->mode == op::BroadcastMode::pdpd ||
                 broadcast->mode == op::BroadcastMode::explicit_))
    return false;
  const auto target = elements_of(node.input(1), kMostSteps);
  const std::size_t rank = from.tensor.info().shape.rank();
  if (!target || target->size() != rank + 1) return false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Element& element = (*target)[axis + (axis < from.new_axis ? 0 : 1)];
    const bool keeps = element.number == 1 && (tiles || broadcast->mode == op::BroadcastMode::bidirectional);
    if (!keeps && (tiles || !is_dim(element, from, axis))) return false;
  }
  return true;
}

// Whether Reshape gives the tensor's own dims but for `joined`. One of them may be left to what remains.
bool keeps_other_axes(const Node& node, const Unsqueezed& from, std::size_t joined) {
  const auto* reshape = node.op().as<op::v1::Reshape>();
  const auto target = reshape == nullptr ? std::nullopt : elements_of(node.input(1), kMostSteps);
  const std::size_t rank = from.tensor.info().shape.rank();
  if (!target || target->size() != rank) return false;
  std::size_t left = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Element& element = (*target)[axis];
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
