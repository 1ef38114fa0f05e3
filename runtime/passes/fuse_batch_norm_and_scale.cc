#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/batch_norm.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

Tensor number(float value) { return Tensor::of<float>({}, {value}); }

// The value that is scaled, when the node is of a kind that scales.
std::optional<Output> scaled_value(const Node& node) {
  if (const auto norm = batch_norm_of(node)) return norm->data;
  if (aligns_last_axes<op::v1::Divide>(node.op())) return node.input(0);
  if (!aligns_last_axes<op::v1::Multiply>(node.op())) return std::nullopt;
  const auto operands =
      either_way(node, [](const Output& operand) { return constant_of(operand) == nullptr; });
  return operands ? std::optional(operands->first) : std::nullopt;
}

std::optional<Affine> affine_of(const Node& node, const Fusable& fusable, const Output& value) {
  if (const auto norm = batch_norm_of(node)) {
    return fusable.channel_axis() == 1U ? affine_of(*norm) : std::nullopt;
  }
  const Output& other = node.input(0) == value ? node.input(1) : node.input(0);
  auto factor = fusable.per_channel(other);
  if (!factor) return std::nullopt;
  if (node.op().is<op::v1::Divide>()) {
    factor = computed(op::v1::Divide(), number(1.0F), *factor);
    const auto is_finite = [](float one) { return std::isfinite(one); };
    if (!std::ranges::all_of(factor->data<float>(), is_finite)) return std::nullopt;
  }
  return Affine{*factor, std::nullopt};
}

// Weights that are finite stay so. (What becomes 0 counts for nothing beside them.)
bool are_survived(const Tensor& factors, const Tensor& scaled) {
  constexpr float kHarmless = 0x1p60F;
  const auto is_harmless = [](float one) { return std::abs(one) <= kHarmless; };
  const auto is_finite = [](float one) { return std::isfinite(one); };
  return std::ranges::all_of(factors.data<float>(), is_harmless) ||
         std::ranges::all_of(scaled.data<float>(), is_finite);
}

}  // namespace

bool fuse_batch_norm_and_scale(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  std::unordered_set<const Node*> scaled_weights;
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    const auto value = scaled_value(*node);
    if (!value || !readers.single(*value)) continue;
    auto fusable = Fusable::of(*value);
    if (!fusable || !fusable->takes_factor() || !fusable->has_constant_weights()) continue;
    // The next call finds weights in between dropped: a long chain would take memory for all of them.
    if (scaled_weights.contains(fusable->inputs[1].node)) continue;
    const auto affine = affine_of(*node, *fusable, *value);
    if (!affine) continue;
    const Tensor weights = fusable->scaled_weights(affine->factor);
    if (!are_survived(affine->factor, weights)) continue;
    const auto constant = [&](const Tensor& tensor, std::string_view what) {
      return insert_constant(insertions, *node, tensor, fmt::format("{}/{}", node->name(), what));
    };
    std::optional<Tensor> bias = affine->summand;
    if (fusable->bias) {
      const Tensor scaled = computed(op::v1::Multiply(), *constant_of(*fusable->bias), affine->factor);
      bias = bias ? computed(op::v1::Add(), scaled, *bias) : scaled;
    }
    fusable->inputs[1] = constant(weights, "weights");
    scaled_weights.insert(fusable->inputs[1].node);
    if (bias) fusable->bias = constant(*bias, "bias");
    fusable->put(*node);
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
