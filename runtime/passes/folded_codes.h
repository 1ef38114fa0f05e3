// Folds that wait until somebody reads the result.
#ifndef RUNTIME_PASSES_FOLDED_CODES_H_
#define RUNTIME_PASSES_FOLDED_CODES_H_

#include <optional>
#include <span>

#include "ir_runtime/op.h"
#include "ir_runtime/tensor.h"

namespace ir::passes {

/// What Convert-1 makes of i8, f16 and bf16, and Multiply-1 of that and scales along neighbouring axes, as
/// codes that floats are made of when somebody reads them: kernels may take the codes, or be done with the
/// floats of one before those of the next are made. nullopt for anything else.
std::optional<Tensor> folded_codes(const Op& op, std::span<const Tensor> inputs);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_FOLDED_CODES_H_
