#include <limits>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::UnaryOp;
using kernels::UnarySpec;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A function of one value that a kernel can apply to its results.
struct Activation {
  Output value;
  std::vector<UnarySpec> specs;  // one, or one for each channel
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
  double low = -kInfinity;
  double high = kInfinity;
  (upper ? high : low) = number;
  const UnarySpec spec{UnaryOp::clamp, {low, high}};
  return Activation{value, {spec}};
}

// PReLU with a slope for each channel of a convolution.
std::optional<Activation> slopes(const Node& node) {
  if (!node.op().is<op::v0::PReLU>()) return std::nullopt;
  const Tensor* slopes = constant_of(node.input(1));
  const auto convolution = Fusable::of(node.input(0));
  if (slopes == nullptr || !convolution || !convolution->takes_functions_of_channels()) return std::nullopt;
  const Dimension channels = node.input(0).info().shape[1];
  // A vector of slopes is matched with axis 1.
  const bool vector =
      slopes->shape().size() == 1 && channels.is_static() && slopes->size() == channels.value();
  std::optional<Tensor> list = convolution->per_channel(node.input(1));
  if (vector) list = *slopes;
  if (!list || list->element_type() != ElementType::f32) return std::nullopt;
  Activation activation{node.input(0), {}};
  for (const float slope : list->data<float>()) activation.specs.push_back({UnaryOp::leaky_relu, {slope, 0}});
  return activation;
}

std::optional<Activation> activation_of(const Node& node) {
  if (const auto spec = unary_function(node)) return Activation{node.input(0), {*spec}};
  if (auto activation = slopes(node)) return activation;
  return limit(node);
}

// Limits on both sides may come as two operations.
std::optional<UnarySpec> combined(const std::vector<UnarySpec>& first, const std::vector<UnarySpec>& second) {
  if (first.size() != 1 || second.size() != 1) return std::nullopt;
  const auto limits = [](const UnarySpec& spec) -> std::optional<kernels::UnaryParams> {
    if (spec.op == UnaryOp::relu) return kernels::UnaryParams{0, kInfinity};
    if (spec.op == UnaryOp::clamp) return spec.params;
    return std::nullopt;
  };
  const auto a = limits(first[0]);
  const auto b = limits(second[0]);
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
    if (!fusable || !fusable->takes_activation() || !surely_keeps_shape(*node, activation->value)) continue;
    std::vector<UnarySpec>& specs = fusable->functions.activation;
    if (specs.empty()) {
      specs = activation->specs;
    } else if (const auto both = combined(specs, activation->specs)) {
      specs = {*both};
    } else {
      continue;
    }
    fusable->put(*node);
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
