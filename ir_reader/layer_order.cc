#include "ir_reader/layer_order.h"

#include "ir_runtime/ops/infrastructure.h"

namespace ir::reader {

std::vector<const Node*> in_layer_order(const Model& model) {
  std::vector<const Node*> order(model.parameters().begin(), model.parameters().end());
  for (const auto& node : model.nodes()) {
    const bool is_end = node->op().is<op::v0::Parameter>() || node->op().is<op::v0::Result>();
    if (!is_end) order.push_back(node.get());
  }
  order.insert(order.end(), model.results().begin(), model.results().end());
  return order;
}

}  // namespace ir::reader
