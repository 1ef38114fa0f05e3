// Which constants kernels may keep packed together with other kernels.
#ifndef RUNTIME_EXECUTION_SHAREABLE_CONSTANTS_H_
#define RUNTIME_EXECUTION_SHAREABLE_CONSTANTS_H_

#include <span>
#include <vector>

#include "ir_runtime/model.h"
#include "ir_runtime/ops/infrastructure.h"

namespace ir {

/// The elements of a node that is a constant of the model, if they are there and f32; else empty. What is
/// constant for one plan only, or for one run, does not live as long as the model, and something else may
/// come to lie in its place.
inline std::span<const float> floats_of_constant(const Node& node) {
  const auto* constant = node.op().as<op::v0::Constant>();
  if (constant == nullptr || constant->value == nullptr) return {};
  const Tensor& value = *constant->value;
  return value.element_type() == ElementType::f32 ? value.data<float>() : std::span<const float>();
}

/// Those that `node` reads, of the nodes that `is_wanted` holds for.
template <class F>
std::vector<std::span<const float>> shareable_constants(const Node& node, const F& is_wanted) {
  std::vector<std::span<const float>> constants;
  for (const Output& input : node.inputs()) {
    if (!is_wanted(input.node)) continue;
    if (const auto floats = floats_of_constant(*input.node); !floats.empty()) constants.push_back(floats);
  }
  return constants;
}
inline std::vector<std::span<const float>> shareable_constants(const Node& node) {
  return shareable_constants(node, [](const Node*) { return true; });
}

}  // namespace ir

#endif  // RUNTIME_EXECUTION_SHAREABLE_CONSTANTS_H_
