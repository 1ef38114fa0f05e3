#include "ir_runtime/ops/softmax.h"

#include "kernels/reduction/softmax.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/sizes.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

kernels::AxisShape axis_shape(const Shape& shape, std::int64_t axis) {
  const std::size_t along = normalized_axis(axis, shape.size());
  return {volume(shape, 0, along), size_of(shape[along]), volume(shape, along + 1)};
}

}  // namespace

template <class Op>
void AlongAxis<Op>::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_real(0);
  if constexpr (std::is_same_v<Op, v1::SoftMax>) require_at_least(context, "axis", axis, 0);
  const PartialShape& shape = context.shape(0);
  if (shape.has_rank()) (void)context.require_axis(axis, shape.rank(), "axis");
  context.set_output(0, context.type(0), shape);
}

template <class Op>
PreparedKernel AlongAxis<Op>::prepare(PrepareContext& context) const {
  constexpr bool kLogarithm = std::is_same_v<Op, v5::LogSoftmax>;
  PreparedKernel prepared;
  prepared.name = kLogarithm ? "log_softmax" : "softmax";
  if (context.output_size() == 0) return nothing_to_do(prepared.name);
  const kernels::AxisShape shape = axis_shape(context.shape(0), axis);
  if (!with_real_type(context.type(0), [&]<class T>() {
        prepared.run = [shape](const StepMemory& memory) {
          if constexpr (kLogarithm) {
            kernels::log_softmax<T>(shape, memory.in<T>(0), memory.out<T>(0));
          } else {
            kernels::softmax<T>(shape, memory.in<T>(0), memory.out<T>(0));
          }
        };
      })) {
    context.fail_unsupported(fmt::format("{} of type {}", Op::info.type, name_of(context.type(0))));
  }
  prepared.in_place = {0};
  prepared.per_target = context.type(0) == ElementType::f32;
  prepared.flops = 4.0 * static_cast<double>(context.size(0));
  return prepared;
}

template struct AlongAxis<v1::SoftMax>;
template struct AlongAxis<v5::LogSoftmax>;
template struct AlongAxis<v8::SoftMax>;

}  // namespace ir::op
