#include "runtime/passes/gates.h"

#include <algorithm>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"

namespace ir::passes {
namespace {

bool is_gate(const Node& node) {
  return node.op().is<op::v0::Sigmoid>() || node.op().is<op::v5::HSigmoid>() ||
         node.op().is<op::v0::HardSigmoid>();
}

}  // namespace

bool has_gates(const Model& model) {
  return std::ranges::any_of(model.nodes(), [](const auto& node) {
    if (!node->op().template is<op::v1::Multiply>()) return false;
    for (const std::size_t side : {0U, 1U}) {
      const Output gate = node->input(side);
      if (is_gate(*gate.node) && gate.node->input(0) != node->input(1 - side)) return true;
    }
    return false;
  });
}

}  // namespace ir::passes
