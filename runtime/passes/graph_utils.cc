#include "runtime/passes/graph_utils.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/infer.h"

namespace ir::passes {

std::vector<Node*> nodes_of(const Model& model) {
  std::vector<Node*> nodes;
  nodes.reserve(model.nodes().size());
  for (const auto& node : model.nodes()) nodes.push_back(node.get());
  return nodes;
}

namespace {

constexpr auto kIsBefore = [](const Output& a, const Output& b) {
  return a.node == b.node ? a.index < b.index : std::less<>()(a.node, b.node);
};

}  // namespace

ReaderCounts::ReaderCounts(const Model& model) {
  for (const auto& node : model.nodes())
    reads_.insert(reads_.end(), node->inputs().begin(), node->inputs().end());
  std::ranges::sort(reads_, kIsBefore);
}

std::size_t ReaderCounts::of(const Output& value) const {
  const auto [first, last] = std::equal_range(reads_.begin(), reads_.end(), value, kIsBefore);
  return static_cast<std::size_t>(last - first);
}

NodePlaces::NodePlaces(const Model& model) {
  for (const auto& node : model.nodes()) places_.emplace(node.get(), places_.size());
}

void Replacements::apply(const Model& model) const {
  if (others_.empty()) return;
  for (const auto& node : model.nodes()) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      const Output& read = node->input(i);
      const auto other = others_.find({read.node, read.index});
      if (other != others_.end() && other->second.node != node.get()) node->set_input(i, other->second);
    }
  }
}

std::optional<AxisOrder> transposed_order(const Node& node) {
  const PartialShape& shape = node.output(0).shape;
  if (!node.op().is<op::v1::Transpose>() || !shape.has_rank()) return std::nullopt;
  const auto axes = constant_integers(node.input(1));
  if (!axes) return std::nullopt;
  AxisOrder order(axes->begin(), axes->end());
  if (order.empty()) {
    for (std::size_t axis = shape.rank(); axis > 0; --axis) order.push_back(axis - 1);
  }
  return order;
}

std::optional<double> repeated_number(const Output& value) {
  const Tensor* constant = constant_of(value);
  if (constant == nullptr || constant->size() == 0 || !is_real(constant->element_type())) return std::nullopt;
  // Constants may be large, and most differ soon. Codes are of weights.
  if (constant->codes() != nullptr && constant->size() > 1) return std::nullopt;
  const std::size_t size = constant->byte_size() / static_cast<std::size_t>(constant->size());
  const auto* const bytes = static_cast<const std::byte*>(constant->raw());
  if (std::memcmp(bytes, bytes + size, constant->byte_size() - size) != 0) return std::nullopt;
  // Mostly f32, and asked for again and again.
  const double number = constant->element_type() == ElementType::f32
                            ? double{*static_cast<const float*>(constant->raw())}
                            : reals_of(constant->constant_part(constant->element_type(), {1}, 0)).front();
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

bool surely_same_shape(const ValueInfo& a, const ValueInfo& b) {
  return a.shape.is_static() && a.shape == b.shape;
}

bool surely_keeps_shape(const Node& node, const Output& value) {
  const PartialShape& shape = value.info().shape;
  return shape.has_rank() && shape == node.output(0).shape;
}

std::optional<std::vector<std::size_t>> known_axes(const Output& axes, const PartialShape& shape) {
  const auto numbers = constant_integers(axes);
  if (!numbers || !shape.has_rank()) return std::nullopt;
  return op::normalized_axes(*numbers, shape.rank());
}

std::optional<std::vector<std::int64_t>> constant_integers(const Output& value) {
  const Tensor* constant = constant_of(value);
  if (constant == nullptr || is_real(constant->element_type())) return std::nullopt;
  return integers_of(*constant);
}

bool only_changes_shape(const Op& op) {
  return op.is<op::v1::Reshape>() || op.is<op::v0::Squeeze>() || op.is<op::v15::Squeeze>() ||
         op.is<op::v0::Unsqueeze>();
}

bool is_shape_of(const Op& op) { return op.is<op::v0::ShapeOf>() || op.is<op::v3::ShapeOf>(); }

bool gathers(const Op& op) {
  if (const auto* gather = op.as<op::v7::Gather>()) return gather->batch_dims == 0;
  if (const auto* gather = op.as<op::v8::Gather>()) return gather->batch_dims == 0;
  return op.is<op::v1::Gather>();
}

bool gathers_slices(const Node& node) {
  if (!gathers(node.op())) return false;
  const auto axis = constant_integers(node.input(2));
  return axis && axis->size() == 1 && (*axis)[0] == 0;
}

void rewrite(Node& node, Op op, std::vector<Output> inputs) {
  node.op() = std::move(op);
  node.set_inputs(std::move(inputs));
  infer_node(node);
}

Output insert_constant(Model::Insertions& insertions, const Node& position, Tensor value, std::string name) {
  return insertions.before(position, op::v0::Constant(std::move(value)), {}, std::move(name));
}

Output insert_integers(Model::Insertions& insertions, const Node& position,
                       std::span<const std::int64_t> values, std::string name) {
  return insert_constant(insertions, position,
                         Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values),
                         std::move(name));
}

}  // namespace ir::passes
