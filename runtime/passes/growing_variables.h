// Variables to which every inference adds something: the keys and values of a language model.
#ifndef RUNTIME_PASSES_GROWING_VARIABLES_H_
#define RUNTIME_PASSES_GROWING_VARIABLES_H_

#include <functional>
#include <map>
#include <string>

#include "ir_runtime/model.h"
#include "runtime/model/state.h"

namespace ir::passes {

/// Keeps variables that are read, reordered along axis 0 or not, followed by something along another axis
/// (Concat) and assigned with that axis first: what is added then lies behind what is there, which need not
/// move. Readers see the axes as before by a Transpose, which attention takes as it is. ReadValues must state
/// shapes (settle_variables). Returns the orders by variable.
std::map<std::string, AxisOrder, std::less<>> keep_growing_axes_first(Model& model);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_GROWING_VARIABLES_H_
