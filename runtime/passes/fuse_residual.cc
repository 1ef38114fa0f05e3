#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {

bool fuse_residual(Model& model) {
  const ReaderCounts readers(model);
  const NodePlaces places(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    if (!node->op().is<op::v1::Add>()) continue;
    const auto keeps_shape = [&](const Output& value) {
      return surely_same_shape(value.info(), node->output(0));
    };
    if (!keeps_shape(node->input(0)) || !keeps_shape(node->input(1))) continue;
    // The later operand is the one that may wait for the other one.
    const bool first_is_later = places.of(*node->input(0).node) > places.of(*node->input(1).node);
    for (const std::size_t candidate : {first_is_later ? 0U : 1U, first_is_later ? 1U : 0U}) {
      const Output value = node->input(candidate);
      const Output other = node->input(1 - candidate);
      if (!readers.single(value)) continue;
      auto fusable = Fusable::of(value);
      if (!fusable || !fusable->takes_summand() || fusable->residual) continue;
      fusable->residual = other;
      fusable->put(*node);
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace ir::passes
