#include "ir_runtime/ops/elementwise_binary.h"

#include "kernels/elementwise/binary.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/computed_elements.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

using kernels::BinaryOp;
using kernels::CompareOp;

template <class Op>
BroadcastRule rule_of(const Op& op) {
  return {op.auto_broadcast, op.auto_broadcast_axis};
}

// Operands of one type, which the caller has checked.
void infer_operands(InferContext& context, const BroadcastRule& rule, ElementType output) {
  context.set_output(0, output, infer_broadcast(context, {0, 1}, rule));
}

void infer_arithmetic(InferContext& context, const Op& op, const BroadcastRule& rule,
                      ElementFunction function) {
  context.require_inputs(2);
  context.require_number(0);
  context.require_number(1);
  infer_operands(context, rule, context.require_same_type({0, 1}));
  if (function == nullptr || is_real(context.outputs()[0].type))
    return propagate_computed_elements(context, op);
  if (auto elements = binary_elements(context, function)) set_integer_elements(context, *std::move(elements));
}

// Of floating-point types.
void infer_real_arithmetic(InferContext& context, const Op& op, const BroadcastRule& rule) {
  context.require_inputs(2);
  context.require_real(0);
  context.require_real(1);
  infer_operands(context, rule, context.require_same_type({0, 1}));
  propagate_computed_elements(context, op);
}

void infer_truth(InferContext& context, const BroadcastRule& rule, ElementFunction function) {
  infer_operands(context, rule, ElementType::boolean);
  if (auto elements = binary_elements(context, function)) set_boolean_elements(context, *std::move(elements));
}

void infer_comparison(InferContext& context, const Op& op, const BroadcastRule& rule,
                      ElementFunction function) {
  context.require_inputs(2);
  const ElementType type = context.require_same_type({0, 1});
  if (type != ElementType::boolean) {
    context.require_number(0);
    context.require_number(1);
  }
  infer_truth(context, rule, function);
  if (is_real(type)) propagate_computed_elements(context, op);
}

void infer_logical(InferContext& context, const BroadcastRule& rule, ElementFunction function) {
  context.require_inputs(2);
  context.require_type(0, {ElementType::boolean});
  context.require_type(1, {ElementType::boolean});
  infer_truth(context, rule, function);
}

void infer_bitwise(InferContext& context, const BroadcastRule& rule, bool takes_boolean) {
  context.require_inputs(2);
  const ElementType type = context.require_same_type({0, 1});
  if (!takes_boolean || type != ElementType::boolean) {
    context.require_integer(0);
    context.require_integer(1);
  }
  infer_operands(context, rule, type);
}

// The inputs whose memory the output may take over.
std::vector<std::size_t> full_operands(const kernels::BroadcastPlan& plan) {
  std::vector<std::size_t> full;
  for (std::size_t i = 0; i < plan.operand_count(); ++i) {
    if (plan.is_full(i)) full.push_back(i);
  }
  return full;
}

PreparedKernel prepare_binary(PrepareContext& context, const OpInfo& info, const BroadcastRule& rule,
                              BinaryOp function) {
  PreparedKernel prepared;
  prepared.name = fmt::format("binary/{}", info.type);
  const kernels::BroadcastPlan plan =
      broadcast_plan(context.output_shape(), {context.shape(0), context.shape(1)}, rule);
  if (!with_arithmetic_type(context.type(0), [&]<class T>() {
        prepared.run = [function, plan](const StepMemory& memory) {
          kernels::binary<T>(function, plan, memory.in<T>(0), memory.in<T>(1), memory.out<T>(0));
        };
      })) {
    context.fail_unsupported(fmt::format("{} of type {}", info.type, name_of(context.type(0))));
  }
  prepared.in_place = full_operands(plan);
  prepared.per_target = context.type(0) == ElementType::f32;
  prepared.flops = static_cast<double>(context.output_size());
  return prepared;
}

PreparedKernel prepare_comparison(PrepareContext& context, const OpInfo& info, const BroadcastRule& rule,
                                  CompareOp function) {
  PreparedKernel prepared;
  prepared.name = fmt::format("compare/{}", info.type);
  const kernels::BroadcastPlan plan =
      broadcast_plan(context.output_shape(), {context.shape(0), context.shape(1)}, rule);
  if (!with_arithmetic_type(context.type(0), [&]<class T>() {
        prepared.run = [function, plan](const StepMemory& memory) {
          kernels::compare<T>(function, plan, memory.in<T>(0), memory.in<T>(1), memory.out<std::uint8_t>(0));
        };
        if constexpr (std::is_same_v<T, std::uint8_t>) prepared.in_place = full_operands(plan);
      })) {
    context.fail_unsupported(fmt::format("{} of type {}", info.type, name_of(context.type(0))));
  }
  prepared.flops = static_cast<double>(context.output_size());
  return prepared;
}

// Elements of comparisons and logical operations by those of element_arithmetic.h.
Dimension element_not_equal(const Dimension& a, const Dimension& b) {
  return element_not(element_equal(a, b));
}
Dimension element_greater(const Dimension& a, const Dimension& b) { return element_less(b, a); }
Dimension element_greater_equal(const Dimension& a, const Dimension& b) {
  return element_not(element_less(a, b));
}
Dimension element_less_equal(const Dimension& a, const Dimension& b) {
  return element_not(element_less(b, a));
}

enum class Kind { arithmetic, real_arithmetic, comparison, logical, bitwise, shift };

// What an operation is, in kernels and in inference.
struct BinaryTraits {
  Kind kind = Kind::arithmetic;
  BinaryOp function = BinaryOp::add;
  /// For boolean operands of bitwise operations.
  BinaryOp logical_function = BinaryOp::logical_and;
  CompareOp comparison = CompareOp::equal;
  ElementFunction elements = nullptr;
};

