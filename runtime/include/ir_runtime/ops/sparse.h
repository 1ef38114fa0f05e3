// Sparse matrices.
#ifndef IR_RUNTIME_OPS_SPARSE_H_
#define IR_RUNTIME_OPS_SPARSE_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v16 {

/// Gives every empty row of a sparse matrix an entry in column 0. Inputs: values [n] of any type; shape of
/// the matrix [2]; row and column of each value [n, 2]; the new entries' value, one element of the values'
/// type. Shape and places are i32 or i64, of one type. Outputs: places [m, 2] by row, then column; values
/// [m]; whether each row was empty, boolean [rows]. Definition: SparseFillEmptyRows-16.
struct SparseFillEmptyRows {
  static constexpr OpInfo info{.type = "SparseFillEmptyRows",
                               .first_opset = 16,
                               .family = "sparse",
                               .summary = "Gives every empty row of a sparse matrix an entry."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v16

#endif  // IR_RUNTIME_OPS_SPARSE_H_
