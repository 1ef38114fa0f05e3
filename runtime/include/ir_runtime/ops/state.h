// Variables: values that stay with an infer request from one inference to the next.
#ifndef IR_RUNTIME_OPS_STATE_H_
#define IR_RUNTIME_OPS_STATE_H_

#include <array>
#include <string>

#include "ir_runtime/op.h"

namespace ir::op {

namespace v3 {

/// Input 0 (any type and shape) is the value while nothing was assigned; the output has its type and shape.
struct ReadValue {
  static constexpr OpInfo info{
      .type = "ReadValue",
      .first_opset = 3,
      .last_opset = 5,
      .family = "infrastructure",
      .summary = "The value that an earlier inference assigned to a variable, else the input.",
      .stateful = true};
  std::string variable_id;
  static constexpr auto fields() {
    return std::array{required<&ReadValue::variable_id>("variable_id", "Name of the variable.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Input 0 (any type and shape) is what the next inference reads; the output is the input.
struct Assign {
  static constexpr OpInfo info{.type = "Assign",
                               .first_opset = 3,
                               .last_opset = 5,
                               .family = "infrastructure",
                               .summary = "Gives a variable the value that the next inference reads.",
                               .stateful = true};
  std::string variable_id;
  static constexpr auto fields() {
    return std::array{required<&Assign::variable_id>("variable_id", "Name of the variable.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v6 {

/// Input 0 (optional) is the value while nothing was assigned; without it, that is zeros. The output has the
/// variable's type and shape where the attributes state them; where neither is stated (files of before 2023),
/// the input's; where the type alone is, the input's rank.
struct ReadValue {
  static constexpr OpInfo info{
      .type = "ReadValue",
      .first_opset = 6,
      .family = "infrastructure",
      .summary = "The value that an earlier inference assigned to a variable, else the input or zeros.",
      .stateful = true};
  std::string variable_id;
  ElementType variable_type = ElementType::dynamic;
  PartialShape variable_shape;
  static constexpr auto fields() {
    return std::array{
        required<&ReadValue::variable_id>("variable_id", "Name of the variable."),
        optional<&ReadValue::variable_type>("variable_type", "Type of the variable's elements."),
        optional<&ReadValue::variable_shape>("variable_shape",
                                             "Shapes that the variable may take; dims may be unknown (?)."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// As Assign-3.
struct Assign {
  static constexpr OpInfo info{.type = "Assign",
                               .first_opset = 6,
                               .family = "infrastructure",
                               .summary = "Gives a variable the value that the next inference reads.",
                               .stateful = true};
  std::string variable_id;
  static constexpr auto fields() {
    return std::array{required<&Assign::variable_id>("variable_id", "Name of the variable.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v6
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_STATE_H_
