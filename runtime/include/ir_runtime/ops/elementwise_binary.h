// Element-wise functions of two operands: arithmetic, comparison, logical and bitwise.
#ifndef IR_RUNTIME_OPS_ELEMENTWISE_BINARY_H_
#define IR_RUNTIME_OPS_ELEMENTWISE_BINARY_H_

#include <array>

#include "ir_runtime/ops/attributes.h"

namespace ir::op {
namespace detail {

// How `Op` matches operands of different shapes.
template <class Op>
constexpr auto broadcast_fields() {
  return std::array{
      optional<&Op::auto_broadcast>("auto_broadcast", "How operands of different shapes are matched."),
      optional<&Op::auto_broadcast_axis>(
          "auto_broadcast.auto_broadcast_axis",
          "pdpd only: first axis of input 0 that input 1 lines up with; -1: the last axes.", at_least(-1)),
  };
}

constexpr OpInfo binary_info(std::string_view type, std::string_view family, std::string_view summary,
                             int first_opset = 1) {
  return {.type = type, .first_opset = first_opset, .family = family, .summary = summary};
}

}  // namespace detail

/// A function of two inputs of one type; the output has the shape that both broadcast to. Subclasses say
/// which types they take and give.
template <class Op>
struct BinaryFunction {
  AutoBroadcast auto_broadcast = AutoBroadcast::numpy;
  std::int64_t auto_broadcast_axis = -1;
  static constexpr auto fields() { return detail::broadcast_fields<Op>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

// Arithmetic: numeric types; the output has the inputs' type. Integers wrap.

namespace v0 {

struct SquaredDifference : BinaryFunction<SquaredDifference> {
  static constexpr OpInfo info =
      detail::binary_info("SquaredDifference", "arithmetic", "Square of the difference.");
};

}  // namespace v0

namespace v1 {

struct Add : BinaryFunction<Add> {
  static constexpr OpInfo info = detail::binary_info("Add", "arithmetic", "Sum.");
};

/// Integers are rounded down with m_pythondiv, else toward zero; division by zero gives zero.
struct Divide {
  static constexpr OpInfo info = detail::binary_info("Divide", "arithmetic", "Quotient.");
  AutoBroadcast auto_broadcast = AutoBroadcast::numpy;
  std::int64_t auto_broadcast_axis = -1;
  bool m_pythondiv = true;
  static constexpr auto fields() {
    const auto broadcast = detail::broadcast_fields<Divide>();
    return std::array{
        broadcast[0],
        broadcast[1],
        optional<&Divide::m_pythondiv>("m_pythondiv", "Integers are rounded down, not toward zero."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

struct FloorMod : BinaryFunction<FloorMod> {
  static constexpr OpInfo info =
      detail::binary_info("FloorMod", "arithmetic", "Remainder with the sign of the divisor.");
};

struct Maximum : BinaryFunction<Maximum> {
  static constexpr OpInfo info = detail::binary_info("Maximum", "arithmetic", "Greater one of two values.");
};

struct Minimum : BinaryFunction<Minimum> {
  static constexpr OpInfo info = detail::binary_info("Minimum", "arithmetic", "Smaller one of two values.");
};

struct Mod : BinaryFunction<Mod> {
  static constexpr OpInfo info =
      detail::binary_info("Mod", "arithmetic", "Remainder with the sign of the dividend.");
};

struct Multiply : BinaryFunction<Multiply> {
  static constexpr OpInfo info = detail::binary_info("Multiply", "arithmetic", "Product.");
};

struct Power : BinaryFunction<Power> {
  static constexpr OpInfo info =
      detail::binary_info("Power", "arithmetic", "Input 0 to the power of input 1.");
};

struct Subtract : BinaryFunction<Subtract> {
  static constexpr OpInfo info = detail::binary_info("Subtract", "arithmetic", "Difference.");
};

// Comparisons: numeric types or boolean; the output is boolean.

struct Equal : BinaryFunction<Equal> {
  static constexpr OpInfo info = detail::binary_info("Equal", "comparison", "Whether a == b.");
};

struct Greater : BinaryFunction<Greater> {
  static constexpr OpInfo info = detail::binary_info("Greater", "comparison", "Whether a > b.");
};

struct GreaterEqual : BinaryFunction<GreaterEqual> {
  static constexpr OpInfo info = detail::binary_info("GreaterEqual", "comparison", "Whether a >= b.");
};

struct Less : BinaryFunction<Less> {
  static constexpr OpInfo info = detail::binary_info("Less", "comparison", "Whether a < b.");
};

struct LessEqual : BinaryFunction<LessEqual> {
  static constexpr OpInfo info = detail::binary_info("LessEqual", "comparison", "Whether a <= b.");
};

struct NotEqual : BinaryFunction<NotEqual> {
  static constexpr OpInfo info = detail::binary_info("NotEqual", "comparison", "Whether a != b.");
};

// Logical: boolean in and out.

struct LogicalAnd : BinaryFunction<LogicalAnd> {
  static constexpr OpInfo info = detail::binary_info("LogicalAnd", "logical", "Whether both are true.");
};

struct LogicalOr : BinaryFunction<LogicalOr> {
  static constexpr OpInfo info = detail::binary_info("LogicalOr", "logical", "Whether any is true.");
};

/// In every opset table, but written as opset2 by OpenVINO.
struct LogicalXor : BinaryFunction<LogicalXor> {
  static constexpr OpInfo info{.type = "LogicalXor",
                               .family = "logical",
                               .summary = "Whether one of both is true.",
                               .version = "opset2"};
};

}  // namespace v1

namespace v0 {

/// The name of LogicalXor in opset1.
struct Xor : BinaryFunction<Xor> {
  static constexpr OpInfo info{
      .type = "Xor", .last_opset = 1, .family = "logical", .summary = "Whether one of both is true."};
};

}  // namespace v0

// Bitwise: integer types or boolean, which only shifts do not take; the output has the inputs' type.

namespace v13 {

struct BitwiseAnd : BinaryFunction<BitwiseAnd> {
  static constexpr OpInfo info =
      detail::binary_info("BitwiseAnd", "bitwise", "Bits that both operands have.", 13);
};

struct BitwiseOr : BinaryFunction<BitwiseOr> {
  static constexpr OpInfo info =
      detail::binary_info("BitwiseOr", "bitwise", "Bits that any operand has.", 13);
};

struct BitwiseXor : BinaryFunction<BitwiseXor> {
  static constexpr OpInfo info =
      detail::binary_info("BitwiseXor", "bitwise", "Bits that one of both operands has.", 13);
};

}  // namespace v13

namespace v15 {

struct BitwiseLeftShift : BinaryFunction<BitwiseLeftShift> {
  static constexpr OpInfo info =
      detail::binary_info("BitwiseLeftShift", "bitwise", "Input 0, shifted left by input 1.", 15);
};

/// Arithmetic for signed types.
struct BitwiseRightShift : BinaryFunction<BitwiseRightShift> {
  static constexpr OpInfo info =
      detail::binary_info("BitwiseRightShift", "bitwise", "Input 0, shifted right by input 1.", 15);
};

}  // namespace v15

namespace v17 {

/// The angle of the points (x, y), y being input 0, in [-pi, pi]; signs of zeros count. Floating-point types.
struct Atan2 : BinaryFunction<Atan2> {
  static constexpr OpInfo info =
      detail::binary_info("Atan2", "arithmetic", "Angle of the point (input 1, input 0), in radians.", 17);
};

}  // namespace v17
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_ELEMENTWISE_BINARY_H_
