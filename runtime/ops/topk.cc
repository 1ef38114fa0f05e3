#include "kernels/reduction/topk.h"

#include <algorithm>

#include "ir_runtime/ops/sort.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/sizes.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr std::int64_t kMaxAxisSize = (std::int64_t{1} << 31) - 1;

// k as far as it is known.
Dimension known_k(const InferContext& context) {
  const auto elements = context.elements(1);
  if (!elements || elements->size() != 1) return {};
  const Dimension& k = elements->front();
  return require_size(context, 1, k, "input 1 asks for {} elements", k);
}

void infer_top_k(InferContext& context, const TopKAttributes& op) {
  context.require_inputs(2);
  context.require_number(0);
  context.require_integer(1);
  require_one_element(context, 1);
  require_type_of_indices(context, "index_element_type", op.index_element_type);
  const Dimension k = known_k(context);
  PartialShape output = context.shape(0);
  if (output.has_rank()) {
    context.require(output.rank() >= 1, "IR-rank",
                    {.found = "a scalar", .expected = "a rank of at least 1", .input = 0},
                    "input 0 is a scalar, TopK takes rank 1 and above");
    const std::size_t axis = context.require_axis(op.axis, output.rank(), "axis");
    Dimension& dim = output[axis];
    context.require(k.min() <= dim.max(), "IR-value",
                    {.found = k,
                     .expected = words("at most {}", dim),
                     .rule = words("axis {} of input 0 has {}", axis, dim),
                     .input = 1},
                    "input 1 asks for {} elements, axis {} of input 0 of shape {} has {}", k, axis,
                    context.shape(0), dim);
    context.require(!dim.is_static() || dim.value() <= kMaxAxisSize, "IR-shape",
                    {.found = dim, .expected = words("at most {}", kMaxAxisSize), .input = 0},
                    "axis {} of input 0 has {} elements; at most {} can be searched", axis, dim.value(),
                    kMaxAxisSize);
    dim = Dimension(k.min(), std::min(k.max(), dim.max()));
    if (context.explaining() && dim.is_static()) {
      for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
        context.explain(index, axis, fmt::format("input 1 = {}", dim.value()));
      }
    }
  }
  context.set_output(0, context.type(0), output);
  context.set_output(1, op.index_element_type, output);
}

kernels::TopKSort sort_of(TopKSort sort) {
  switch (sort) {
    case TopKSort::index:
      return kernels::TopKSort::index;
    case TopKSort::value:
      return kernels::TopKSort::value;
    case TopKSort::none:
      break;
  }
  return kernels::TopKSort::none;
}

PreparedKernel prepare_top_k(const PrepareContext& context, const TopKAttributes& op) {
  if (!context.outputs_static() || context.output_size() == 0) return nothing_to_do("top_k");
  PreparedKernel prepared;
  prepared.name = "top_k";
  const Shape& shape = context.shape(0);
  const std::size_t axis = normalized_axis(op.axis, shape.size());
  kernels::TopKParams params;
  params.outer = volume(shape, 0, axis);
  params.axis = size_of(shape[axis]);
  params.inner = volume(shape, axis + 1);
  params.k = static_cast<std::size_t>(context.output_shape()[axis]);
  params.mode = op.mode == TopKMode::max ? kernels::TopKMode::max : kernels::TopKMode::min;
  params.sort = sort_of(op.sort);
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    prepared.scratch_bytes = kernels::top_k_scratch_bytes<T>(params);
    with_index_type(op.index_element_type, [&]<class Index>() {
      prepared.run = [params](const StepMemory& memory) {
        kernels::top_k(params, memory.in<T>(0), memory.out<T>(0), memory.out<Index>(1), memory.scratch);
      };
    });
  });
  if (!found) context.fail_unsupported("TopK of this element type");
  return prepared;
}

}  // namespace

void v1::TopK::infer(InferContext& context) const { infer_top_k(context, *this); }
PreparedKernel v1::TopK::prepare(PrepareContext& context) const { return prepare_top_k(context, *this); }

void v3::TopK::infer(InferContext& context) const { infer_top_k(context, *this); }
PreparedKernel v3::TopK::prepare(PrepareContext& context) const { return prepare_top_k(context, *this); }

void v11::TopK::infer(InferContext& context) const { infer_top_k(context, *this); }
PreparedKernel v11::TopK::prepare(PrepareContext& context) const { return prepare_top_k(context, *this); }

}  // namespace ir::op
