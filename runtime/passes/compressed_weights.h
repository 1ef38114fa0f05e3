// Weights as a file has them: codes of few bits, and what makes numbers of them.
#ifndef RUNTIME_PASSES_COMPRESSED_WEIGHTS_H_
#define RUNTIME_PASSES_COMPRESSED_WEIGHTS_H_

#include <optional>

#include "ir_runtime/model.h"
#include "ir_runtime/tensor.h"
#include "runtime/ops/compressed.h"

namespace ir::passes {

/// A constant matrix of weights (code - offset) * scale.
struct CompressedMatrix {
  op::CodeRows rows;
  Tensor codes;                  ///< u8 [n, bytes of a row]
  std::optional<Tensor> scale;   ///< f32 [n, groups]
  std::optional<Tensor> offset;  ///< f32 [n, groups], or [1] where all are equal; none where they are 0
};

/// Which codes the caller has a use for.
struct WantedCodes {
  bool integers = true;
  bool halves = true;
};

/// What `value`, a matrix, is made of, if that is a constant of type f16, bf16, u8, i8, u4 or i4, conversions
/// between floats, and for integers Subtract, Multiply and Reshape of groups as frameworks' exporters write
/// them. Numbers that are f16 in the file are taken as they are; what is computed with them is not rounded to
/// f16 again. `transposed`: rows of the matrix are columns of the value; codes are then copied in that order.
std::optional<CompressedMatrix> compressed_matrix(const Output& value, bool transposed,
                                                  const WantedCodes& wanted);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_COMPRESSED_WEIGHTS_H_
