#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/softmax.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// The axis of a reduction of `value` over that one alone, which keeps its dims.
template <class Reduction>
std::optional<std::size_t> reduced_axis(const Node& node, const Output& value) {
  const auto* reduction = node.op().as<Reduction>();
  if (reduction == nullptr || !reduction->keep_dims || node.input(0) != value) return std::nullopt;
  const auto axes = known_axes(node.input(1), value.info().shape);
  return axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
}

struct Exponents {
  Output x;
  std::size_t axis = 0;
};

// What `value` is exp(x - max(x)) of, with the largest elements along an axis.
std::optional<Exponents> exponents_of(const Output& value) {
  if (!value.node->op().is<op::v0::Exp>()) return std::nullopt;
  const Node& difference = *value.node->input(0).node;
  if (!difference.op().is<op::v1::Subtract>()) return std::nullopt;
  const Output& x = difference.input(0);
  const auto axis = reduced_axis<op::v1::ReduceMax>(*difference.input(1).node, x);
  return axis ? std::optional(Exponents{x, *axis}) : std::nullopt;
}

bool fuse_quotient(Node& node) {
  if (!node.op().is<op::v1::Divide>()) return false;
  const Output& powers = node.input(0);
  const auto exponents = exponents_of(powers);
  if (!exponents || reduced_axis<op::v1::ReduceSum>(*node.input(1).node, powers) != exponents->axis ||
      exponents->x.info().shape != node.output(0).shape)
    return false;
  op::v8::SoftMax softmax;
  softmax.axis = static_cast<std::int64_t>(exponents->axis);
  rewrite(node, softmax, {exponents->x});
  return true;
}

}  // namespace

bool fuse_softmax(Model& model) {
  bool changed = false;
  for (const auto& node : model.nodes()) {
    if (node->output_count() != 1 || !is_real(node->output(0).type)) continue;
    changed = fuse_quotient(*node) || changed;
  }
  return changed;
}

}  // namespace ir::passes
