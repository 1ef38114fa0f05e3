// Sums of products over labelled axes.
#ifndef IR_RUNTIME_OPS_EINSUM_H_
#define IR_RUNTIME_OPS_EINSUM_H_

#include <array>
#include <string>

#include "ir_runtime/op.h"

namespace ir::op::v7 {

/// Einstein summation over any number of inputs of one numeric type. The equation gives each input a letter
/// per axis; axes with the same letter run together (a dim of 1 is repeated, a letter twice in one input
/// takes the diagonal), and letters that the output lacks are summed over. "..." stands for any number of
/// axes that broadcast. Without "->", the output has the letters that occur once, sorted, after the "...".
/// Definition: Einsum-7.
struct Einsum {
  static constexpr OpInfo info{.type = "Einsum",
                               .first_opset = 7,
                               .family = "matrix",
                               .summary = "Sums of products over labelled axes: the Einstein notation.",
                               .packs_weights = true};
  std::string equation;

  Einsum() = default;
  explicit Einsum(std::string text) : equation(std::move(text)) {}

  static constexpr auto fields() {
    return std::array{
        required<&Einsum::equation>("equation",
                                    "Labels of the axes of each input and of the output: `ab,bc->ac`."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v7

#endif  // IR_RUNTIME_OPS_EINSUM_H_
