// Which nodes read and assign variables, and what a model says of its variables.
#ifndef RUNTIME_MODEL_STATE_H_
#define RUNTIME_MODEL_STATE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ir_runtime/model.h"

namespace ir {

/// The variable that a ReadValue reads; null for other operations.
const std::string* variable_read_by(const Op& op);

/// The variable that an Assign assigns; null for other operations.
const std::string* variable_assigned_by(const Op& op);

/// Whether running the node has an effect on later runs: it assigns a variable, or a body of it does. Such a
/// node stays, though nobody reads it.
bool is_sink(const Node& node);

/// Whether a body of the node reads or assigns variables.
bool has_stateful_body(const Node& node);

/// The axes of a shape in another order.
using AxisOrder = std::vector<std::size_t>;

/// The order that undoes one.
AxisOrder inverse(const AxisOrder& order);

/// What a model says of a variable.
struct VariableInfo {
  std::string id;
  ElementType type = ElementType::dynamic;
  /// Shapes that it may take.
  PartialShape shape;
  /// The axes of `shape` in the order in which a compiled model keeps them; empty: as they are.
  AxisOrder order;
};

/// The variables that a model and its bodies read, in the order of the nodes.
std::vector<VariableInfo> variables_of(const Model& model);

/// Whether reads and assignments of each variable in the model and its bodies fit together. Errors:
/// `IR-variable-unread` (assigned and never read), `IR-variable-type`, `IR-variable-shape` (several);
/// warnings: `IR-variable-unassigned` (read and never assigned), `IR-variable-twice` (assigned twice in one
/// graph).
std::vector<Diagnostic> check_variables(const Model& model);

}  // namespace ir

#endif  // RUNTIME_MODEL_STATE_H_
