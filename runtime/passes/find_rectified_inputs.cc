#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/ops/fused_elementwise.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::UnarySpec;

bool is_rectifier(const UnarySpec& function) {
  return function.op == kernels::UnaryOp::relu ||
         (function.op == kernels::UnaryOp::clamp && function.params.alpha == 0);
}

// Levels from 0 on: what is below becomes 0.
bool is_rectifier(const kernels::Quantization& quantization) {
  return quantization.in_low == 0 && quantization.out_low == 0;
}

bool ends_with_rectifier(const Node* node) {
  if (const op::FusedTail* tail = tail_of(node->op())) {
    const kernels::PostFunctions& functions = tail->functions;
    if (!functions.quantization.empty())
      return std::ranges::all_of(functions.quantization, [](const auto& one) { return is_rectifier(one); });
    return functions.activation.size() == 1 && is_rectifier(functions.activation.front());
  }
  if (const auto* chain = node->op().as<op::FusedElementwise>()) {
    const auto& last = chain->stages.back().function;
    if (const auto* quantization = std::get_if<kernels::Quantization>(&last))
      return is_rectifier(*quantization);
    const auto* function = std::get_if<UnarySpec>(&last);
    return function != nullptr && is_rectifier(*function);
  }
  if (const auto quantization = quantization_function(*node)) return is_rectifier(*quantization);
  const auto function = unary_function(*node);
  return function && is_rectifier(*function);
}

bool is_rectified(const Output& value) {
  const std::vector<const Node*> sources = sources_of(value);
  return !sources.empty() && std::ranges::all_of(sources, ends_with_rectifier);
}

template <class Core>
bool note_input(Node& node) {
  auto operation = as_fused<Core>(node);
  if (!operation || operation->input_is_rectified || node.output(0).type != ElementType::f32 ||
      constant_of(node.input(1)) == nullptr || !is_rectified(node.input(0))) {
    return false;
  }
  operation->input_is_rectified = true;
  rewrite(node, *std::move(operation), {node.inputs().begin(), node.inputs().end()});
  return true;
}

}  // namespace

bool find_rectified_inputs(Model& model) {
  bool changed = false;
  for (const auto& node : model.nodes()) {
    changed = note_input<op::v0::MatMul>(*node) || note_input<op::CompressedMatMul>(*node) || changed;
  }
  return changed;
}

}  // namespace ir::passes
