// Values that are scaled by functions with steps, as channels are by what squeeze-and-excitation finds.
#ifndef RUNTIME_PASSES_GATES_H_
#define RUNTIME_PASSES_GATES_H_

#include "ir_runtime/model.h"

namespace ir::passes {

/// Whether a Sigmoid, HSigmoid or HardSigmoid is multiplied with something else than its own argument, which
/// is expected to be large, in the model as it was read. An error of the argument, which grows with that,
/// then becomes one of all that it scales.
bool has_steep_gates(const Model& model);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_GATES_H_
