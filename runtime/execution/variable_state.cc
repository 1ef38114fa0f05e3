#include "ir_runtime/variable_state.h"

#include "kernels/threads/parallel.h"
#include "runtime/execution/variables.h"

namespace ir {

ElementType VariableState::element_type() const { return variables_->info(name_).type; }
const PartialShape& VariableState::shape() const { return variables_->info(name_).shape; }
// What is converted or turned is so on the calling thread, which is in no pool of the model's.
Tensor VariableState::get_state() const {
  Tensor state;
  kernels::run_alone([&] { state = variables_->state(name_); });
  return state;
}

void VariableState::set_state(const Tensor& state) {
  kernels::run_alone([&] { variables_->set_state(name_, state); });
}
void VariableState::reset() { variables_->reset(name_); }

}  // namespace ir
