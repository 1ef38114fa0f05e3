// Arithmetic on partly known elements: what inference knows of the numbers in a shape subgraph.
#ifndef RUNTIME_OPS_ELEMENT_ARITHMETIC_H_
#define RUNTIME_OPS_ELEMENT_ARITHMETIC_H_

#include <optional>
#include <vector>

#include "ir_runtime/shape.h"
#include "runtime/ops/infer.h"

namespace ir::op {

/// Any value of either sign: what is known of an element of which nothing is known.
inline constexpr Dimension kUnknownElement{-Dimension::kUnbounded, Dimension::kUnbounded};

/// Whether some elements are known, and others are not.
bool is_partly_known(const ValueInfo& value);

/// Whether a number is known that arithmetic can tell from an open end.
bool is_exact(const Dimension& element);

// Every value that a function may have for operands in these intervals. Integers as the kernels treat them;
// values beyond 64 bits are unknown.
Dimension element_add(const Dimension& a, const Dimension& b);
Dimension element_subtract(const Dimension& a, const Dimension& b);
Dimension element_multiply(const Dimension& a, const Dimension& b);
Dimension element_divide_down(const Dimension& a, const Dimension& b);
Dimension element_divide_to_zero(const Dimension& a, const Dimension& b);
Dimension element_maximum(const Dimension& a, const Dimension& b);
Dimension element_minimum(const Dimension& a, const Dimension& b);
Dimension element_floor_mod(const Dimension& a, const Dimension& b);
Dimension element_mod(const Dimension& a, const Dimension& b);

// Comparisons: 1, 0, or 0..1 where the intervals leave it open.
Dimension element_equal(const Dimension& a, const Dimension& b);
Dimension element_less(const Dimension& a, const Dimension& b);
Dimension element_not(const Dimension& truth);

using ElementFunction = Dimension (*)(const Dimension& a, const Dimension& b);

/// Elements of an output of rank 0 or 1 with `function` applied to inputs 0 and 1 by the NumPy rule; empty
/// when nothing is known, or when both are constants, which are evaluated elsewhere.
std::optional<std::vector<Dimension>> binary_elements(InferContext& context, ElementFunction function);

/// The element of a scalar or vector at `index` of a broadcast.
template <class Element>
const Element& broadcast_element(const std::vector<Element>& elements, std::size_t index) {
  return elements[elements.size() == 1 ? 0 : index];
}

/// Sets what is known of the elements of integer output 0, of rank 0 or 1.
void set_integer_elements(InferContext& context, std::vector<Dimension> elements);

/// Sets what is known of the elements of boolean output 0 (0, 1 or 0..1), of rank 0 or 1.
void set_boolean_elements(InferContext& context, std::vector<Dimension> elements);

}  // namespace ir::op

#endif  // RUNTIME_OPS_ELEMENT_ARITHMETIC_H_
