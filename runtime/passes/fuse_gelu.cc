#include <algorithm>
#include <numbers>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/product.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// Whether `value` is x^3.
bool is_cube(const Product& product, const Output& x) {
  if (product.factors.size() == 3) {
    return std::ranges::all_of(product.factors, [&](const Output& factor) { return factor == x; });
  }
  if (product.factors.size() != 1) return false;
  const Node& node = *product.factors[0].node;
  return node.op().is<op::v1::Power>() && node.input(0) == x && repeated_number(node.input(1)) == 3.0;
}

// The formula by which `inner`, which 1 is added to, makes a Gelu of x.
std::optional<op::GeluApproximation> formula_of(const Output& inner, const Output& x,
                                                const ReaderCounts& readers) {
  const Node& node = *inner.node;
  if (node.op().is<op::v0::Erf>()) {
    const Product argument = product_of(node.input(0), readers);
    if (argument.factors == std::vector{x} && nearly(argument.number, std::numbers::sqrt2 / 2))
      return op::GeluApproximation::erf;
  }
  if (node.op().is<op::v0::Tanh>()) {
    const Product argument = product_of(node.input(0), readers);
    if (argument.factors.size() != 1 ||
        !nearly(argument.number, std::numbers::sqrt2 * std::numbers::inv_sqrtpi))
      return std::nullopt;
    const Node& sum = *argument.factors[0].node;
    if (!sum.op().is<op::v1::Add>()) return std::nullopt;
    const auto operands = either_way(sum, [&](const Output& operand) { return operand == x; });
    if (!operands) return std::nullopt;
    const Product cubic = product_of(operands->second, readers);
    if (nearly(cubic.number, 0.044715) && is_cube(cubic, x)) return op::GeluApproximation::tanh;
  }
  return std::nullopt;
}

}  // namespace

bool fuse_gelu(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    if (!node->op().is<op::v1::Multiply>() || !is_real(node->output(0).type)) continue;
    const Product product = product_of(*node, readers);
    if (product.factors.size() != 2 || !nearly(product.number, 0.5)) continue;
    for (const std::size_t side : {0U, 1U}) {
      const Output x = product.factors[side];
      const auto inner = summand_of(product.factors[1 - side], 1.0);
      const auto formula = inner ? formula_of(*inner, x, readers) : std::nullopt;
      if (!formula || !surely_keeps_shape(*node, x)) continue;
      op::v7::Gelu gelu;
      gelu.approximation_mode = *formula;
      rewrite(*node, gelu, {x});
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace ir::passes
