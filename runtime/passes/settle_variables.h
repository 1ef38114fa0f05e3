// Variables of which the file does not say the shapes.
#ifndef RUNTIME_PASSES_SETTLE_VARIABLES_H_
#define RUNTIME_PASSES_SETTLE_VARIABLES_H_

#include "ir_runtime/model.h"

namespace ir {

/// Makes every ReadValue outside of bodies state its variable's type and shapes: those of its first value,
/// with dims unknown that Assign changes. Infers the model again when something changed. Throws Error
/// `IR-variable-shape` when a variable changes its rank.
void settle_variables(Model& model);

}  // namespace ir

#endif  // RUNTIME_PASSES_SETTLE_VARIABLES_H_
