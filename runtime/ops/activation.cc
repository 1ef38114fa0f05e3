#include "ir_runtime/ops/activation.h"

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/convert.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/computed_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/unary.h"
#include "runtime/types/dispatch.h"
#include "runtime/types/scalar_type.h"

namespace ir::op {
namespace {

// Inputs from 1 on are numbers of the type of input 0.
void require_parameters(const InferContext& context) {
  for (std::size_t index = 1; index < context.input_count(); ++index) {
    (void)context.require_same_type({0, index});
    require_element_count_of_one(context, index);
  }
}

// How a slope spreads over the data.
BroadcastRule slope_rule(const PartialShape& data, const PartialShape& slope) {
  if (data.rank() < 2 || slope.rank() != 1) return {};
  // With dims that are not known the axis is open; a slope that fits axis 1 and the last one means axis 1.
  const bool by_channel = slope[0].compatible(data[1]) && slope[0] != Dimension(1);
  return by_channel ? BroadcastRule{AutoBroadcast::pdpd, 1} : BroadcastRule{};
}

// Input 1 of PReLU as the kernel reads it: one of another type is converted in scratch memory.
struct Slopes {
  explicit Slopes(const PrepareContext& context)
      : from(context.type(1)), to(context.type(0)), count(context.size(1)) {}

  ElementType from;
  ElementType to;
  std::size_t count;

  [[nodiscard]] std::size_t scratch_bytes() const {
    return from == to ? 0 : count * static_cast<std::size_t>(bits_of(to)) / 8;
  }
  template <class T>
  [[nodiscard]] const T* read(const StepMemory& memory) const {
    if (from == to) return memory.in<T>(1);
    kernels::convert(scalar_type_of(from), memory.inputs[1], scalar_type_of(to), memory.scratch, count);
    return reinterpret_cast<const T*>(memory.scratch);
  }
};

}  // namespace

void v0::Clamp::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require(min <= max, "IR-attribute-value",
                  {.found = min, .expected = words("at most {}", max), .rule = words("max is {}", max)},
                  "min is {}, above max {}", min, max);
  infer_number_function(context);
  propagate_computed_elements(context, *this);
}

PreparedKernel v0::Clamp::prepare(PrepareContext& context) const {
  return prepare_unary_function(context, *this);
}

void v0::Elu::infer(InferContext& context) const {
  context.require_inputs(1);
  infer_number_function(context);
}

PreparedKernel v0::Elu::prepare(PrepareContext& context) const {
  return prepare_unary_function(context, *this);
}

void v0::HardSigmoid::infer(InferContext& context) const {
  context.require_inputs(3);
  infer_number_function(context);
  require_parameters(context);
}

PreparedKernel v0::HardSigmoid::prepare(PrepareContext& context) const {
  return prepare_unary_function(context, *this);
}

void v0::PReLU::infer(InferContext& context) const {
  context.require_inputs(2);
  infer_number_function(context);
  // Converters left slopes in f32 when they turned networks into FP16.
  const bool both_real = is_real(context.type(0)) && is_real(context.type(1));
  if (!both_real) (void)context.require_same_type({0, 1});
  require_broadcastable(context, 1, context.shape(0), slope_rule(context.shape(0), context.shape(1)));
}

PreparedKernel v0::PReLU::prepare(PrepareContext& context) const {
  PreparedKernel prepared;
  prepared.name = "prelu";
  const kernels::BroadcastPlan plan =
      broadcast_plan(context.output_shape(), {context.shape(0), context.shape(1)},
                     slope_rule(context.shape(0), context.shape(1)));
  const Slopes slopes(context);
  if (!with_arithmetic_type(context.type(0), [&]<class T>() {
        prepared.run = [plan, slopes](const StepMemory& memory) {
          kernels::binary<T>(kernels::BinaryOp::prelu, plan, memory.in<T>(0), slopes.read<T>(memory),
                             memory.out<T>(0));
        };
      })) {
    context.fail_unsupported(fmt::format("PReLU of type {}", name_of(context.type(0))));
  }
  prepared.scratch_bytes = slopes.scratch_bytes();
  prepared.in_place = {0};
  prepared.per_target = context.type(0) == ElementType::f32;
  prepared.flops = static_cast<double>(context.output_size());
  return prepared;
}

void v0::Selu::infer(InferContext& context) const {
  context.require_inputs(3);
  infer_number_function(context);
  require_parameters(context);
}

PreparedKernel v0::Selu::prepare(PrepareContext& context) const {
  return prepare_unary_function(context, *this);
}

void v4::Swish::infer(InferContext& context) const {
  context.require_inputs(1, 2);
  infer_number_function(context);
  require_parameters(context);
}

PreparedKernel v4::Swish::prepare(PrepareContext& context) const {
  return prepare_unary_function(context, *this);
}

void v7::Gelu::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_real(0);
  infer_number_function(context);
}

PreparedKernel v7::Gelu::prepare(PrepareContext& context) const {
  return prepare_unary_function(context, *this);
}

}  // namespace ir::op
