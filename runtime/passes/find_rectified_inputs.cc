#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

bool is_rectifier(const kernels::UnarySpec& function) {
  return function.op == kernels::UnaryOp::relu ||
         (function.op == kernels::UnaryOp::clamp && function.params.alpha == 0);
}

// Levels from 0 on: zeros stay what they are, and what is below becomes 0.
bool is_rectifier(const kernels::Quantization& quantization) {
  return quantization.in_low == 0 && quantization.out_low == 0;
}

template <class Functions>
bool all_rectify(const Functions& functions) {
  return std::ranges::all_of(functions, [](const auto& function) { return is_rectifier(function); });
}

bool ends_with_rectifier(const Node* node) {
  const kernels::PostFunctions last = last_functions(*node);
  if (!all_rectify(last.activation) || !all_rectify(last.quantization)) return false;
  // Sums are of either sign; what else is quantised may be positive anyway, as averages of rectified values.
  const bool are_sums = tail_of(node->op()) != nullptr && !last.quantization.empty();
  return !last.activation.empty() || are_sums;
}

template <class Predicate>
bool all_come_from(const Output& value, const Predicate& is_such) {
  const std::vector<const Node*> sources = sources_of(value);
  return !sources.empty() && std::ranges::all_of(sources, is_such);
}

class RectifiedValues {
 public:
  bool contain(const Output& value) {
    return all_come_from(value, [&](const Node* node) {
      const auto quantization = quantization_function(*node);
      return quantization ? is_rectifier(*quantization) && come_from_rectifiers(node->input(0))
                          : ends_with_rectifier(node);
    });
  }

 private:
  // Many quantisations may read the same value.
  bool come_from_rectifiers(const Output& value) {
    const auto [known, is_new] = known_.try_emplace({value.node, value.index}, false);
    if (is_new) known->second = all_come_from(value, ends_with_rectifier);
    return known->second;
  }

  std::map<std::pair<const Node*, std::size_t>, bool> known_;
};

template <class Core>
bool note_rectified_input(Node& node, RectifiedValues& rectified) {
  return note_in<Core>(node, [&](op::Fused<Core>& operation) {
    if (operation.input_is_rectified || !rectified.contain(node.input(0))) return false;
    operation.input_is_rectified = true;
    return true;
  });
}

}  // namespace

bool find_rectified_inputs(Model& model) {
  RectifiedValues rectified;
  bool changed = false;
  for (const auto& node : model.nodes()) {
    changed = note_rectified_input<op::v0::MatMul>(*node, rectified) ||
              note_rectified_input<op::CompressedMatMul>(*node, rectified) || changed;
  }
  return changed;
}

}  // namespace ir::passes
