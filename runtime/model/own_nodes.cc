#include "runtime/model/own_nodes.h"

#include <fmt/format.h>

#include <unordered_set>

#include "ir_runtime/subgraph.h"

namespace ir {

Error not_an_own_node(const Node& node, std::size_t index) {
  return Error({{.code = "IR-port-unknown",
                 .where = node.where(),
                 .layer = {node.layer_id(), node.name(), std::string(node.op().type())},
                 .message = fmt::format("input {} comes from no layer that precedes it in its model", index),
                 .hint = "A layer of another model, or of the one around a body, is no input; a body takes "
                         "values through its parameters.",
                 .port = {PortKind::input, fmt::format("{}", index)}}});
}

void require_own_nodes(const Model& model) {
  std::unordered_set<const Node*> earlier;
  for (const auto& node : model.nodes()) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (!earlier.contains(node->input(i).node)) throw not_an_own_node(*node, i);
    }
    for (const Subgraph& body : subgraphs_of(node->op())) {
      if (body.body != nullptr) require_own_nodes(*body.body);
    }
    earlier.insert(node.get());
  }
}

}  // namespace ir
