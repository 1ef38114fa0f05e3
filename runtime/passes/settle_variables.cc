#include "runtime/passes/settle_variables.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "ir_runtime/ops/state.h"
#include "runtime/model/state.h"

namespace ir {
namespace {

bool states_shape(const Op& op) {
  const auto* read = op.as<op::v6::ReadValue>();
  return read != nullptr && read->variable_type != ElementType::dynamic && read->variable_shape.has_rank();
}

// The ReadValue as one that states what inference says of it; null when inference does not know the rank.
op::v6::ReadValue* made_explicit(Node& node) {
  const ValueInfo& value = node.output(0);
  if (value.type == ElementType::dynamic || !value.shape.has_rank()) return nullptr;
  op::v6::ReadValue read;
  read.variable_id = *variable_read_by(node.op());
  read.variable_type = value.type;
  read.variable_shape = value.shape;
  node.op() = read;
  return node.op().as<op::v6::ReadValue>();
}

bool contains(const Dimension& dim, const Dimension& other) {
  return dim.min() <= other.min() && other.max() <= dim.max();
}

// Lets the variable take what is assigned, or anything of that rank; whether that changed anything.
bool loosen(op::v6::ReadValue& read, const Node& assign, bool takes_anything) {
  const PartialShape& value = assign.input(0).info().shape;
  PartialShape& shape = read.variable_shape;
  if (value.has_rank() && value.rank() != shape.rank()) {
    throw Error(
        {Diagnostic{Severity::error,
                    "IR-variable-shape",
                    assign.where(),
                    {assign.layer_id(), assign.name(), std::string(assign.op().type())},
                    fmt::format("the variable '{}' starts with shape {} and is assigned with shape {}",
                                read.variable_id, to_string(shape), to_string(value)),
                    {}}});
  }
  bool changed = false;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const Dimension wanted = takes_anything || !value.has_rank() ? Dimension() : value[axis];
    if (contains(shape[axis], wanted)) continue;
    shape[axis] = Dimension();
    changed = true;
  }
  return changed;
}

}  // namespace

void settle_variables(Model& model) {
  std::multimap<std::string, op::v6::ReadValue*, std::less<>> reads;
  for (const auto& node : model.nodes()) {
    const std::string* id = variable_read_by(node->op());
    if (id == nullptr || states_shape(node->op())) continue;
    if (op::v6::ReadValue* read = made_explicit(*node)) reads.emplace(read->variable_id, read);
  }
  if (reads.empty()) return;
  // Every round loses a dim, which mostly makes others unknown in the next round. Chains of variables could
  // take as many rounds as they are long.
  constexpr int kMostRounds = 16;
  bool changed = true;
  for (int round = 1; changed; ++round) {
    changed = false;
    for (const auto& node : model.nodes()) {
      const std::string* id = variable_assigned_by(node->op());
      if (id == nullptr) continue;
      const auto [first, last] = reads.equal_range(*id);
      for (auto read = first; read != last; ++read)
        changed = loosen(*read->second, *node, round == kMostRounds) || changed;
    }
    if (changed) model.infer();
  }
}

}  // namespace ir
