#include <optional>
#include <utility>
#include <vector>

#include "runtime/ops/fused_separable.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::IntegerGrid;

template <class Core>
bool note_grid(Node& node) {
  return note_in<Core>(node, [&](op::Fused<Core>& operation) {
    operation.input_grid = grid_of(node.input(0));
    return operation.input_grid.has_value();
  });
}

// Of values that go through quantisations, one for all channels or one for each.
std::vector<IntegerGrid> grids_of(const std::vector<kernels::Quantization>& quantizations) {
  std::vector<IntegerGrid> grids;
  for (const kernels::Quantization& quantization : quantizations) {
    const std::optional<IntegerGrid> grid = kernels::integer_grid(quantization);
    if (!grid) return {};
    grids.push_back(*grid);
  }
  return grids;
}

bool note_grids_of_chain(Node& node) {
  const auto* found = node.op().as<op::FusedSeparable>();
  if (found == nullptr) return false;
  op::FusedSeparable chain = *found;
  if (chain.expansion) {
    chain.expansion->input_grid = grid_of(node.input(0));
    chain.depthwise_grids = grids_of(chain.expansion->tail.functions.quantization);
  } else if (const auto grid = grid_of(node.input(0))) {
    chain.depthwise_grids = {*grid};
  } else {
    chain.depthwise_grids = grids_of(last_functions(*node.input(0).node).quantization);
  }
  if (chain.projection) chain.projection->input_grid = grid_of(chain.depthwise.tail.functions.quantization);
  const bool is_known = !chain.depthwise_grids.empty() || (chain.expansion && chain.expansion->input_grid) ||
                        (chain.projection && chain.projection->input_grid);
  if (is_known) rewrite(node, std::move(chain), {node.inputs().begin(), node.inputs().end()});
  return is_known;
}

}  // namespace

bool find_integer_inputs(Model& model) {
  bool changed = false;
  for (const auto& node : model.nodes()) {
    changed = note_grid<op::v1::Convolution>(*node) || note_grid<op::v1::GroupConvolution>(*node) ||
              note_grid<op::v0::MatMul>(*node) || note_grids_of_chain(*node) || changed;
  }
  return changed;
}

}  // namespace ir::passes
