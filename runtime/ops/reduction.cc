#include "ir_runtime/ops/reduction.h"

#include <algorithm>

#include "kernels/reduction/reduce.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

using kernels::ReduceOp;

// What an operation is, in kernels and in inference.
struct ReductionTraits {
  ReduceOp function = ReduceOp::sum;
  bool logical = false;
  /// Joins elements in inference; null where that is not worth it.
  ElementFunction join = nullptr;
};

// The output's shape when the axes are not known. Several may be the same one, so that only a single axis
// tells the rank.
PartialShape shape_for_unknown_axes(const PartialShape& data, const PartialShape& axes, bool keep_dims) {
  if (!keep_dims) {
    const bool single = axes.has_rank() && axes.element_count() == Dimension(1);
    if (!single || data.rank() == 0) return {};
    return PartialShape::of_rank(data.rank() - 1);
  }
  PartialShape shape = data;
  for (std::size_t axis = 0; axis < data.rank(); ++axis) {
    shape[axis] =
        Dimension(std::min<std::int64_t>(data[axis].min(), 1), std::max<std::int64_t>(data[axis].max(), 1));
  }
  return shape;
}

PartialShape reduced_shape(InferContext& context, std::span<const std::size_t> axes, bool keep_dims) {
  const PartialShape& data = context.shape(0);
  PartialShape shape = PartialShape::of_rank(0);
  for (std::size_t axis = 0; axis < data.rank(); ++axis) {
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    if (reduced && !keep_dims) continue;
    shape.push_back(reduced ? Dimension(1) : data[axis]);
    if (!context.explaining() || !shape[shape.rank() - 1].is_static()) continue;
    context.explain(0, shape.rank() - 1,
                    reduced ? fmt::format("axis {} is reduced = 1", axis)
                            : fmt::format("dim {} of input 0 = {}", axis, data[axis].value()));
  }
  return shape;
}

void infer_reduction(InferContext& context, bool keep_dims, const ReductionTraits& traits) {
  context.require_inputs(2);
  if (traits.logical) {
    context.require_type(0, {ElementType::boolean});
  } else {
    context.require_number(0);
  }
  const PartialShape& data = context.shape(0);
  if (!data.has_rank()) {
    context.require_integer(1);
    context.require_rank(1, 0, 1);
    context.set_output(0, context.type(0), PartialShape());
    return;
  }
  const auto axes = infer_axes(context, 1, data.rank(), {.repeated = true, .axis_of_scalar = true});
  if (!axes) {
    context.set_output(0, context.type(0), shape_for_unknown_axes(data, context.shape(1), keep_dims));
    return;
  }
  context.set_output(0, context.type(0), reduced_shape(context, *axes, keep_dims));
  const auto& elements = context.input(0).elements;
  if (traits.join == nullptr || context.input(0).constant || !elements || elements->empty()) return;
  if (axes->empty()) return set_integer_elements(context, *elements);
  Dimension joined = elements->front();
  for (const Dimension& element : std::span(*elements).subspan(1)) joined = traits.join(joined, element);
  set_integer_elements(context, {joined});
}

PreparedKernel prepare_reduction(PrepareContext& context, const OpInfo& info, ReduceOp function) {
  const Shape& shape = context.shape(0);
  const std::vector<std::size_t> axes = prepared_axes(context, 1, shape.size());
  // Also where the function of one element would not be the element, as for ReduceL1.
  if (axes.empty()) return PreparedKernel::view_of(0);
  PreparedKernel prepared;
  prepared.name = fmt::format("reduce/{}", info.type);
  if (context.output_size() == 0) return nothing_to_do(prepared.name);
  std::vector<std::size_t> dims(shape.begin(), shape.end());
  if (dims.empty()) dims.push_back(1);  // axis 0 of a scalar
  const kernels::AxesPlan plan(dims, axes);
  if (!with_arithmetic_type(context.type(0), [&]<class T>() {
        prepared.run = [plan, function](const StepMemory& memory) {
          kernels::reduce<T>(function, plan, memory.in<T>(0), memory.out<T>(0));
        };
      })) {
    context.fail_unsupported(fmt::format("{} of type {}", info.type, name_of(context.type(0))));
  }
  prepared.per_target = context.type(0) == ElementType::f32;
  prepared.flops = static_cast<double>(context.size(0));
  return prepared;
}

}  // namespace

template <class Op>
static constexpr ReductionTraits kTraits{};

template <class Op>
void Reduction<Op>::infer(InferContext& context) const {
  infer_reduction(context, keep_dims, kTraits<Op>);
}

template <class Op>
PreparedKernel Reduction<Op>::prepare(PrepareContext& context) const {
  return prepare_reduction(context, Op::info, kTraits<Op>.function);
}

#define IR_REDUCTION(Class, ...)                            \
  template <>                                               \
  constexpr ReductionTraits kTraits<Class> = {__VA_ARGS__}; \
  template struct Reduction<Class>;
IR_REDUCTION(v1::ReduceLogicalAnd, .function = ReduceOp::logical_and, .logical = true)
IR_REDUCTION(v1::ReduceLogicalOr, .function = ReduceOp::logical_or, .logical = true)
IR_REDUCTION(v1::ReduceMax, .function = ReduceOp::max, .join = element_maximum)
IR_REDUCTION(v1::ReduceMean, .function = ReduceOp::mean)
IR_REDUCTION(v1::ReduceMin, .function = ReduceOp::min, .join = element_minimum)
IR_REDUCTION(v1::ReduceProd, .function = ReduceOp::prod, .join = element_multiply)
IR_REDUCTION(v1::ReduceSum, .function = ReduceOp::sum, .join = element_add)
IR_REDUCTION(v4::ReduceL1, .function = ReduceOp::l1)
IR_REDUCTION(v4::ReduceL2, .function = ReduceOp::l2)
#undef IR_REDUCTION

}  // namespace ir::op
