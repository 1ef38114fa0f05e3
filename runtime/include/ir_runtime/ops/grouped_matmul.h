// Products of several matrices at once.
#ifndef IR_RUNTIME_OPS_GROUPED_MATMUL_H_
#define IR_RUNTIME_OPS_GROUPED_MATMUL_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v17 {

/// Rows times the matrix of their group, as in layers of experts. Inputs of one numeric type: either rows
/// [rows, inner], matrices [groups, columns, inner], each multiplied as if transposed, and offsets [groups]
/// of i32 or i64, which ascend and say where the rows of each group end; output [rows, columns], zeros behind
/// the last offset. Or, without offsets, [groups, rows, inner] and [groups, columns, inner]; output [groups,
/// rows, columns]. Definition: GroupedMatMul-17 as OpenVINO has it in code. Drafts of its text differ: they
/// store matrices as [groups, inner, columns], add a bias, and sum over groups of the inner axis, for two
/// matrices of rank 2.
struct GroupedMatMul {
  static constexpr OpInfo info{.type = "GroupedMatMul",
                               .first_opset = 17,
                               .family = "matrix",
                               .summary = "Matrix product of groups of rows, each with a matrix of its own.",
                               .packs_weights = true};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v17

#endif  // IR_RUNTIME_OPS_GROUPED_MATMUL_H_
