#include <algorithm>
#include <utility>

#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// Whether the node transposes matrices: exchanges the last two axes and leaves the others.
bool transposes_matrices(const Node& node) {
  auto order = transposed_order(node);
  if (!order || order->size() < 2) return false;
  std::swap(order->end()[-2], order->end()[-1]);
  return std::ranges::is_sorted(*order);
}

}  // namespace

bool fuse_matrix_transpose(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    const auto* product = node->op().as<op::v0::MatMul>();
    if (product == nullptr) continue;
    std::array transposed{product->transpose_a, product->transpose_b};
    std::array operands{node->input(0), node->input(1)};
    bool found = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      // What others read is made anyway.
      if (!readers.single(operands[i]) || !transposes_matrices(*operands[i].node)) continue;
      operands[i] = operands[i].node->input(0);
      transposed[i] = !transposed[i];
      found = true;
    }
    if (!found) continue;
    rewrite(*node, op::v0::MatMul(transposed[0], transposed[1]), {operands[0], operands[1]});
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
