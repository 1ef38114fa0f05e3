// Element-wise functions of one operand: arithmetic, logical, bitwise, and tests of floats. Activations are
// in activation.h.
#ifndef IR_RUNTIME_OPS_ELEMENTWISE_UNARY_H_
#define IR_RUNTIME_OPS_ELEMENTWISE_UNARY_H_

#include <array>

#include "ir_runtime/ops/attributes.h"

namespace ir::op {

/// The field table of operations that have no attributes.
struct WithoutAttributes {
  static constexpr auto fields() { return std::array<Field, 0>{}; }
};

/// A function without attributes. One input of any shape; the output has its type and shape. Numeric types,
/// unless the class says otherwise. Where a function of integers is no integer, it is computed in double,
/// then truncated or rounded half away from zero, as OpenVINO's reference does with that function, and
/// saturated; unsigned types take negative values modulo 2^bits. The kernel's function stands in IR_FUNCTIONS
/// of runtime/ops/elementwise_unary.cc.
template <class Op>
struct UnaryFunction : WithoutAttributes {
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

namespace detail {

constexpr OpInfo arithmetic(std::string_view type, std::string_view summary, int first_opset = 1) {
  return {.type = type, .first_opset = first_opset, .family = "arithmetic", .summary = summary};
}

}  // namespace detail

namespace v0 {

/// |x|; the lowest integer stays as it is.
struct Abs : UnaryFunction<Abs> {
  static constexpr OpInfo info = detail::arithmetic("Abs", "Absolute value.");
};

struct Acos : UnaryFunction<Acos> {
  static constexpr OpInfo info = detail::arithmetic("Acos", "Inverse cosine, in radians.");
};

struct Asin : UnaryFunction<Asin> {
  static constexpr OpInfo info = detail::arithmetic("Asin", "Inverse sine, in radians.");
};

struct Atan : UnaryFunction<Atan> {
  static constexpr OpInfo info = detail::arithmetic("Atan", "Inverse tangent, in radians.");
};

struct Ceiling : UnaryFunction<Ceiling> {
  static constexpr OpInfo info = detail::arithmetic("Ceiling", "Smallest integer that is not less.");
};

struct Cos : UnaryFunction<Cos> {
  static constexpr OpInfo info = detail::arithmetic("Cos", "Cosine of radians.");
};

struct Cosh : UnaryFunction<Cosh> {
  static constexpr OpInfo info = detail::arithmetic("Cosh", "Hyperbolic cosine.");
};

struct Erf : UnaryFunction<Erf> {
  static constexpr OpInfo info = detail::arithmetic("Erf", "Gauss error function.");
};

struct Floor : UnaryFunction<Floor> {
  static constexpr OpInfo info = detail::arithmetic("Floor", "Largest integer that is not greater.");
};

struct Log : UnaryFunction<Log> {
  static constexpr OpInfo info = detail::arithmetic("Log", "Natural logarithm.");
};

struct Negative : UnaryFunction<Negative> {
  static constexpr OpInfo info = detail::arithmetic("Negative", "The value with the other sign.");
};

/// -1, 0 or 1.
struct Sign : UnaryFunction<Sign> {
  static constexpr OpInfo info = detail::arithmetic("Sign", "Sign of the value.");
};

struct Sin : UnaryFunction<Sin> {
  static constexpr OpInfo info = detail::arithmetic("Sin", "Sine of radians.");
};

struct Sinh : UnaryFunction<Sinh> {
  static constexpr OpInfo info = detail::arithmetic("Sinh", "Hyperbolic sine.");
};

struct Sqrt : UnaryFunction<Sqrt> {
  static constexpr OpInfo info = detail::arithmetic("Sqrt", "Square root.");
};

struct Tan : UnaryFunction<Tan> {
  static constexpr OpInfo info = detail::arithmetic("Tan", "Tangent of radians.");
};

struct Tanh : UnaryFunction<Tanh> {
  static constexpr OpInfo info = detail::arithmetic("Tanh", "Hyperbolic tangent.");
};

}  // namespace v0

namespace v1 {

/// True where the input is false, or zero in a numeric type. The output has the input's type.
struct LogicalNot : WithoutAttributes {
  static constexpr OpInfo info{
      .type = "LogicalNot", .family = "logical", .summary = "True where the input is false."};
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v3 {

struct Acosh : UnaryFunction<Acosh> {
  static constexpr OpInfo info = detail::arithmetic("Acosh", "Inverse hyperbolic cosine.", 4);
};

struct Asinh : UnaryFunction<Asinh> {
  static constexpr OpInfo info = detail::arithmetic("Asinh", "Inverse hyperbolic sine.", 4);
};

struct Atanh : UnaryFunction<Atanh> {
  static constexpr OpInfo info = detail::arithmetic("Atanh", "Inverse hyperbolic tangent.", 4);
};

}  // namespace v3

/// Where halves go.
enum class RoundMode : int { half_to_even, half_away_from_zero };
inline constexpr std::array kRoundModeSpellings{
    Spelling{static_cast<int>(RoundMode::half_to_even), "half_to_even"},
    Spelling{static_cast<int>(RoundMode::half_away_from_zero), "half_away_from_zero"},
};
constexpr std::span<const Spelling> spellings_of(RoundMode) { return kRoundModeSpellings; }

namespace v5 {

/// One input of a numeric type and any shape, output alike.
struct Round {
  static constexpr OpInfo info = detail::arithmetic("Round", "Nearest integer.", 5);
  RoundMode mode = RoundMode::half_to_even;
  static constexpr auto fields() { return std::array{optional<&Round::mode>("mode", "Where halves go.")}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v5

namespace v10 {

/// One input of a floating-point type; the output is boolean.
struct IsFinite : WithoutAttributes {
  static constexpr OpInfo info{.type = "IsFinite",
                               .first_opset = 10,
                               .family = "comparison",
                               .summary = "True where the input is neither NaN nor infinite."};
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// One input of a floating-point type; the output is boolean.
struct IsInf {
  static constexpr OpInfo info{.type = "IsInf",
                               .first_opset = 10,
                               .family = "comparison",
                               .summary = "True where the input is infinite."};
  bool detect_negative = true;
  bool detect_positive = true;
  static constexpr auto fields() {
    return std::array{
        optional<&IsInf::detect_negative>("detect_negative", "Whether -inf counts."),
        optional<&IsInf::detect_positive>("detect_positive", "Whether +inf counts."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// One input of a floating-point type; the output is boolean.
struct IsNaN : WithoutAttributes {
  static constexpr OpInfo info{
      .type = "IsNaN", .first_opset = 10, .family = "comparison", .summary = "True where the input is NaN."};
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v10

namespace v13 {

/// One input of an integer type or boolean; booleans are negated.
struct BitwiseNot : WithoutAttributes {
  static constexpr OpInfo info{
      .type = "BitwiseNot", .first_opset = 13, .family = "bitwise", .summary = "Every bit inverted."};
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v13

namespace v16 {

/// One input of any type and shape.
struct Identity : WithoutAttributes {
  static constexpr OpInfo info{
      .type = "Identity", .first_opset = 16, .family = "activation", .summary = "The input as it is."};
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v16

namespace v17 {

/// The y of erf(y) = x: infinite at 1 and -1, NaN beyond. Floating-point types.
struct ErfInv : UnaryFunction<ErfInv> {
  static constexpr OpInfo info = detail::arithmetic("ErfInv", "Inverse of the Gauss error function.", 17);
};

}  // namespace v17
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_ELEMENTWISE_UNARY_H_
