#include "ir_runtime/ops/select.h"

#include <algorithm>

#include "kernels/elementwise/select.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"

namespace ir::op::v1 {
namespace {

// What is known of an element that may be either.
Dimension either(const Dimension& a, const Dimension& b) {
  return {std::min(a.min(), b.min()), std::max(a.max(), b.max())};
}
KnownReal either(const KnownReal&, const KnownReal&) { return std::nullopt; }

// What is known of the elements of output 0, whose shape is known, for scalar or vector inputs that are known
// as this. Empty when one of them has other elements than the output.
template <class Element>
std::optional<std::vector<Element>> selected_elements(const InferContext& context, std::size_t count,
                                                      const std::vector<Element>& a,
                                                      const std::vector<Element>& b) {
  const auto conditions = context.elements(0).value_or(std::vector{Dimension(0, 1)});
  const auto fits = [count](std::size_t size) { return size == 1 || size == count; };
  if (!fits(conditions.size()) || !fits(a.size()) || !fits(b.size())) return std::nullopt;
  std::vector<Element> elements;
  for (std::size_t i = 0; i < count; ++i) {
    const Dimension& condition = broadcast_element(conditions, i);
    const Element& then = broadcast_element(a, i);
    const Element& otherwise = broadcast_element(b, i);
    if (condition.is_static()) {
      elements.push_back(condition.value() != 0 ? then : otherwise);
    } else {
      elements.push_back(either(then, otherwise));
    }
  }
  return elements;
}

void propagate_selected(InferContext& context) {
  const PartialShape& shape = context.outputs()[0].shape;
  if (!shape.is_static() || shape.rank() > 1 || shape.element_count().value() > kMaxPropagatedElements)
    return;
  const auto count = static_cast<std::size_t>(shape.element_count().value());
  if (is_real(context.outputs()[0].type)) {
    const std::vector<KnownReal> unknown(1);
    auto reals = selected_elements(context, count, context.known_reals(1).value_or(unknown),
                                   context.known_reals(2).value_or(unknown));
    if (reals) context.set_reals(0, *std::move(reals));
    return;
  }
  const std::vector unknown{kUnknownElement};
  auto elements = selected_elements(context, count, context.elements(1).value_or(unknown),
                                    context.elements(2).value_or(unknown));
  if (elements) set_integer_elements(context, *std::move(elements));
}

bool all_constant(const InferContext& context) {
  return context.input(0).constant && context.input(1).constant && context.input(2).constant;
}

}  // namespace

void Select::infer(InferContext& context) const {
  context.require_inputs(3);
  context.require_type(0, {ElementType::boolean});
  require_no_strings(context, 1, info.type);
  const ElementType type = context.require_same_type({1, 2});
  context.set_output(0, type, infer_broadcast(context, {1, 2, 0}, {auto_broadcast, auto_broadcast_axis}));
  if (!all_constant(context)) propagate_selected(context);
}

PreparedKernel Select::prepare(PrepareContext& context) const {
  const kernels::BroadcastPlan plan =
      broadcast_plan(context.output_shape(), {context.shape(0), context.shape(1), context.shape(2)},
                     {auto_broadcast, auto_broadcast_axis});
  PreparedKernel prepared = moving_kernel(
      context, "select", {1, 2}, [plan, bytes = moved_bytes(context)](const StepMemory& memory) {
        kernels::select(plan, bytes, memory.in<std::uint8_t>(0), memory.inputs[1], memory.inputs[2],
                        memory.outputs[0]);
      });
  for (const std::size_t index : {1, 2}) {
    if (plan.is_full(index)) prepared.in_place.push_back(index);
  }
  return prepared;
}

}  // namespace ir::op::v1
