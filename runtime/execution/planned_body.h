// Bodies of If, Loop and TensorIterator, each a model with plans of its own.
#ifndef RUNTIME_EXECUTION_PLANNED_BODY_H_
#define RUNTIME_EXECUTION_PLANNED_BODY_H_

#include <memory>

#include "ir_runtime/compiled_model.h"
#include "kernels/weights/shared_packing.h"
#include "runtime/execution/variables.h"
#include "runtime/ops/prepare.h"

namespace ir {

/// Runs a body on states of its own; several requests may do so at once if `variables` is null, as it may be
/// for a body without any. `forms` are those of the model around it.
std::unique_ptr<BodyRunner> planned_body(std::shared_ptr<const Model> body, const CompileOptions& options,
                                         Variables* variables, std::shared_ptr<kernels::SharedForms> forms);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_PLANNED_BODY_H_
