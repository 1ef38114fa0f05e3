// Shapes as data, and data under another shape.
#ifndef IR_RUNTIME_OPS_SHAPE_H_
#define IR_RUNTIME_OPS_SHAPE_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

namespace v0 {

/// The dims of a tensor. Input of any shape and type; output [rank] of i64.
struct ShapeOf {
  static constexpr OpInfo info{
      .type = "ShapeOf", .last_opset = 2, .family = "shape", .summary = "The dims of a tensor."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Removes dims of size 1. Input 0 of any shape; input 1 (optional): a scalar or vector of axes, where a dim
/// that is not 1 stays, and a scalar has an axis 0. Without axes all dims of size 1 go. Output: the same
/// elements.
struct Squeeze {
  static constexpr OpInfo info{
      .type = "Squeeze", .last_opset = 14, .family = "shape", .summary = "Removes dims of size 1."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Inserts dims of size 1. Input 0 of any shape; input 1: a scalar or vector of axes of the output, one or
/// more. One that is named twice counts once, as in OpenVINO.
struct Unsqueeze {
  static constexpr OpInfo info{.type = "Unsqueeze", .family = "shape", .summary = "Inserts dims of size 1."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v1 {

/// The same elements under another shape. Input 0 of any shape; input 1: the new shape, an integer vector (a
/// scalar 1 for a scalar), in which one -1 stands for whatever makes the number of elements equal and, with
/// `special_zero`, 0 for the dim of input 0 at the same place.
struct Reshape {
  static constexpr OpInfo info{
      .type = "Reshape", .family = "shape", .summary = "The same elements under another shape."};
  bool special_zero = false;
  static constexpr auto fields() {
    return std::array{required<&Reshape::special_zero>(
        "special_zero", "Whether 0 in the new shape stands for the input's dim at the same place.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v3 {

/// As v0::ShapeOf, with a choice of type.
struct ShapeOf {
  static constexpr OpInfo info{.type = "ShapeOf",
                               .first_opset = 3,
                               .family = "shape",
                               .summary = "The dims of a tensor, as i32 or i64."};
  ElementType output_type = ElementType::i64;
  static constexpr auto fields() {
    return std::array{optional<&ShapeOf::output_type>("output_type", "Type of the dims: i32 or i64.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v15 {

/// As v0::Squeeze; `allow_axis_skip` leaves the rank open where a dim to remove may turn out not to be 1.
struct Squeeze {
  static constexpr OpInfo info{.type = "Squeeze",
                               .first_opset = 15,
                               .family = "shape",
                               .summary = "Removes dims of size 1, of unknown dims only those that are 1."};
  bool allow_axis_skip = false;
  static constexpr auto fields() {
    return std::array{optional<&Squeeze::allow_axis_skip>(
        "allow_axis_skip",
        "Whether a dim of unknown size stays when it is not 1; the rank is unknown then.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v15
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_SHAPE_H_
