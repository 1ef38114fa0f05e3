// What element-wise operations of one operand share.
#ifndef RUNTIME_OPS_UNARY_H_
#define RUNTIME_OPS_UNARY_H_

#include <optional>
#include <string_view>

#include "ir_runtime/op.h"
#include "kernels/elementwise/unary.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// Output 0 has the type and shape of input 0, which is numeric.
void infer_number_function(InferContext& context);

/// Runs `spec` over input 0. `type` names the operation in profiles.
PreparedKernel prepare_unary(PrepareContext& context, std::string_view type, const kernels::UnarySpec& spec);

/// The kernel function of an operation that has one input and no attributes; empty for others.
std::optional<kernels::UnaryOp> function_without_parameters(const Op& op);

}  // namespace ir::op

#endif  // RUNTIME_OPS_UNARY_H_
