#include "runtime/passes/seen_tensor.h"

#include <algorithm>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/slicing.h"
#include "kernels/base/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/slicing.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/repetition.h"

namespace ir::passes {
namespace {

std::optional<std::int64_t> integer_in(const Output& value) {
  const auto integers = constant_integers(value);
  return integers && integers->size() == 1 ? std::optional(integers->front()) : std::nullopt;
}

// An index that counts from the end where it is negative.
std::optional<std::size_t> normal_index(std::optional<std::int64_t> index, std::size_t size) {
  const std::size_t normal = index ? kernels::normalize_index(*index, size) : size;
  return normal == size ? std::nullopt : std::optional(normal);
}

// A value as consecutive elements of one axis of another one.
struct Part {
  Output whole;
  op::TensorView::Cut cut;
};

std::optional<Part> part_of_slice(const Node& node) {
  const PartialShape& shape = node.input(0).info().shape;
  const auto starts = constant_integers(node.input(1));
  const auto stops = constant_integers(node.input(2));
  const auto steps = constant_integers(node.input(3));
  const auto axes =
      node.inputs().size() > 4 ? constant_integers(node.input(4)) : std::vector<std::int64_t>{0};
  if (!starts || !stops || !steps || !axes || starts->size() != 1 || stops->size() != 1 ||
      axes->size() != 1 || steps->size() != 1 || steps->front() != 1) {
    return std::nullopt;
  }
  const auto axis = normal_index(axes->front(), shape.rank());
  if (!axis || !shape[*axis].is_static()) return std::nullopt;
  const op::SliceRange range = op::resolve_slice(shape[*axis].value(), starts->front(), stops->front(), 1);
  return Part{node.input(0), {*axis, range.start, range.count}};
}

std::optional<Part> part_of_split(const Output& value) {
  const Node& node = *value.node;
  const auto axis = normal_index(integer_in(node.input(1)), node.input(0).info().shape.rank());
  if (!axis) return std::nullopt;
  std::int64_t first = 0;
  for (std::size_t i = 0; i <= value.index; ++i) {
    const Dimension& length = node.output(i).shape[*axis];
    if (!length.is_static()) return std::nullopt;
    if (i == value.index) return Part{node.input(0), {*axis, first, length.value()}};
    first += length.value();
  }
  return std::nullopt;
}

std::optional<Part> part_of(const Output& value) {
  const Op& op = value.node->op();
  if (value.node->inputs().empty() || !value.node->input(0).info().shape.has_rank()) return std::nullopt;
  if (op.is<op::v8::Slice>()) return part_of_slice(*value.node);
  if (op.is<op::v1::Split>() || op.is<op::v1::VariadicSplit>()) return part_of_split(value);
  return std::nullopt;
}

// Through a Transpose: the view's axes are those of its input.
std::optional<SeenTensor> before_transpose(const SeenTensor& seen) {
  const Node& node = *seen.tensor.node;
  const auto order = constant_integers(node.input(1));
  if (!order || order->empty()) return std::nullopt;
  SeenTensor before = seen;
  before.tensor = node.input(0);
  for (std::size_t& axis : before.view.order) axis = static_cast<std::size_t>((*order)[axis]);
  if (before.view.cut) before.view.cut->axis = static_cast<std::size_t>((*order)[before.view.cut->axis]);
  return before;
}

std::optional<SeenTensor> before_part(const SeenTensor& seen, const Part& part) {
  SeenTensor before = seen;
  before.tensor = part.whole;
  if (!before.view.cut) {
    before.view.cut = part.cut;
  } else if (before.view.cut->axis == part.cut.axis) {
    before.view.cut->first += part.cut.first;
  } else {
    return std::nullopt;
  }
  return before;
}

// Through the choice of one element of an axis, which the view then lacks.
std::optional<SeenTensor> before_choice(const SeenTensor& seen, const Output& whole, std::size_t axis,
                                        std::int64_t index) {
  if (seen.view.cut) return std::nullopt;
  SeenTensor before = seen;
  before.tensor = whole;
  for (std::size_t& old : before.view.order) old += old >= axis ? 1 : 0;
  before.view.cut = {axis, index, 1};
  return before;
}

std::optional<SeenTensor> before_gather(const SeenTensor& seen) {
  const Node& node = *seen.tensor.node;
  const PartialShape& shape = node.input(0).info().shape;
  const Tensor* indices = constant_of(node.input(1));
  const auto index = integer_in(node.input(1));
  const auto axis = normal_index(integer_in(node.input(2)), shape.rank());
  if (!index || !axis || !indices->shape().empty() || !shape[*axis].is_static()) return std::nullopt;
  const auto normal = normal_index(index, static_cast<std::size_t>(shape[*axis].value()));
  if (!normal) return std::nullopt;
  return before_choice(seen, node.input(0), *axis, static_cast<std::int64_t>(*normal));
}

// Through a Reshape or Squeeze that drops one axis of one element.
std::optional<SeenTensor> before_squeeze(const SeenTensor& seen) {
  const Output& whole = seen.tensor.node->input(0);
  const auto& dims = whole.info().shape.dims();
  const auto& squeezed = seen.tensor.info().shape.dims();
  if (!whole.info().shape.is_static() || dims.size() != squeezed.size() + 1) return std::nullopt;
  const auto differs = std::ranges::mismatch(squeezed, dims).in2;
  if (*differs != Dimension(1) ||
      !std::equal(differs + 1, dims.end(), squeezed.begin() + (differs - dims.begin())))
    return std::nullopt;
  return before_choice(seen, whole, static_cast<std::size_t>(differs - dims.begin()), 0);
}

// Through a Reshape that makes two axes of the last one, and the part of that axis which it reshapes: the
// whole can be reshaped instead.
std::optional<SeenTensor> before_heads(const SeenTensor& seen) {
  const Node& node = *seen.tensor.node;
  const auto* reshape = node.op().as<op::v1::Reshape>();
  if (reshape == nullptr || seen.view.cut) return std::nullopt;
  const auto part = part_of(node.input(0));
  auto pattern = constant_integers(node.input(1));
  const PartialShape& shape = seen.tensor.info().shape;
  if (!part || part->cut.count == 0 || !pattern || shape.rank() < 2) return std::nullopt;
  const PartialShape& whole = part->whole.info().shape;
  const std::size_t rank = shape.rank();
  const Dimension& heads = shape[rank - 2];
  const Dimension& width = shape[rank - 1];
  if (part->cut.axis + 1 != whole.rank() || !whole[part->cut.axis].is_static() || !heads.is_static() ||
      !width.is_static() || width.value() == 0 || heads.value() * width.value() != part->cut.count ||
      part->cut.first % width.value() != 0 || whole[part->cut.axis].value() % width.value() != 0) {
    return std::nullopt;
  }
  (*pattern)[rank - 2] = whole[part->cut.axis].value() / width.value();
  (*pattern)[rank - 1] = width.value();
  // A zero that is no dim to copy would be taken for one, and of the whole one may copy another dim.
  if (!reshape->special_zero && std::ranges::count(*pattern, 0) != 0) return std::nullopt;
  if (part->cut.axis < rank && (*pattern)[part->cut.axis] == 0) return std::nullopt;
  SeenTensor before = seen;
  before.tensor = part->whole;
  before.view.cut = {rank - 2, part->cut.first / width.value(), heads.value()};
  before.pattern = std::move(pattern);
  return before;
}

std::optional<SeenTensor> before_factor(const SeenTensor& seen) {
  const Node& node = *seen.tensor.node;
  const bool divides = node.op().is<op::v1::Divide>();
  const auto operands =
      divides ? std::optional(std::pair(node.input(1), node.input(0)))
              : either_way(node, [](const Output& operand) { return repeated_number(operand).has_value(); });
  const auto number = operands ? repeated_number(operands->first) : std::nullopt;
  if (!number || (divides && *number == 0)) return std::nullopt;
  const PartialShape& shape = operands->second.info().shape;
  // The number's shape must not widen the result.
  if (shape != seen.tensor.info().shape ||
      (!shape.is_static() && operands->first.info().shape.element_count() != Dimension(1))) {
    return std::nullopt;
  }
  SeenTensor before = seen;
  before.tensor = operands->second;
  before.factor = divides ? seen.factor / *number : seen.factor * *number;
  return before;
}

// Through what repeats each matrix of the view.
std::optional<SeenTensor> before_repetition(const SeenTensor& seen) {
  const auto repetition = repetition_of(seen.tensor);
  const std::vector<std::size_t>& order = seen.view.order;
  if (!repetition || seen.view.cut || order.size() < 3 || order[order.size() - 3] != repetition->axis)
    return std::nullopt;
  SeenTensor before = seen;
  before.tensor = repetition->tensor;
  before.repeats = repetition->times;
  return before;
}

// One step further; empty at the end.
std::optional<SeenTensor> before(const SeenTensor& seen) {
  const Node& node = *seen.tensor.node;
  const Op& op = node.op();
  if (seen.pattern || node.inputs().empty() || !node.input(0).info().shape.has_rank()) return std::nullopt;
  if (op.is<op::v1::Transpose>()) return before_transpose(seen);
  // Nothing else is seen through what repeats.
  if (seen.repeats != 1) return std::nullopt;
  if (op.is<op::v1::Multiply>() || op.is<op::v1::Divide>()) return before_factor(seen);
  if (gathers(op)) return before_gather(seen);
  if (const auto part = part_of(seen.tensor)) return before_part(seen, *part);
  if (!only_changes_shape(op)) return std::nullopt;
  if (auto repetition = before_repetition(seen)) return repetition;
  auto heads = before_heads(seen);
  return heads ? heads : before_squeeze(seen);
}

}  // namespace

Output SeenTensor::put(Model::Insertions& insertions, const Node& position) const {
  if (!pattern) return tensor;
  const std::string name = position.name() + "/heads";
  const Output shape = insert_integers(insertions, position, *pattern, name + "/shape");
  op::v1::Reshape reshape;
  reshape.special_zero = true;
  return insertions.before(position, reshape, {tensor, shape}, name);
}

SeenTensor trace_back(const SeenTensor& start, const std::function<bool(const SeenTensor&)>& accepts) {
  // No model has more in a row; many operations may see the same ones.
  constexpr int kMostSteps = 32;
  SeenTensor best = start;
  auto seen = before(start);
  for (int step = 0; seen && step < kMostSteps; ++step, seen = before(*seen)) {
    if (accepts(*seen)) best = *seen;
  }
  return best;
}

}  // namespace ir::passes
