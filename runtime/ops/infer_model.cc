#include "runtime/ops/infer_model.h"

#include <fmt/format.h>

#include "ir_runtime/ops/infrastructure.h"
#include "runtime/ops/infer.h"

namespace ir {

std::vector<ValueInfo> ModelValues::inputs_of(const Node& node) const {
  std::vector<ValueInfo> inputs;
  inputs.reserve(node.inputs().size());
  for (const Output& input : node.inputs()) inputs.push_back(of(input));
  return inputs;
}

ModelValues infer_model(const Model& model, std::span<const ValueInfo> parameters) {
  ModelValues values;
  for (std::size_t i = 0; i < parameters.size(); ++i) values.set(*model.parameters()[i], {parameters[i]});
  for (const auto& node : model.nodes()) {
    // Constants are what they are.
    if (node->op().is<op::v0::Parameter>() || node->op().is<op::v0::Constant>()) continue;
    try {
      values.set(*node, infer_outputs(node->op(), values.inputs_of(*node)));
    } catch (InferenceFailure& failure) {
      failure.message = fmt::format("layer '{}' ({}): {}", node->name(), node->op().type(), failure.message);
      // An input of the node is none of the caller's.
      failure.compared.input.reset();
      throw;
    }
  }
  return values;
}

}  // namespace ir
