// What element-wise operations of one operand share.
#ifndef RUNTIME_OPS_UNARY_H_
#define RUNTIME_OPS_UNARY_H_

#include <optional>
#include <string_view>

#include "ir_runtime/op.h"
#include "kernels/elementwise/unary.h"
#include "kernels/threads/function_ref.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// Output 0 has the type and shape of input 0, which is numeric.
void infer_number_function(InferContext& context);

/// Runs `spec` over input 0. `type` names the operation in profiles.
PreparedKernel prepare_unary(PrepareContext& context, std::string_view type, const kernels::UnarySpec& spec);

/// The number that all elements of input `index` are; empty where that is not known.
using NumberOfInput = kernels::FunctionRef<std::optional<double>(std::size_t index)>;

/// The function of input 0 that the operation is, with `inputs` inputs in all, of which those behind the
/// first one are numbers. Empty for other operations. Passes join it to chains and to the ends of other
/// kernels.
std::optional<kernels::UnarySpec> unary_function(const Op& op, std::size_t inputs, NumberOfInput number);

/// Runs the `unary_function` that the operation is.
PreparedKernel prepare_unary_function(PrepareContext& context, const Op& op);

}  // namespace ir::op

#endif  // RUNTIME_OPS_UNARY_H_
