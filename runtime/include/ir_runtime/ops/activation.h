// Activation functions. Softmax and LogSoftmax are in softmax.h.
//
// Input 0 is x, of a numeric type, unless the class says otherwise, and any shape; the output has its type
// and shape.
#ifndef IR_RUNTIME_OPS_ACTIVATION_H_
#define IR_RUNTIME_OPS_ACTIVATION_H_

#include <array>

#include "ir_runtime/ops/elementwise_unary.h"

namespace ir::op {
namespace detail {

constexpr OpInfo activation(std::string_view type, std::string_view summary, int first_opset = 1,
                            int last_opset = kNewestOpset) {
  return {.type = type,
          .first_opset = first_opset,
          .last_opset = last_opset,
          .family = "activation",
          .summary = summary};
}

}  // namespace detail

namespace v0 {

/// min(max(x, min), max); integers use ceil(min) and floor(max).
struct Clamp {
  static constexpr OpInfo info = detail::activation("Clamp", "The value, kept within limits.");
  double min = 0;
  double max = 0;
  static constexpr auto fields() {
    return std::array{
        required<&Clamp::min>("min", "Lower limit; not above max."),
        required<&Clamp::max>("max", "Upper limit."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// x > 0 ? x : alpha * (exp(x) - 1).
struct Elu {
  static constexpr OpInfo info = detail::activation("Elu", "Exponential linear unit.");
  double alpha = 0;
  static constexpr auto fields() {
    return std::array{required<&Elu::alpha>("alpha", "Limit of -f(x) for x to -infinity.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

struct Exp : UnaryFunction<Exp> {
  static constexpr OpInfo info = detail::activation("Exp", "e to the power of the value.");
};

/// x / 2 * (1 + erf(x / sqrt(2))) of a floating-point type.
struct Gelu : UnaryFunction<Gelu> {
  static constexpr OpInfo info = detail::activation("Gelu", "Gaussian error linear unit.", 2, 6);
};

/// max(0, min(1, alpha * x + beta)). Inputs: x, alpha, beta, the last two of one element and x's type.
struct HardSigmoid : WithoutAttributes {
  static constexpr OpInfo info = detail::activation("HardSigmoid", "Line cut off at 0 and 1.");
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// x < 0 ? slope * x : x. Inputs: x and the slope, of one numeric type or of two floating-point types. A
/// slope of rank 1 that has as many elements as axis 1 of x (axis 0 when x has rank 1) belongs to that axis;
/// else it spreads over x by the NumPy rule.
struct PReLU {
  static constexpr OpInfo info = detail::activation("PReLU", "Line with another slope below zero.");
  static constexpr auto fields() {
    return std::array{ignored("channel_shared", "Written by old converters; the slope's shape says it.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

struct ReLU : UnaryFunction<ReLU> {
  static constexpr OpInfo info = detail::activation("ReLU", "Zero below zero, else the value.");
};

/// lambda * (x > 0 ? x : alpha * (exp(x) - 1)). Inputs: x, alpha, lambda, the last two of one element and x's
/// type.
struct Selu : WithoutAttributes {
  static constexpr OpInfo info = detail::activation("Selu", "Scaled exponential linear unit.");
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

struct Sigmoid : UnaryFunction<Sigmoid> {
  static constexpr OpInfo info = detail::activation("Sigmoid", "1 / (1 + exp(-x)).");
};

}  // namespace v0

namespace v4 {

struct HSwish : UnaryFunction<HSwish> {
  static constexpr OpInfo info = detail::activation("HSwish", "x * min(max(x + 3, 0), 6) / 6.", 4);
};

struct Mish : UnaryFunction<Mish> {
  static constexpr OpInfo info = detail::activation("Mish", "x * tanh(log(1 + exp(x))).", 4);
};

struct SoftPlus : UnaryFunction<SoftPlus> {
  static constexpr OpInfo info = detail::activation("SoftPlus", "log(1 + exp(x)).", 4);
};

/// x / (1 + exp(-beta * x)). Inputs: x and, if given, beta, of one element and x's type; else beta is 1.
struct Swish : WithoutAttributes {
  static constexpr OpInfo info = detail::activation("Swish", "The value times a sigmoid of it.", 4);
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v4

namespace v5 {

struct HSigmoid : UnaryFunction<HSigmoid> {
  static constexpr OpInfo info = detail::activation("HSigmoid", "min(max(x + 3, 0), 6) / 6.", 5);
};

}  // namespace v5

/// How Gelu is computed.
enum class GeluApproximation : int { erf, tanh };
inline constexpr std::array kGeluApproximationSpellings{
    Spelling{static_cast<int>(GeluApproximation::erf), "ERF"},
    Spelling{static_cast<int>(GeluApproximation::tanh), "TANH"},
};
constexpr std::span<const Spelling> spellings_of(GeluApproximation) { return kGeluApproximationSpellings; }

namespace v7 {

/// x / 2 * (1 + erf(x / sqrt(2))) or x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), of a
/// floating-point type.
struct Gelu {
  static constexpr OpInfo info =
      detail::activation("Gelu", "Gaussian error linear unit, exact or approximated.", 7);
  GeluApproximation approximation_mode = GeluApproximation::erf;
  static constexpr auto fields() {
    return std::array{
        optional<&Gelu::approximation_mode>("approximation_mode", "The formula: exact or with tanh.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v7

namespace v9 {

struct SoftSign : UnaryFunction<SoftSign> {
  static constexpr OpInfo info = detail::activation("SoftSign", "x / (1 + |x|).", 9);
};

}  // namespace v9
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_ACTIVATION_H_
