// Inverse matrices.
#ifndef IR_RUNTIME_OPS_INVERSE_H_
#define IR_RUNTIME_OPS_INVERSE_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v14 {

/// Inverses of the square matrices in the last two axes of the input [batch..., size, size], of a real type;
/// f64 is computed in f64. A singular matrix gives infinities or NaN. Definition: Inverse-14.
struct Inverse {
  static constexpr OpInfo info{.type = "Inverse",
                               .first_opset = 14,
                               .family = "matrix",
                               .summary = "Inverse matrices, or transposed ones."};
  bool adjoint = false;

  static constexpr auto fields() {
    return std::array{
        optional<&Inverse::adjoint>("adjoint", "Whether the inverse matrices are transposed."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v14

#endif  // IR_RUNTIME_OPS_INVERSE_H_
