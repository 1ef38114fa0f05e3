#include "runtime/passes/shape_elements.h"

#include <utility>

#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "kernels/base/indices.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {
namespace {

using Elements = std::optional<std::vector<ShapeElement>>;

// How far a walk goes: backwards, and in all, since values may be joined again and again.
struct Steps {
  int back = 8;
  int& values;

  [[nodiscard]] Steps next() const { return {back - 1, values}; }
};

Elements elements_of(const Output& value, Steps steps);

Elements dims_of(const Output& tensor) {
  const PartialShape& shape = tensor.info().shape;
  if (!shape.has_rank()) return std::nullopt;
  std::vector<ShapeElement> elements;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const bool known = shape[axis].is_static();
    elements.push_back({known ? std::optional(shape[axis].value()) : std::nullopt, tensor, axis});
  }
  return elements;
}

Elements chosen_elements(const Node& node, Steps steps) {
  const auto from = elements_of(node.input(0), steps);
  const auto indices = constant_integers(node.input(1));
  const auto axis = constant_integers(node.input(2));
  if (!from || !indices || !axis || axis->size() != 1 || axis->front() != 0) return std::nullopt;
  std::vector<ShapeElement> elements;
  for (const std::int64_t index : *indices) {
    const std::size_t normal = kernels::normalize_index(index, from->size());
    if (normal >= from->size()) return std::nullopt;
    elements.push_back((*from)[normal]);
  }
  return elements;
}

Elements joined_elements(const Node& node, Steps steps) {
  std::vector<ShapeElement> elements;
  for (const Output& input : node.inputs()) {
    const auto part = elements_of(input, steps);
    if (!part) return std::nullopt;
    elements.insert(elements.end(), part->begin(), part->end());
  }
  return elements;
}

Elements elements_of(const Output& value, Steps steps) {
  if (steps.values-- <= 0) return std::nullopt;
  if (const auto numbers = constant_integers(value)) {
    std::vector<ShapeElement> elements;
    for (const std::int64_t number : *numbers) elements.push_back({number, std::nullopt, 0});
    return elements;
  }
  const Node& node = *value.node;
  const Op& op = node.op();
  if (steps.back == 0 || node.inputs().empty()) return std::nullopt;
  if (is_shape_of(op)) return dims_of(node.input(0));
  if (op.is<op::v0::Concat>()) return joined_elements(node, steps.next());
  if (gathers(op)) return chosen_elements(node, steps.next());
  const bool keeps_elements =
      only_changes_shape(op) || (op.is<op::v0::Convert>() && is_integral(value.info().type));
  if (keeps_elements && is_integral(node.input(0).info().type))
    return elements_of(node.input(0), steps.next());
  return std::nullopt;
}

// A dim of a tensor, where it stands before Transposes, as many as models have in a row.
std::pair<Output, std::size_t> origin_of(Output tensor, std::size_t axis) {
  constexpr int kMostSteps = 8;
  for (int step = 0; step < kMostSteps && tensor.node->op().is<op::v1::Transpose>(); ++step) {
    const auto order = constant_integers(tensor.node->input(1));
    if (!order || axis >= order->size()) break;
    axis = static_cast<std::size_t>((*order)[axis]);
    tensor = tensor.node->input(0);
  }
  return {tensor, axis};
}

}  // namespace

std::optional<std::vector<ShapeElement>> shape_elements(const Output& value) {
  int values = 256;
  return elements_of(value, {.values = values});
}

bool is_dim_of(const ShapeElement& element, const Output& tensor, std::size_t axis) {
  const Dimension& dim = tensor.info().shape[axis];
  if (element.number && dim.is_static()) return *element.number == dim.value();
  return element.tensor && origin_of(*element.tensor, element.axis) == origin_of(tensor, axis);
}

}  // namespace ir::passes
