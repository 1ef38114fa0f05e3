#include "runtime/passes/product.h"

#include <cmath>

#include "ir_runtime/ops/elementwise_binary.h"

namespace ir::passes {
namespace {

void collect(const Output& value, bool is_root, const ReaderCounts& readers, Product& product) {
  if (const auto number = repeated_number(value)) {
    product.number *= *number;
    return;
  }
  const Node& node = *value.node;
  if (is_root || readers.single(value)) {
    if (node.op().is<op::v1::Multiply>()) {
      collect(node.input(0), false, readers, product);
      collect(node.input(1), false, readers, product);
      return;
    }
    const auto divisor = node.op().is<op::v1::Divide>() ? repeated_number(node.input(1)) : std::nullopt;
    if (divisor && *divisor != 0) {
      product.number /= *divisor;
      collect(node.input(0), false, readers, product);
      return;
    }
  }
  product.factors.push_back(value);
}

}  // namespace

Product product_of(const Output& value, const ReaderCounts& readers) {
  Product product;
  collect(value, true, readers, product);
  return product;
}

std::optional<Output> summand_of(const Output& value, double number) {
  const Node& node = *value.node;
  if (!node.op().is<op::v1::Add>()) return std::nullopt;
  const auto operands = either_way(node, [&](const Output& operand) {
    const auto constant = repeated_number(operand);
    return constant && nearly(*constant, number);
  });
  return operands ? std::optional(operands->second) : std::nullopt;
}

bool nearly(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

}  // namespace ir::passes
