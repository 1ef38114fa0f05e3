#include "runtime/passes/functions.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {

bool fuse_quantization(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    const auto quantization = quantization_function(*node);
    if (!quantization || !readers.single(node->input(0))) continue;
    auto fusable = Fusable::of(node->input(0));
    if (!fusable || fusable->quantization) continue;
    fusable->quantization = *quantization;
    fusable->put(*node);
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
