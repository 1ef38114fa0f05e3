#include "ir_runtime/ops/quantization.h"

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/fake_quantize.h"
#include "kernels/elementwise/unary.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/scalar_type.h"

namespace ir::op {

void v0::FakeQuantize::infer(InferContext& context) const {
  context.require_inputs(5);
  // f32 counts levels exactly up to here.
  constexpr std::int64_t kMaxLevels = std::int64_t{1} << 24;
  require_range(context, "levels", levels, 2, kMaxLevels);
  context.require_real(0);
  const ElementType type = context.require_same_type({0, 1, 2, 3, 4});
  (void)require_matching(context, {0, 1, 2, 3, 4}, {auto_broadcast, auto_broadcast_axis});
  // As OpenVINO, also where limits would make more of the data; what that means is not defined.
  context.set_output(0, type, context.shape(0));
}

PreparedKernel v0::FakeQuantize::prepare(PrepareContext& context) const {
  const BroadcastRule rule{auto_broadcast, auto_broadcast_axis};
  for (std::size_t limit = 1; limit < context.input_count(); ++limit) {
    if (!spreads_over(context.shape(limit), context.shape(0), rule))
      context.fail_unsupported("FakeQuantize with limits of more elements than the data");
  }
  const kernels::BroadcastPlan plan = broadcast_plan(
      context.output_shape(),
      {context.shape(0), context.shape(1), context.shape(2), context.shape(3), context.shape(4)}, rule);
  PreparedKernel prepared;
  prepared.name = "fake_quantize";
  prepared.run = [plan, count = static_cast<std::size_t>(levels)](const StepMemory& memory) {
    kernels::fake_quantize(
        plan, memory.in<float>(0),
        {memory.in<float>(1), memory.in<float>(2), memory.in<float>(3), memory.in<float>(4)}, count,
        memory.out<float>(0));
  };
  prepared.in_place = {0};
  prepared.per_target = true;
  prepared.flops = 7.0 * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

void v13::FakeConvert::infer(InferContext& context) const {
  context.require_inputs(2, 3);
  require_type_in(context, "destination_type", destination_type, {ElementType::f8e4m3, ElementType::f8e5m2});
  context.require_type(0, {ElementType::f16, ElementType::bf16, ElementType::f32});
  for (std::size_t index = 1; index < context.input_count(); ++index) {
    (void)context.require_same_type({0, index});
    require_broadcastable(context, index, context.shape(0));
  }
  context.set_output(0, context.type(0), context.shape(0));
}

PreparedKernel v13::FakeConvert::prepare(PrepareContext& context) const {
  using kernels::BinaryOp;
  using kernels::ScalarType;
  const std::size_t count = context.output_size();
  const bool has_shift = context.input_count() == 3;
  const auto plan_for = [&](std::size_t index) {
    return broadcast_plan(context.output_shape(), {context.output_shape(), context.shape(index)});
  };
  PreparedKernel prepared;
  prepared.name = "fake_convert";
  prepared.scratch_bytes = count;
  prepared.run = [count, has_shift, scale_plan = plan_for(1), shift_plan = plan_for(has_shift ? 2 : 1),
                  type = scalar_type_of(destination_type)](const StepMemory& memory) {
    const auto* scale = memory.in<float>(1);
    const float* shift = has_shift ? memory.in<float>(2) : nullptr;
    auto* out = memory.out<float>(0);
    kernels::binary(BinaryOp::multiply, scale_plan, memory.in<float>(0), scale, out);
    if (shift != nullptr) kernels::binary(BinaryOp::subtract, shift_plan, out, shift, out);
    const double largest = type == ScalarType::f8e4m3 ? 448 : 57344;
    kernels::unary(kernels::UnaryOp::clamp, {-largest, largest}, out, out, count);
    kernels::convert(ScalarType::f32, out, type, memory.scratch, count);
    kernels::convert(type, memory.scratch, ScalarType::f32, out, count);
    if (shift != nullptr) kernels::binary(BinaryOp::add, shift_plan, out, shift, out);
    kernels::binary(BinaryOp::divide, scale_plan, out, scale, out);
  };
  prepared.flops = 6.0 * static_cast<double>(count);
  return prepared;
}

}  // namespace ir::op
