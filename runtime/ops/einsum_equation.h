// The equation of Einsum: text to labels, labels to dims.
#ifndef RUNTIME_OPS_EINSUM_EQUATION_H_
#define RUNTIME_OPS_EINSUM_EQUATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/infer.h"

namespace ir::op {

/// A letter by its code; the axes of an ellipsis, counted from the last one, from kEllipsis on.
using EinsumLabel = int;
inline constexpr EinsumLabel kEllipsis = 256;

/// Labels of the axes of one tensor. An ellipsis is one entry kEllipsis until the rank is known.
using EinsumLabels = std::vector<EinsumLabel>;

struct EinsumEquation {
  std::vector<EinsumLabels> inputs;
  EinsumLabels output;
};

/// Reads `a...b, bc -> ...ac`; blanks do not count. Without "->" the output gets the ellipsis, when an input
/// has one, and the letters that occur once, sorted. Fails with IR-attribute-value.
EinsumEquation parse_einsum(const InferContext& context, std::string_view equation);

/// The same for an equation that inference has accepted.
EinsumEquation parse_einsum(std::string_view equation);

bool has_ellipsis(const EinsumLabels& labels);

/// `labels` with the ellipsis in the place of `axes` labels of its own.
EinsumLabels expanded(const EinsumLabels& labels, std::size_t axes);

/// How many axes the ellipsis of `labels` stands for in a tensor of rank `rank`.
std::size_t ellipsis_axes(const EinsumLabels& labels, std::size_t rank);

/// The equation with one label per axis for inputs of these ranks, which fit it.
EinsumEquation expanded(const EinsumEquation& equation, const std::vector<std::size_t>& ranks);

/// How a label is written: "a", or "axis -2 of the ellipsis".
std::string name_of_label(EinsumLabel label);

}  // namespace ir::op

#endif  // RUNTIME_OPS_EINSUM_EQUATION_H_
