// Which constants kernels may keep packed together with kernels of other plans.
#ifndef RUNTIME_EXECUTION_SHAREABLE_CONSTANTS_H_
#define RUNTIME_EXECUTION_SHAREABLE_CONSTANTS_H_

#include <span>
#include <utility>
#include <vector>

#include "ir_runtime/model.h"
#include "ir_runtime/ops/infrastructure.h"

namespace ir {

/// Those of the model that `node` reads as f32. What is constant for one plan only, or for one run, does not
/// live as long as the model, and something else may come to lie in its place.
inline std::vector<std::span<const float>> shareable_constants(const Node& node) {
  std::vector<std::span<const float>> constants;
  for (const Output& input : node.inputs()) {
    if (!input.node->op().is<op::v0::Constant>()) continue;
    const auto& value = input.node->op().as<op::v0::Constant>()->value;
    if (value != nullptr && value->element_type() == ElementType::f32)
      constants.push_back(std::as_const(*value).data<float>());
  }
  return constants;
}

}  // namespace ir

#endif  // RUNTIME_EXECUTION_SHAREABLE_CONSTANTS_H_
