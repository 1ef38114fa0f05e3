#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/ops/fused_elementwise.h"
#include "runtime/ops/fused_prologue.h"
#include "runtime/ops/fused_separable.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::IntegerGrid;

// Of values that come from any of `list`, each of which has a grid by `grid_of_one`.
template <class List, class GridOfOne>
std::optional<IntegerGrid> common_grid(const List& list, const GridOfOne& grid_of_one) {
  std::optional<IntegerGrid> common;
  for (const auto& one : list) {
    const std::optional<IntegerGrid> grid = grid_of_one(one);
    if (!grid || (common && (common->step != grid->step || common->offset != grid->offset)))
      return std::nullopt;
    common = IntegerGrid{grid->step, std::min(grid->low, common ? common->low : grid->low),
                         std::max(grid->high, common ? common->high : grid->high), grid->offset};
  }
  return common;
}

std::optional<IntegerGrid> grid_of(const std::vector<kernels::Quantization>& quantizations) {
  return common_grid(quantizations, kernels::integer_grid);
}

std::optional<IntegerGrid> grid_of_chain(const op::FusedElementwise& chain) {
  const auto* quantization = std::get_if<kernels::Quantization>(&chain.stages.back().function);
  return quantization != nullptr ? kernels::integer_grid(*quantization) : std::nullopt;
}

// What a fused operation ends with.
const op::FusedTail* tail_of(const Op& op) {
  if (const auto* fused = op.as<op::FusedConvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedGroupConvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedDeconvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedGroupDeconvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedMatMul>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedPrologueConvolution>()) return &fused->convolution.tail;
  if (const auto* fused = op.as<op::FusedSeparable>())
    return fused->projection ? &fused->projection->tail : &fused->depthwise.tail;
  return nullptr;
}

// Looks for where values come from.
class GridSearch {
 public:
  std::optional<IntegerGrid> of(const Output& value) {
    if (steps_left_ == 0) return std::nullopt;
    --steps_left_;
    const Node& node = *value.node;
    if (const op::FusedTail* tail = tail_of(node.op())) return grid_of(tail->functions.quantization);
    if (const auto quantization = quantization_function(node)) return kernels::integer_grid(*quantization);
    if (const auto* chain = node.op().as<op::FusedElementwise>()) return grid_of_chain(*chain);
    return common_grid(node.inputs().first(inputs_passed_on(node)),
                       [this](const Output& input) { return of(input); });
  }

 private:
  // Nodes that are looked at, each as often as paths lead there.
  std::size_t steps_left_ = 100;
};

template <class Core>
bool note_input(Node& node) {
  op::Fused<Core> operation;
  if (const auto* fused = node.op().as<op::Fused<Core>>()) {
    operation = *fused;
  } else if (const auto* plain = node.op().as<Core>()) {
    operation.core = *plain;
  } else {
    return false;
  }
  if (node.output(0).type != ElementType::f32 || constant_of(node.input(1)) == nullptr) return false;
  operation.input_grid = GridSearch().of(node.input(0));
  if (!operation.input_grid) return false;
  rewrite(node, std::move(operation), {node.inputs().begin(), node.inputs().end()});
  return true;
}

bool note_inputs_of_chain(Node& node) {
  const auto* found = node.op().as<op::FusedSeparable>();
  if (found == nullptr) return false;
  op::FusedSeparable chain = *found;
  std::optional<IntegerGrid> in_front;
  std::optional<IntegerGrid> behind;
  if (chain.expansion) in_front = chain.expansion->input_grid = GridSearch().of(node.input(0));
  if (chain.projection)
    behind = chain.projection->input_grid = grid_of(chain.depthwise.tail.functions.quantization);
  if (!in_front && !behind) return false;
  rewrite(node, std::move(chain), {node.inputs().begin(), node.inputs().end()});
  return true;
}

}  // namespace

bool find_integer_inputs(Model& model) {
  bool changed = false;
  for (const auto& node : model.nodes()) {
    changed = note_input<op::v1::Convolution>(*node) || note_input<op::v1::GroupConvolution>(*node) ||
              note_input<op::v0::MatMul>(*node) || note_inputs_of_chain(*node) || changed;
  }
  return changed;
}

}  // namespace ir::passes
