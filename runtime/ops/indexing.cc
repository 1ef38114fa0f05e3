// OneHot, NonZero and CumSum.
#include "ir_runtime/ops/indexing.h"

#include <numeric>

#include "kernels/indexing/nonzero.h"
#include "kernels/indexing/one_hot.h"
#include "kernels/reduction/cumulative_sum.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

void infer_one_hot(InferContext& context, std::int64_t axis) {
  context.require_inputs(4);
  context.require_integer(0);
  context.require_integer(1);
  for (std::size_t index = 1; index < 4; ++index) require_one_element(context, index);
  const ElementType type = context.require_same_type({2, 3});
  const Dimension given = elements_or_unknown(context, 1, 1)[0];
  const Dimension depth = require_size(context, 1, given, "depth is {}", given);
  const PartialShape& indices = context.shape(0);
  if (!indices.has_rank()) {
    context.set_output(0, type, PartialShape());
    return;
  }
  std::vector<Dimension> dims = indices.dims();
  const std::size_t place = context.require_axis(axis, dims.size() + 1, "axis");
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(place), depth);
  context.set_output(0, type, PartialShape(std::move(dims)));
  if (context.explaining()) context.explain(0, place, fmt::format("depth = {}", to_string(depth)));
}

PreparedKernel prepare_one_hot(const PrepareContext& context, std::int64_t axis,
                               kernels::NegativeIndices negative) {
  require_known_outputs(context);
  if (context.output_size() == 0) return nothing_to_do("one_hot");
  require_index_type(context, 0);
  const Shape& indices = context.shape(0);
  const Shape& shape = context.output_shape();
  const std::size_t place = normalized_axis(axis, shape.size());
  const kernels::OneHotShape dims{volume(indices, 0, place), static_cast<std::size_t>(shape[place]),
                                  volume(indices, place)};
  std::function<void(const StepMemory&)> run;
  with_bits_of(moved_bytes(context), [&]<class T>() {
    run = [dims, negative, type = context.type(0)](const StepMemory& memory) {
      kernels::one_hot(dims, negative, index_view(type, memory.inputs[0]), *memory.in<T>(2), *memory.in<T>(3),
                       memory.out<T>(0));
    };
  });
  return moving_kernel(context, "one_hot", {2, 3}, std::move(run));
}

}  // namespace

void v1::OneHot::infer(InferContext& context) const { infer_one_hot(context, axis); }
PreparedKernel v1::OneHot::prepare(PrepareContext& context) const {
  return prepare_one_hot(context, axis, kernels::NegativeIndices::ignore);
}

void v16::OneHot::infer(InferContext& context) const { infer_one_hot(context, axis); }
PreparedKernel v16::OneHot::prepare(PrepareContext& context) const {
  return prepare_one_hot(context, axis,
                         negative_indices_mode == NegativeIndices::normalize
                             ? kernels::NegativeIndices::normalize
                             : kernels::NegativeIndices::ignore);
}

void v3::NonZero::infer(InferContext& context) const {
  context.require_inputs(1);
  require_no_strings(context, 0, info.type);
  require_type_of_indices(context, "output_type", output_type);
  const PartialShape& data = context.shape(0);
  PartialShape output{Dimension(), Dimension()};
  if (data.has_rank()) {
    output[0] = data.rank() == 0 ? Dimension(0, 1) : Dimension(static_cast<std::int64_t>(data.rank()));
    output[1] = Dimension(0, data.element_count().max());
  }
  context.set_output(0, output_type, output);
}

namespace {

template <class T>
Tensor nonzero_of(const Tensor& input, ElementType type) {
  const auto* data = static_cast<const T*>(input.raw());
  const auto counts = kernels::count_nonzero(data, static_cast<std::size_t>(input.size()));
  const auto total = static_cast<std::int64_t>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  // A scalar counts as a vector when it is not zero, and as nothing when it is.
  const Shape shape = input.shape().empty() ? Shape(static_cast<std::size_t>(total), 1) : input.shape();
  Tensor output(type, {static_cast<std::int64_t>(shape.size()), total});
  with_index_type(type, [&]<class Index>() {
    if (total > 0)
      kernels::nonzero_positions(data, sizes_of(shape), counts, static_cast<Index*>(output.raw()));
  });
  return output;
}

}  // namespace

PreparedKernel v3::NonZero::prepare(PrepareContext& context) const {
  PreparedKernel kernel;
  kernel.name = "nonzero";
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    kernel.run_dynamic = [type = output_type](std::span<const Tensor> inputs) {
      return std::vector<Tensor>{nonzero_of<T>(inputs[0], type)};
    };
  });
  if (!found) {
    kernel.run_dynamic = [type = output_type](std::span<const Tensor> inputs) {
      return std::vector<Tensor>{nonzero_of<float>(inputs[0].converted(ElementType::f32), type)};
    };
  }
  return kernel;
}

void v0::CumSum::infer(InferContext& context) const {
  context.require_inputs(1, 2);
  require_no_strings(context, 0, info.type);
  if (context.input_count() == 2) {
    context.require_type(1, {ElementType::i32, ElementType::i64});
    // As OpenVINO, to which an axis that is not known may have any shape.
    if (const auto axis = context.integers(1)) {
      require_element_count_of_one(context, 1);
      const std::size_t rank = context.shape(0).rank();
      // A scalar has no axis that could be wrong.
      if (rank > 0) (void)context.require_axis(axis->front(), rank, "axis", 1);
    }
  }
  context.set_output(0, context.type(0), context.shape(0));
}

PreparedKernel v0::CumSum::prepare(PrepareContext& context) const {
  const Shape& shape = context.shape(0);
  kernels::CumulativeSumParams params;
  params.exclusive = exclusive;
  params.reverse = reverse;
  if (!shape.empty()) {
    const std::size_t axis = context.input_count() == 2 ? axis_input(context, 1, shape.size()) : 0;
    params.outer = volume(shape, 0, axis);
    params.axis = static_cast<std::size_t>(shape[axis]);
    params.inner = volume(shape, axis + 1);
  }
  if (context.output_size() == 0) return nothing_to_do("cumulative_sum");
  PreparedKernel kernel;
  kernel.name = "cumulative_sum";
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    kernel.run = [params](const StepMemory& memory) {
      kernels::cumulative_sum(params, memory.in<T>(0), memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported(fmt::format("CumSum of type {}", name_of(context.type(0))));
  kernel.in_place = {0};
  kernel.flops = static_cast<double>(context.output_size());
  return kernel;
}

}  // namespace ir::op
