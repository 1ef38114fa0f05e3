#include "runtime/ops/infer_model.h"

#include <fmt/format.h>

#include "ir_runtime/ops/infrastructure.h"
#include "runtime/ops/infer.h"

namespace ir {
namespace {

// Every unknown dim of a value is told apart from those of others: shape subgraphs count from it.
void set_origins(std::vector<ValueInfo>& values) {
  for (ValueInfo& value : values) {
    for (std::size_t axis = 0; axis < value.shape.rank(); ++axis) {
      value.shape[axis] = value.shape[axis].with_origin();
    }
  }
}

}  // namespace

std::vector<ValueInfo> ModelValues::inputs_of(const Node& node) const {
  std::vector<ValueInfo> inputs;
  inputs.reserve(node.inputs().size());
  for (const Output& input : node.inputs()) inputs.push_back(of(input));
  return inputs;
}

ModelValues infer_model(const Model& model, std::span<const ValueInfo> parameters) {
  ModelValues values;
  const auto set = [&](const Node& node, std::vector<ValueInfo> outputs) {
    set_origins(outputs);
    values.set(node, std::move(outputs));
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) set(*model.parameters()[i], {parameters[i]});
  for (const auto& node : model.nodes()) {
    // Constants are what they are.
    if (node->op().is<op::v0::Parameter>() || node->op().is<op::v0::Constant>()) continue;
    try {
      set(*node, infer_outputs(node->op(), values.inputs_of(*node)));
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
