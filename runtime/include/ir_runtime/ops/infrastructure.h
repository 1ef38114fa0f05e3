// Inputs, outputs and constants of a model.
#ifndef IR_RUNTIME_OPS_INFRASTRUCTURE_H_
#define IR_RUNTIME_OPS_INFRASTRUCTURE_H_

#include <array>
#include <memory>

#include "ir_runtime/op.h"
#include "ir_runtime/tensor.h"

namespace ir::op::v0 {

/// An input of the model. No inputs; output of the type and shape that the attributes state.
struct Parameter {
  static constexpr OpInfo info{
      .type = "Parameter", .family = "infrastructure", .summary = "An input of the model."};
  ElementType element_type = ElementType::f32;
  PartialShape shape;
  static constexpr auto fields() {
    return std::array{
        required<&Parameter::element_type>("element_type", "Type of the input's elements."),
        required<&Parameter::shape>("shape", "Shape of the input; dims may be unknown (?) or ranges (1..8)."),
        ignored("cacheable", "Written by old converters for stateful models."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// An output of the model. One input of any type and shape; the output is the input, under the names that the
/// model gives it.
struct Result {
  static constexpr OpInfo info{
      .type = "Result", .family = "infrastructure", .summary = "An output of the model."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// A tensor of the model, of any type and shape. No inputs. The IR calls it Const.
struct Constant {
  static constexpr OpInfo info{
      .type = "Const", .family = "infrastructure", .summary = "A tensor that is part of the model."};
  ElementType element_type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  /// The elements; shared by all copies of the descriptor.
  std::shared_ptr<const Tensor> value;

  Constant() = default;
  explicit Constant(Tensor tensor)
      : element_type(tensor.element_type()),
        shape(tensor.shape()),
        size(static_cast<std::int64_t>(tensor.byte_size())),
        value(std::make_shared<const Tensor>(std::move(tensor))) {}

  static constexpr auto fields() {
    return std::array{
        required<&Constant::element_type>("element_type", "Type of the elements."),
        required<&Constant::shape>("shape", "Dims; empty for a scalar.", at_least(0)),
        required<&Constant::offset>("offset", "First byte in the weights file.", at_least(0)),
        required<&Constant::size>("size", "Bytes in the weights file.", at_least(0)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v0

#endif  // IR_RUNTIME_OPS_INFRASTRUCTURE_H_
