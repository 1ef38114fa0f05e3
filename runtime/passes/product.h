// Products as rewrites look for them, one number and the values that it multiplies, and sums with a number.
#ifndef RUNTIME_PASSES_PRODUCT_H_
#define RUNTIME_PASSES_PRODUCT_H_

#include <optional>
#include <vector>

#include "runtime/passes/graph_utils.h"

namespace ir::passes {

/// number * factors[0] * factors[1] * ...
struct Product {
  double number = 1;
  std::vector<Output> factors;
};

/// The product that `value` is, seen through Multiply by anything and Divide by a number, as far as only the
/// product itself reads what is in between, and no further than formulas go. A value that is no product is
/// its own only factor.
Product product_of(const Output& value, const ReaderCounts& readers);

/// What is added to `number`, which types of fewer bits hold, too, if `value` is such a sum.
std::optional<Output> summand_of(const Output& value, double number);

/// Whether two numbers are the same but for the rounding of f32 constants.
bool nearly(double a, double b);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_PRODUCT_H_
