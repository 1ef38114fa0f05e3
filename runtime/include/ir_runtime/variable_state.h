// What an infer request remembers from one inference to the next.
#ifndef IR_RUNTIME_VARIABLE_STATE_H_
#define IR_RUNTIME_VARIABLE_STATE_H_

#include <memory>
#include <string>

#include "ir_runtime/element_type.h"
#include "ir_runtime/shape.h"
#include "ir_runtime/tensor.h"

namespace ir {

class Variables;

/// One variable of one infer request, for as long as it is wanted. To be used while the request does not run.
class VariableState {
 public:
  /// The `variable_id` of the model.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ElementType element_type() const;
  /// Shapes that the variable may take.
  [[nodiscard]] const PartialShape& shape() const;

  /// A copy of the value that the next inference reads. After a reset, when that inference decides what the
  /// variable starts with, zeros of the smallest shape that the variable may take.
  [[nodiscard]] Tensor get_state() const;
  /// Gives the variable a copy of `state`. Throws Error `IR-variable-type` or `IR-variable-shape` when the
  /// variable does not hold such values.
  void set_state(const Tensor& state);
  /// The next inference starts anew: with the input of ReadValue, or zeros.
  void reset();

 private:
  friend class InferRequest;
  VariableState(std::shared_ptr<Variables> variables, std::string name)
      : variables_(std::move(variables)), name_(std::move(name)) {}

  std::shared_ptr<Variables> variables_;
  std::string name_;
};

}  // namespace ir

#endif  // IR_RUNTIME_VARIABLE_STATE_H_
