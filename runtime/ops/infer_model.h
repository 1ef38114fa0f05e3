// Inference of a whole model for given inputs, leaving the model as it is.
#ifndef RUNTIME_OPS_INFER_MODEL_H_
#define RUNTIME_OPS_INFER_MODEL_H_

#include <span>
#include <unordered_map>
#include <vector>

#include "ir_runtime/model.h"

namespace ir {

/// What is known of every value of a model, by node: what was set, else what the node itself knows.
class ModelValues {
 public:
  void set(const Node& node, std::vector<ValueInfo> outputs) { values_[&node] = std::move(outputs); }
  [[nodiscard]] std::span<const ValueInfo> of(const Node& node) const {
    const auto found = values_.find(&node);
    return found != values_.end() ? std::span<const ValueInfo>(found->second) : node.outputs();
  }
  [[nodiscard]] const ValueInfo& of(const Output& output) const { return of(*output.node)[output.index]; }
  /// The inputs of a node.
  [[nodiscard]] std::vector<ValueInfo> inputs_of(const Node& node) const;

 private:
  std::unordered_map<const Node*, std::vector<ValueInfo>> values_;
};

/// Infers every node for these parameters (in the order of `Model::parameters()`). Throws InferenceFailure,
/// whose message names the node.
ModelValues infer_model(const Model& model, std::span<const ValueInfo> parameters);

}  // namespace ir

#endif  // RUNTIME_OPS_INFER_MODEL_H_
