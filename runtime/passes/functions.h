// Operations as the element-wise functions that kernels know them by.
#ifndef RUNTIME_PASSES_FUNCTIONS_H_
#define RUNTIME_PASSES_FUNCTIONS_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "ir_runtime/model.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/fake_quantize.h"
#include "kernels/elementwise/unary.h"
#include "kernels/weights/integer_weights.h"
#include "runtime/ops/fused.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {

/// The function of its input 0 that the node is; further inputs are constants of one number. Empty for other
/// nodes. The type of elements is not looked at.
std::optional<kernels::UnarySpec> unary_function(const Node& node);

/// The FakeQuantize of input 0 that the node is, with the same limits for all elements, known and of shapes
/// that spread over input 0; empty for other nodes.
std::optional<kernels::Quantization> quantization_function(const Node& node);

/// Whether levels of one stand for the same values as levels of the other.
inline bool are_same_levels(const kernels::Quantization& a, const kernels::Quantization& b) {
  return a.steps == b.steps && a.out_low == b.out_low && a.out_high == b.out_high;
}

/// The arithmetic function of two operands, matched by the NumPy rule, that the node is; empty for others.
std::optional<kernels::BinaryOp> binary_function(const Node& node);

/// Whether the node is a MaxPool of which every output is some element of its input.
bool takes_maxima(const Node& node);

/// How many of the inputs' values, from the first one on, the operation passes on, and no others: it moves
/// them, or leaves some out.
std::size_t inputs_passed_on(const Node& node);

/// The nodes that the elements of `value` come from, through others that only pass them on; empty where these
/// are too many to be looked at.
std::vector<const Node*> sources_of(const Output& value);

/// A node that is an operation of this class, or that with a tail already; empty for others.
template <class Core>
std::optional<op::Fused<Core>> as_fused(const Node& node) {
  if (const auto* fused = node.op().as<op::Fused<Core>>()) return *fused;
  const auto* plain = node.op().as<Core>();
  return plain != nullptr ? std::optional(op::Fused<Core>{.core = *plain, .tail = {}}) : std::nullopt;
}

/// Lets `note` add to what a convolution or product on f32 by a constant knows of its inputs; whether it is
/// one of these, and `note` said that it added something.
template <class Core, class Note>
bool note_in(Node& node, const Note& note) {
  std::optional<op::Fused<Core>> operation = as_fused<Core>(node);
  if (!operation || node.output(0).type != ElementType::f32 || constant_of(node.input(1)) == nullptr ||
      !note(*operation))
    return false;
  rewrite(node, *std::move(operation), {node.inputs().begin(), node.inputs().end()});
  return true;
}

/// What a fused operation of sums ends with; nullptr for others.
const op::FusedTail* tail_of(const Op& op);

/// What the values of a node went through last, one by one, as far as that is known: of fused operations and
/// chains their ends, of functions and FakeQuantize what they are.
kernels::PostFunctions last_functions(const Node& node);

/// What the values of a quantisation, or one of several, are; empty where they are no integers times the same
/// step.
std::optional<kernels::IntegerGrid> grid_of(const std::vector<kernels::Quantization>& quantizations);
/// The same for a tensor, wherever its values come from.
std::optional<kernels::IntegerGrid> grid_of(const Output& value);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_FUNCTIONS_H_
