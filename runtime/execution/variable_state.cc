#include "ir_runtime/variable_state.h"

#include "runtime/execution/variables.h"

namespace ir {

ElementType VariableState::element_type() const { return variables_->info(name_).type; }
const PartialShape& VariableState::shape() const { return variables_->info(name_).shape; }
Tensor VariableState::get_state() const { return variables_->state(name_); }
void VariableState::set_state(const Tensor& state) { variables_->set_state(name_, state); }
void VariableState::reset() { variables_->reset(name_); }

}  // namespace ir
