#include "ir_runtime/ops/elementwise_unary.h"

#include <cstring>
#include <type_traits>

#include "ir_runtime/ops/activation.h"
#include "runtime/ops/computed_elements.h"
#include "runtime/ops/unary.h"
#include "runtime/types/dispatch.h"

namespace ir::op {

void infer_number_function(InferContext& context) {
  context.require_number(0);
  context.set_output(0, context.type(0), context.shape(0));
}

PreparedKernel prepare_unary(PrepareContext& context, std::string_view type, const kernels::UnarySpec& spec) {
  PreparedKernel prepared;
  prepared.name = fmt::format("unary/{}", type);
  const std::size_t count = context.output_size();
  if (!with_arithmetic_type(context.type(0), [&]<class T>() {
        prepared.run = [spec, count](const StepMemory& memory) {
          kernels::unary<T>(spec.op, spec.params, memory.in<T>(0), memory.out<T>(0), count);
        };
      })) {
    context.fail_unsupported(fmt::format("{} of type {}", type, name_of(context.type(0))));
  }
  prepared.in_place = {0};
  prepared.per_target = context.type(0) == ElementType::f32;
  prepared.flops = static_cast<double>(count);
  return prepared;
}

namespace {

PreparedKernel prepare_classify(PrepareContext& context, kernels::FloatClass wanted) {
  PreparedKernel prepared;
  prepared.name = "classify";
  const std::size_t count = context.output_size();
  if (!with_real_type(context.type(0), [&]<class T>() {
        prepared.run = [wanted, count](const StepMemory& memory) {
          kernels::classify<T>(wanted, memory.in<T>(0), memory.out<std::uint8_t>(0), count);
        };
      })) {
    context.fail_unsupported(fmt::format("a test of {}", name_of(context.type(0))));
  }
  prepared.flops = static_cast<double>(count);
  return prepared;
}

void infer_classify(InferContext& context) {
  context.require_inputs(1);
  context.require_real(0);
  context.set_output(0, ElementType::boolean, context.shape(0));
}

}  // namespace

// The kernel function of an operation.
template <class Op>
static constexpr kernels::UnaryOp kFunction{};

// As OpenVINO, which lets integers go through the others.
template <class Op>
static constexpr bool kTakesFloatsOnly = std::is_same_v<Op, v0::Gelu> || std::is_same_v<Op, v17::ErfInv>;

template <class Op>
void UnaryFunction<Op>::infer(InferContext& context) const {
  context.require_inputs(1);
  if (kTakesFloatsOnly<Op>) context.require_real(0);
  infer_number_function(context);
  propagate_computed_elements(context, static_cast<const Op&>(*this));
}

template <class Op>
PreparedKernel UnaryFunction<Op>::prepare(PrepareContext& context) const {
  return prepare_unary(context, Op::info.type, {kFunction<Op>, {}});
}

#define IR_FUNCTIONS(F)     \
  F(v0::Abs, abs)           \
  F(v0::Acos, acos)         \
  F(v0::Asin, asin)         \
  F(v0::Atan, atan)         \
  F(v0::Ceiling, ceiling)   \
  F(v0::Cos, cos)           \
  F(v0::Cosh, cosh)         \
  F(v0::Erf, erf)           \
  F(v0::Exp, exp)           \
  F(v0::Floor, floor)       \
  F(v0::Gelu, gelu_erf)     \
  F(v0::Log, log)           \
  F(v0::Negative, negative) \
  F(v0::ReLU, relu)         \
  F(v0::Sigmoid, sigmoid)   \
  F(v0::Sign, sign)         \
  F(v0::Sin, sin)           \
  F(v0::Sinh, sinh)         \
  F(v0::Sqrt, sqrt)         \
  F(v0::Tan, tan)           \
  F(v0::Tanh, tanh)         \
  F(v3::Acosh, acosh)       \
  F(v3::Asinh, asinh)       \
  F(v3::Atanh, atanh)       \
  F(v4::HSwish, hswish)     \
  F(v4::Mish, mish)         \
  F(v4::SoftPlus, softplus) \
  F(v5::HSigmoid, hsigmoid) \
  F(v9::SoftSign, softsign) \
  F(v17::ErfInv, erfinv)

#define IR_FUNCTION(Class, name)                                        \
  template <>                                                           \
  constexpr kernels::UnaryOp kFunction<Class> = kernels::UnaryOp::name; \
  template struct UnaryFunction<Class>;
IR_FUNCTIONS(IR_FUNCTION)
#undef IR_FUNCTION

namespace {

std::optional<kernels::UnaryOp> function_without_parameters(const Op& op) {
#define IR_FUNCTION(Class, name) \
  if (op.is<Class>()) return kernels::UnaryOp::name;
  IR_FUNCTIONS(IR_FUNCTION)
#undef IR_FUNCTION
  return std::nullopt;
}
#undef IR_FUNCTIONS

// The functions with attributes.
std::optional<kernels::UnarySpec> function_of_attributes(const Op& op) {
  using kernels::UnaryOp;
  using kernels::UnarySpec;
  if (const auto* clamp = op.as<v0::Clamp>()) return UnarySpec{UnaryOp::clamp, {clamp->min, clamp->max}};
  if (const auto* elu = op.as<v0::Elu>()) return UnarySpec{UnaryOp::elu, {elu->alpha, 0}};
  if (const auto* gelu = op.as<v7::Gelu>()) {
    const bool exact = gelu->approximation_mode == GeluApproximation::erf;
    return UnarySpec{exact ? UnaryOp::gelu_erf : UnaryOp::gelu_tanh, {}};
  }
  if (const auto* round = op.as<v5::Round>()) {
    const bool to_even = round->mode == RoundMode::half_to_even;
    return UnarySpec{to_even ? UnaryOp::round_half_to_even : UnaryOp::round_half_away_from_zero, {}};
  }
  return std::nullopt;
}

// The functions with parameters that are inputs.
std::optional<kernels::UnarySpec> function_of_inputs(const Op& op, std::size_t inputs, NumberOfInput number) {
  using kernels::UnaryOp;
  using kernels::UnarySpec;
  if (op.is<v4::Swish>()) {
    const auto beta = inputs == 1 ? 1.0 : number(1);
    if (beta) return UnarySpec{UnaryOp::swish, {*beta, 0}};
  } else if (op.is<v0::HardSigmoid>() || op.is<v0::Selu>()) {
    const auto alpha = number(1);
    const auto beta = number(2);
    const UnaryOp function = op.is<v0::Selu>() ? UnaryOp::selu : UnaryOp::hard_sigmoid;
    if (alpha && beta) return UnarySpec{function, {*alpha, *beta}};
  } else if (op.is<v0::PReLU>()) {
    if (const auto slope = number(1)) return UnarySpec{UnaryOp::leaky_relu, {*slope, 0}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<kernels::UnarySpec> unary_function(const Op& op, std::size_t inputs, NumberOfInput number) {
  if (const auto function = function_without_parameters(op)) return kernels::UnarySpec{*function, {}};
  const auto function = function_of_attributes(op);
  return function ? function : function_of_inputs(op, inputs, number);
}

PreparedKernel prepare_unary_function(PrepareContext& context, const Op& op) {
  const auto number = [&](std::size_t index) -> std::optional<double> { return context.reals(index).at(0); };
  return prepare_unary(context, op.type(), unary_function(op, context.input_count(), number).value());
}

void v1::LogicalNot::infer(InferContext& context) const {
  context.require_inputs(1);
  if (context.type(0) != ElementType::boolean) context.require_number(0);
  context.set_output(0, context.type(0), context.shape(0));
  propagate_computed_elements(context, *this);
}

PreparedKernel v1::LogicalNot::prepare(PrepareContext& context) const {
  return prepare_unary(context, info.type, {kernels::UnaryOp::logical_not, {}});
}

void v5::Round::infer(InferContext& context) const {
  context.require_inputs(1);
  infer_number_function(context);
  propagate_computed_elements(context, *this);
}

PreparedKernel v5::Round::prepare(PrepareContext& context) const {
  return prepare_unary_function(context, *this);
}

void v10::IsFinite::infer(InferContext& context) const { infer_classify(context); }

PreparedKernel v10::IsFinite::prepare(PrepareContext& context) const {
  return prepare_classify(context, kernels::FloatClass::finite);
}

void v10::IsInf::infer(InferContext& context) const { infer_classify(context); }

PreparedKernel v10::IsInf::prepare(PrepareContext& context) const {
  using kernels::FloatClass;
  if (!detect_negative && !detect_positive) {
    PreparedKernel prepared;
    prepared.name = "zeros";
    prepared.run = [bytes = context.output_size()](const StepMemory& memory) {
      if (bytes > 0) std::memset(memory.outputs[0], 0, bytes);
    };
    return prepared;
  }
  if (detect_negative && detect_positive) return prepare_classify(context, FloatClass::infinite);
  return prepare_classify(context,
                          detect_negative ? FloatClass::negative_infinite : FloatClass::positive_infinite);
}

void v10::IsNaN::infer(InferContext& context) const { infer_classify(context); }

PreparedKernel v10::IsNaN::prepare(PrepareContext& context) const {
  return prepare_classify(context, kernels::FloatClass::nan);
}

void v13::BitwiseNot::infer(InferContext& context) const {
  context.require_inputs(1);
  if (context.type(0) != ElementType::boolean) context.require_integer(0);
  context.set_output(0, context.type(0), context.shape(0));
}

PreparedKernel v13::BitwiseNot::prepare(PrepareContext& context) const {
  const bool logical = context.type(0) == ElementType::boolean;
  return prepare_unary(context, info.type,
                       {logical ? kernels::UnaryOp::logical_not : kernels::UnaryOp::bitwise_not, {}});
}

void v16::Identity::infer(InferContext& context) const {
  context.require_inputs(1);
  context.set_output(0, context.input(0));
}

PreparedKernel v16::Identity::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }

}  // namespace ir::op
