#include "ir_runtime/ops/select.h"

#include <algorithm>

#include "kernels/elementwise/select.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/prepare.h"

namespace ir::op::v1 {
namespace {

// What is known of the elements of output 0, whose shape is known, for scalar or vector inputs.
std::optional<std::vector<Dimension>> selected_elements(InferContext& context) {
  const PartialShape& shape = context.outputs()[0].shape;
  if (!shape.is_static() || shape.rank() > 1 || shape.element_count().value() > kMaxPropagatedElements)
    return std::nullopt;
  const auto count = static_cast<std::size_t>(shape.element_count().value());
  std::vector<Dimension> inputs[3];
  for (std::size_t i = 0; i < 3; ++i) {
    inputs[i] = context.elements(i).value_or(std::vector{i == 0 ? Dimension(0, 1) : kUnknownElement});
    if (inputs[i].size() != 1 && inputs[i].size() != count) return std::nullopt;
  }
  std::vector<Dimension> elements;
  for (std::size_t i = 0; i < count; ++i) {
    const Dimension& condition = broadcast_element(inputs[0], i);
    const Dimension& a = broadcast_element(inputs[1], i);
    const Dimension& b = broadcast_element(inputs[2], i);
    if (condition.is_static()) {
      elements.push_back(condition.value() != 0 ? a : b);
    } else {
      elements.push_back({std::min(a.min(), b.min()), std::max(a.max(), b.max())});
    }
  }
  return elements;
}

bool all_constant(const InferContext& context) {
  return context.input(0).constant && context.input(1).constant && context.input(2).constant;
}

}  // namespace

void Select::infer(InferContext& context) const {
  context.require_inputs(3);
  context.require_type(0, {ElementType::boolean});
  const ElementType type = context.require_same_type({1, 2});
  context.set_output(0, type, infer_broadcast(context, {1, 2, 0}, {auto_broadcast, auto_broadcast_axis}));
  if (!is_integral(type) || all_constant(context)) return;
  if (auto elements = selected_elements(context)) set_integer_elements(context, *std::move(elements));
}

PreparedKernel Select::prepare(PrepareContext& context) const {
  const int bits = bits_of(context.output(0).type);
  if (bits < 8) context.fail_unsupported(fmt::format("Select of type {}", name_of(context.output(0).type)));
  PreparedKernel prepared;
  prepared.name = "select";
  const kernels::BroadcastPlan plan =
      broadcast_plan(context.output_shape(), {context.shape(0), context.shape(1), context.shape(2)},
                     {auto_broadcast, auto_broadcast_axis});
  prepared.run = [plan, bytes = static_cast<std::size_t>(bits) / 8](const StepMemory& memory) {
    kernels::select(plan, bytes, memory.in<std::uint8_t>(0), memory.inputs[1], memory.inputs[2],
                    memory.outputs[0]);
  };
  for (const std::size_t index : {1, 2}) {
    if (plan.is_full(index)) prepared.in_place.push_back(index);
  }
  return prepared;
}

}  // namespace ir::op::v1
