// Matrix products.
#ifndef IR_RUNTIME_OPS_MATRIX_H_
#define IR_RUNTIME_OPS_MATRIX_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v0 {

/// Product of the matrices in the last two axes of the inputs [batch..., rows, inner] and [batch..., inner,
/// columns], which are of one numeric type. A vector counts as a row on the left and as a column on the
/// right, and its axis is not part of the output; other axes broadcast as in NumPy.
struct MatMul {
  static constexpr OpInfo info{.type = "MatMul",
                               .family = "matrix",
                               .summary = "Matrix product, with batches that broadcast.",
                               .packs_weights = true};
  bool transpose_a = false;
  bool transpose_b = false;

  MatMul() = default;
  explicit MatMul(bool a, bool b = false) : transpose_a(a), transpose_b(b) {}

  static constexpr auto fields() {
    return std::array{
        optional<&MatMul::transpose_a>("transpose_a",
                                       "Whether the matrices of input 0 are transposed first."),
        optional<&MatMul::transpose_b>("transpose_b",
                                       "Whether the matrices of input 1 are transposed first."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v0

#endif  // IR_RUNTIME_OPS_MATRIX_H_
