#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "runtime/ops/prepare.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// What is added to which value, if the node adds a constant.
struct Sum {
  Output value;
  Output summand;
  bool negated = false;
};

std::optional<Sum> sum_of(const Node& node) {
  if (aligns_last_axes<op::v1::Subtract>(node.op())) return Sum{node.input(0), node.input(1), true};
  if (!aligns_last_axes<op::v1::Add>(node.op())) return std::nullopt;
  const auto operands =
      either_way(node, [](const Output& operand) { return constant_of(operand) == nullptr; });
  if (!operands) return std::nullopt;
  return Sum{operands->first, operands->second};
}

}  // namespace

bool fuse_bias(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    const auto sum = sum_of(*node);
    if (!sum || !readers.single(sum->value)) continue;
    auto fusable = Fusable::of(sum->value);
    if (!fusable || !fusable->takes_summand()) continue;
    auto bias = fusable->per_channel(sum->summand);
    if (!bias) continue;
    if (sum->negated) bias = evaluate_constants(op::v0::Negative(), std::vector<Tensor>{*bias}).at(0);
    if (fusable->bias) bias = computed(op::v1::Add(), *constant_of(*fusable->bias), *bias);
    fusable->bias = insert_constant(insertions, *node, *bias, node->name() + "/bias");
    fusable->put(*node);
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
