#include "runtime/passes/gates.h"

#include <algorithm>
#include <optional>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/expected_sizes.h"

namespace ir::passes {
namespace {

bool is_sigmoid(const Node& node) {
  return node.op().is<op::v0::Sigmoid>() || node.op().is<op::v5::HSigmoid>() ||
         node.op().is<op::v0::HardSigmoid>();
}

}  // namespace

bool has_steep_gates(const Model& model) {
  // With products that are off by 5e-6, networks that are expected to reach 10 at most were off by 2e-5 to
  // 5e-5 in the end, one that is expected to reach 58 by 5e-4 to 3e-3.
  constexpr double kMostSize = 20;
  std::optional<ExpectedSizes> sizes;
  return std::ranges::any_of(model.nodes(), [&](const auto& node) {
    if (!node->op().template is<op::v1::Multiply>()) return false;
    for (const std::size_t side : {0U, 1U}) {
      const Node& gate = *node->input(side).node;
      if (!is_sigmoid(gate) || gate.input(0) == node->input(1 - side)) continue;
      if (!sizes) sizes.emplace(model);
      // A size that is no number is none that is known.
      if (!(sizes->mean_square(gate.input(0)) <= kMostSize * kMostSize)) return true;
    }
    return false;
  });
}

}  // namespace ir::passes
