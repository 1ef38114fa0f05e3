#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/product.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// What 1 + exp of it is.
std::optional<Output> exponent_of(const Output& value) {
  const auto exponential = summand_of(value, 1.0);
  if (!exponential || !exponential->node->op().is<op::v0::Exp>()) return std::nullopt;
  return exponential->node->input(0);
}

// What 1 + exp(-x) is the x of.
std::optional<Output> negated_exponent_of(const Output& value, const ReaderCounts& readers) {
  const auto exponent = exponent_of(value);
  if (!exponent) return std::nullopt;
  if (exponent->node->op().is<op::v0::Negative>()) return exponent->node->input(0);
  const Product product = product_of(*exponent, readers);
  if (product.factors.size() != 1 || product.number != -1.0) return std::nullopt;
  return product.factors[0];
}

// What min(max(x + 3, 0), 6) is the x of.
std::optional<Output> clamped_of(const Output& value) {
  const Node& node = *value.node;
  if (const auto* clamp = node.op().as<op::v0::Clamp>()) {
    return clamp->min == 0 && clamp->max == 6 ? summand_of(node.input(0), 3.0) : std::nullopt;
  }
  if (!node.op().is<op::v1::Minimum>()) return std::nullopt;
  const auto operands =
      either_way(node, [](const Output& operand) { return operand.node->op().is<op::v0::ReLU>(); });
  if (!operands || repeated_number(operands->second) != 6.0) return std::nullopt;
  return summand_of(operands->first.node->input(0), 3.0);
}

// A function that is found in its formula.
struct Found {
  Op op;
  Output x;
  double beta = 1;  ///< of Swish
};

std::optional<Found> sigmoid_of(const Output& value, const ReaderCounts& readers) {
  const Node& node = *value.node;
  if (node.op().is<op::v0::Sigmoid>()) return Found{node.op(), node.input(0)};
  if (!node.op().is<op::v1::Divide>() || repeated_number(node.input(0)) != 1.0) return std::nullopt;
  const auto x = negated_exponent_of(node.input(1), readers);
  return x ? std::optional(Found{op::v0::Sigmoid(), *x}) : std::nullopt;
}

std::optional<Found> hsigmoid_of(const Output& value, const ReaderCounts& readers) {
  const Node& node = *value.node;
  if (node.op().is<op::v5::HSigmoid>()) return Found{node.op(), node.input(0)};
  if (node.op().is<op::v0::HardSigmoid>()) {
    const auto alpha = repeated_number(node.input(1));
    const auto beta = repeated_number(node.input(2));
    if (alpha && beta && nearly(*alpha, 1.0 / 6) && *beta == 0.5)
      return Found{op::v5::HSigmoid(), node.input(0)};
    return std::nullopt;
  }
  const Product product = product_of(value, readers);
  if (product.factors.size() != 1 || !nearly(product.number, 1.0 / 6)) return std::nullopt;
  const auto x = clamped_of(product.factors[0]);
  return x ? std::optional(Found{op::v5::HSigmoid(), *x}) : std::nullopt;
}

std::optional<Found> softplus_of(const Output& value) {
  const Node& node = *value.node;
  if (node.op().is<op::v4::SoftPlus>()) return Found{node.op(), node.input(0)};
  const auto x = node.op().is<op::v0::Log>() ? exponent_of(node.input(0)) : std::nullopt;
  return x ? std::optional(Found{op::v4::SoftPlus(), *x}) : std::nullopt;
}

// x * sigmoid(beta * x) by its second factor.
std::optional<Found> swish_of(const Output& gate, const Output& x, const ReaderCounts& readers) {
  const auto sigmoid = sigmoid_of(gate, readers);
  if (!sigmoid) return std::nullopt;
  if (sigmoid->x == x) return Found{op::v4::Swish(), x};
  const Product argument = product_of(sigmoid->x, readers);
  if (argument.factors != std::vector{x}) return std::nullopt;
  return Found{op::v4::Swish(), x, argument.number};
}

// What x times a function of x, `gate`, is.
std::optional<Found> gated(const Output& gate, const Output& x, const ReaderCounts& readers) {
  if (auto swish = swish_of(gate, x, readers)) return swish;
  const auto is_of_x = [&](const std::optional<Found>& found) { return found && found->x == x; };
  if (is_of_x(hsigmoid_of(gate, readers))) return Found{op::v4::HSwish(), x};
  if (gate.node->op().is<op::v0::Tanh>() && is_of_x(softplus_of(gate.node->input(0))))
    return Found{op::v4::Mish(), x};
  return std::nullopt;
}

std::optional<Found> product_with_gate(const Output& value, const ReaderCounts& readers) {
  const Product product = product_of(value, readers);
  if (product.factors.size() != 2) return std::nullopt;
  const bool is_sixth = nearly(product.number, 1.0 / 6);
  if (!is_sixth && product.number != 1.0) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const Output gate = product.factors[side];
    const Output x = product.factors[1 - side];
    if (!readers.single(gate)) continue;
    if (is_sixth && clamped_of(gate) == x) return Found{op::v4::HSwish(), x};
    auto found = is_sixth ? std::nullopt : gated(gate, x, readers);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Found> spelled_out(const Output& value, const ReaderCounts& readers) {
  const Node& node = *value.node;
  if (node.op().is<op::v0::Log>()) return softplus_of(value);
  const bool is_quotient = node.op().is<op::v1::Divide>();
  if (!is_quotient && !node.op().is<op::v1::Multiply>()) return std::nullopt;
  if (is_quotient) {
    if (auto found = sigmoid_of(value, readers)) return found;
    if (negated_exponent_of(node.input(1), readers) == node.input(0))
      return Found{op::v4::Swish(), node.input(0)};
  }
  if (auto found = hsigmoid_of(value, readers)) return found;
  return product_with_gate(value, readers);
}

}  // namespace

bool fuse_swish(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->output_count() != 1 || !is_real(node->output(0).type)) continue;
    const auto found = spelled_out(*node, readers);
    if (!found || !surely_keeps_shape(*node, found->x)) continue;
    std::vector<Output> inputs{found->x};
    if (found->beta != 1) {
      const Tensor beta = Tensor::of<double>({}, {found->beta}).converted(node->output(0).type);
      inputs.push_back(insert_constant(insertions, *node, beta, node->name() + "/beta"));
    }
    rewrite(*node, found->op, std::move(inputs));
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
