#include <array>
#include <vector>

#include "ir_runtime/ops/quantization.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {

namespace {

// The FakeQuantize that `node` is: one range for all elements, or one for each channel of a convolution.
std::vector<kernels::Quantization> quantizations(const Node& node, const Fusable& fusable) {
  if (const auto quantization = quantization_function(node)) return {*quantization};
  const auto* op = node.op().as<op::v0::FakeQuantize>();
  if (op == nullptr || op->auto_broadcast == op::AutoBroadcast::pdpd ||
      !fusable.takes_functions_of_channels())
    return {};
  std::array<std::optional<Tensor>, 4> limits;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    limits[i] = fusable.per_channel(node.input(i + 1));
    if (!limits[i]) return {};
  }
  std::vector<kernels::Quantization> list;
  for (std::size_t c = 0; c < static_cast<std::size_t>(limits[0]->size()); ++c) {
    const auto limit = [&](std::size_t i) { return limits[i]->data<float>()[c]; };
    list.emplace_back(limit(0), limit(1), limit(2), limit(3), static_cast<std::size_t>(op->levels));
  }
  return list;
}

// Sums are seldom numbers that lie between two levels; of those that a clamp ends at there may be many, and
// of what other functions make of small sums, too.
void expect_results(kernels::PostFunctions& functions) {
  const auto clamp = op::clamp_of(functions);
  if (!clamp) return;
  for (kernels::Quantization& quantization : functions.quantization)
    quantization.expect(std::array{0.0F, clamp->low, clamp->high});
}

}  // namespace

bool fuse_quantization(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    if (!node->op().is<op::v0::FakeQuantize>() || !readers.single(node->input(0))) continue;
    auto fusable = Fusable::of(node->input(0));
    if (!fusable || !fusable->takes_quantization()) continue;
    fusable->functions.quantization = quantizations(*node, *fusable);
    if (fusable->functions.quantization.empty()) continue;
    expect_results(fusable->functions);
    fusable->put(*node);
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
