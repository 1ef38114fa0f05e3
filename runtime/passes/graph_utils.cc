#include "runtime/passes/graph_utils.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/infrastructure.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/infer.h"

namespace ir::passes {

std::vector<Node*> nodes_of(const Model& model) {
  std::vector<Node*> nodes;
  nodes.reserve(model.nodes().size());
  for (const auto& node : model.nodes()) nodes.push_back(node.get());
  return nodes;
}

ReaderCounts::ReaderCounts(const Model& model) {
  for (const auto& node : model.nodes()) {
    for (const Output& input : node->inputs()) {
      std::vector<std::size_t>& counts = counts_[input.node];
      if (counts.size() <= input.index) counts.resize(input.index + 1, 0);
      ++counts[input.index];
    }
  }
}

std::size_t ReaderCounts::of(const Output& value) const {
  const auto found = counts_.find(value.node);
  return found == counts_.end() || found->second.size() <= value.index ? 0 : found->second[value.index];
}

std::optional<double> repeated_number(const Output& value) {
  const Tensor* constant = constant_of(value);
  if (constant == nullptr || constant->size() == 0 || !is_real(constant->element_type())) return std::nullopt;
  // Constants may be large, and most differ soon. Codes are of weights.
  if (constant->codes() != nullptr && constant->size() > 1) return std::nullopt;
  const std::size_t size = constant->byte_size() / static_cast<std::size_t>(constant->size());
  const auto* const bytes = static_cast<const std::byte*>(constant->raw());
  if (std::memcmp(bytes, bytes + size, constant->byte_size() - size) != 0) return std::nullopt;
  const double number = reals_of(constant->constant_part(constant->element_type(), {1}, 0)).front();
  return std::isnan(number) ? std::nullopt : std::optional(number);
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

bool gathers_slices(const Node& node) {
  const Op& op = node.op();
  const auto* of_v7 = op.as<op::v7::Gather>();
  const auto* of_v8 = op.as<op::v8::Gather>();
  if (!op.is<op::v1::Gather>() && of_v7 == nullptr && of_v8 == nullptr) return false;
  if ((of_v7 != nullptr && of_v7->batch_dims != 0) || (of_v8 != nullptr && of_v8->batch_dims != 0))
    return false;
  const auto axis = constant_integers(node.input(2));
  return axis && axis->size() == 1 && (*axis)[0] == 0;
}

void rewrite(Node& node, Op op, std::vector<Output> inputs) {
  node.op() = std::move(op);
  node.set_inputs(std::move(inputs));
  infer_node(node);
}

Output insert_constant(Model& model, const Node& position, Tensor value, std::string name) {
  return model.insert_before(position, op::v0::Constant(std::move(value)), {}, std::move(name));
}

Output insert_integers(Model& model, const Node& position, std::span<const std::int64_t> values,
                       std::string name) {
  return insert_constant(model, position,
                         Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values),
                         std::move(name));
}

}  // namespace ir::passes
