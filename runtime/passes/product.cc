#include "runtime/passes/product.h"

#include <cmath>

#include "ir_runtime/ops/elementwise_binary.h"

namespace ir::passes {
namespace {

// Of long chains only the end is looked at, as each of their nodes may be asked about: no formula is longer.
constexpr int kMostSteps = 16;

// What Divide by a number divides by.
std::optional<double> divisor_of(const Node& node) {
  const auto number = node.op().is<op::v1::Divide>() ? repeated_number(node.input(1)) : std::nullopt;
  return number != 0.0 ? number : std::nullopt;
}

}  // namespace

Product product_of(const Output& value, const ReaderCounts& readers) {
  Product product;
  std::vector<Output> pending{value};  // the next one last
  int steps = 0;
  while (!pending.empty()) {
    const Output next = pending.back();
    pending.pop_back();
    const Node& node = *next.node;
    const bool looks_behind = steps < kMostSteps && (steps == 0 || readers.single(next));
    if (const auto number = repeated_number(next)) {
      product.number *= *number;
    } else if (looks_behind && node.op().is<op::v1::Multiply>()) {
      pending.insert(pending.end(), {node.input(1), node.input(0)});
      ++steps;
    } else if (const auto divisor = looks_behind ? divisor_of(node) : std::nullopt) {
      product.number /= *divisor;
      pending.push_back(node.input(0));
      ++steps;
    } else {
      product.factors.push_back(next);
    }
  }
  return product;
}

std::optional<Output> summand_of(const Output& value, double number) {
  const Node& node = *value.node;
  if (!node.op().is<op::v1::Add>()) return std::nullopt;
  const auto operands =
      either_way(node, [&](const Output& operand) { return repeated_number(operand) == number; });
  return operands ? std::optional(operands->second) : std::nullopt;
}

bool nearly(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

}  // namespace ir::passes