constexpr BinaryTraits arithmetic(BinaryOp function, ElementFunction elements = nullptr) {
  return {.kind = Kind::arithmetic, .function = function, .elements = elements};
}
constexpr BinaryTraits real_arithmetic(BinaryOp function) {
  return {.kind = Kind::real_arithmetic, .function = function};
}
constexpr BinaryTraits comparison(CompareOp function, ElementFunction elements) {
  return {.kind = Kind::comparison, .comparison = function, .elements = elements};
}
constexpr BinaryTraits logical(BinaryOp function, ElementFunction elements) {
  return {.kind = Kind::logical, .function = function, .elements = elements};
}
constexpr BinaryTraits bitwise(BinaryOp function, BinaryOp logical_function) {
  return {.kind = Kind::bitwise, .function = function, .logical_function = logical_function};
}
constexpr BinaryTraits shift(BinaryOp function) { return {.kind = Kind::shift, .function = function}; }

}  // namespace

template <class Op>
static constexpr BinaryTraits kTraits{};

template <class Op>
void BinaryFunction<Op>::infer(InferContext& context) const {
  constexpr const BinaryTraits& kOp = kTraits<Op>;
  const auto& op = static_cast<const Op&>(*this);
  switch (kOp.kind) {
    case Kind::arithmetic:
      return infer_arithmetic(context, op, rule_of(*this), kOp.elements);
    case Kind::real_arithmetic:
      return infer_real_arithmetic(context, op, rule_of(*this));
    case Kind::comparison:
      return infer_comparison(context, op, rule_of(*this), kOp.elements);
    case Kind::logical:
      return infer_logical(context, rule_of(*this), kOp.elements);
    case Kind::bitwise:
      return infer_bitwise(context, rule_of(*this), true);
    case Kind::shift:
      return infer_bitwise(context, rule_of(*this), false);
  }
}

template <class Op>
PreparedKernel BinaryFunction<Op>::prepare(PrepareContext& context) const {
  constexpr const BinaryTraits& kOp = kTraits<Op>;
  if (kOp.kind == Kind::comparison) {
    return prepare_comparison(context, Op::info, rule_of(*this), kOp.comparison);
  }
  const bool as_logical = kOp.kind == Kind::bitwise && context.type(0) == ElementType::boolean;
  return prepare_binary(context, Op::info, rule_of(*this), as_logical ? kOp.logical_function : kOp.function);
}

#define IR_BINARY(Class, traits)                  \
  template <>                                     \
  constexpr BinaryTraits kTraits<Class> = traits; \
  template struct BinaryFunction<Class>;
IR_BINARY(v0::SquaredDifference, arithmetic(BinaryOp::squared_difference))
IR_BINARY(v1::Add, arithmetic(BinaryOp::add, element_add))
IR_BINARY(v1::FloorMod, arithmetic(BinaryOp::floor_mod, element_floor_mod))
IR_BINARY(v1::Maximum, arithmetic(BinaryOp::maximum, element_maximum))
IR_BINARY(v1::Minimum, arithmetic(BinaryOp::minimum, element_minimum))
IR_BINARY(v1::Mod, arithmetic(BinaryOp::mod, element_mod))
IR_BINARY(v1::Multiply, arithmetic(BinaryOp::multiply, element_multiply))
IR_BINARY(v1::Power, arithmetic(BinaryOp::power))
IR_BINARY(v1::Subtract, arithmetic(BinaryOp::subtract, element_subtract))
IR_BINARY(v17::Atan2, real_arithmetic(BinaryOp::atan2))
IR_BINARY(v1::Equal, comparison(CompareOp::equal, element_equal))
IR_BINARY(v1::Greater, comparison(CompareOp::greater, element_greater))
IR_BINARY(v1::GreaterEqual, comparison(CompareOp::greater_equal, element_greater_equal))
IR_BINARY(v1::Less, comparison(CompareOp::less, element_less))
IR_BINARY(v1::LessEqual, comparison(CompareOp::less_equal, element_less_equal))
IR_BINARY(v1::NotEqual, comparison(CompareOp::not_equal, element_not_equal))
IR_BINARY(v1::LogicalAnd, logical(BinaryOp::logical_and, element_minimum))
IR_BINARY(v1::LogicalOr, logical(BinaryOp::logical_or, element_maximum))
IR_BINARY(v1::LogicalXor, logical(BinaryOp::logical_xor, element_not_equal))
IR_BINARY(v0::Xor, logical(BinaryOp::logical_xor, element_not_equal))
IR_BINARY(v13::BitwiseAnd, bitwise(BinaryOp::bitwise_and, BinaryOp::logical_and))
IR_BINARY(v13::BitwiseOr, bitwise(BinaryOp::bitwise_or, BinaryOp::logical_or))
IR_BINARY(v13::BitwiseXor, bitwise(BinaryOp::bitwise_xor, BinaryOp::logical_xor))
IR_BINARY(v15::BitwiseLeftShift, shift(BinaryOp::bitwise_left_shift))
IR_BINARY(v15::BitwiseRightShift, shift(BinaryOp::bitwise_right_shift))
#undef IR_BINARY

void v1::Divide::infer(InferContext& context) const {
  infer_arithmetic(context, *this, rule_of(*this),
                   m_pythondiv ? element_divide_down : element_divide_to_zero);
}

PreparedKernel v1::Divide::prepare(PrepareContext& context) const {
  return prepare_binary(context, info, rule_of(*this),
                        m_pythondiv ? BinaryOp::floor_divide : BinaryOp::divide);
}

}  // namespace ir::op
