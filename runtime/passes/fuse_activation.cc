#include <limits>

#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::UnaryOp;
using kernels::UnarySpec;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A function of one value that a kernel can apply to its results.
struct Activation {
  Output value;
  UnarySpec spec;
};

// A limit on one side: Minimum or Maximum with one number.
std::optional<Activation> limit(const Node& node) {
  const bool upper = node.op().is<op::v1::Minimum>();
  if (!upper && !node.op().is<op::v1::Maximum>()) return std::nullopt;
  const auto operands =
      either_way(node, [](const Output& operand) { return repeated_number(operand).has_value(); });
  if (!operands) return std::nullopt;
  const auto& [constant, value] = *operands;
  const double number = *repeated_number(constant);
  return Activation{value, {UnaryOp::clamp, {upper ? -kInfinity : number, upper ? number : kInfinity}}};
}

std::optional<Activation> activation_of(const Node& node) {
  if (const auto spec = unary_function(node)) return Activation{node.input(0), *spec};
  return limit(node);
}

// Limits on both sides may come as two operations.
std::optional<UnarySpec> combined(const UnarySpec& first, const UnarySpec& second) {
  const auto limits = [](const UnarySpec& spec) -> std::optional<kernels::UnaryParams> {
    if (spec.op == UnaryOp::relu) return kernels::UnaryParams{0, kInfinity};
    if (spec.op == UnaryOp::clamp) return spec.params;
    return std::nullopt;
  };
  const auto a = limits(first);
  const auto b = limits(second);
  if (!a || !b) return std::nullopt;
  const auto into_second = [&](double value) { return std::min(std::max(value, b->alpha), b->beta); };
  return UnarySpec{UnaryOp::clamp, {into_second(a->alpha), into_second(a->beta)}};
}

}  // namespace

bool fuse_activation(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    if (node->inputs().empty() || node->output_count() != 1) continue;
    const auto activation = activation_of(*node);
    if (!activation || !readers.single(activation->value)) continue;
    auto fusable = Fusable::of(activation->value);
    // A constant operand must not have widened the result.
    if (!fusable || !fusable->takes_activation() || activation->value.info().shape != node->output(0).shape) {
      continue;
    }
    const auto spec =
        fusable->activation ? combined(*fusable->activation, activation->spec) : activation->spec;
    if (!spec) continue;
    fusable->activation = *spec;
    fusable->put(*node);
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
