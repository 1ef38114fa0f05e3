#include "runtime/ops/attention_layout.h"

#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

std::size_t dim_from_end(const AttentionLayout& layout, std::size_t from_end) {
  return static_cast<std::size_t>(layout.dims[layout.dims.size() - from_end]);
}

std::size_t stride_from_end(const AttentionLayout& layout, std::size_t from_end) {
  return layout.strides[layout.strides.size() - from_end];
}

// From row to row of an operand that may have one for all rows of the output.
std::size_t spread_row(const AttentionLayout& layout, std::size_t rows) {
  return dim_from_end(layout, 2) == 1 && rows != 1 ? 0 : stride_from_end(layout, 2);
}

kernels::AttentionParams params_of(const AttentionLayouts& layouts) {
  kernels::AttentionParams params;
  params.causal = layouts.causal;
  params.queries = dim_from_end(layouts.out, 2);
  params.keys = dim_from_end(layouts.key, 2);
  params.depth = dim_from_end(layouts.key, 1);
  params.value_depth = dim_from_end(layouts.out, 1);
  const auto is_transposed = [](const AttentionLayout& layout, std::size_t columns) {
    return stride_from_end(layout, 1) != 1 && columns != 1;
  };
  params.query_transposed = is_transposed(layouts.query, params.depth);
  params.query_row =
      params.query_transposed ? stride_from_end(layouts.query, 1) : spread_row(layouts.query, params.queries);
  params.key_transposed = is_transposed(layouts.key, params.depth);
  params.key_row = stride_from_end(layouts.key, params.key_transposed ? 1 : 2);
  params.value_transposed = is_transposed(layouts.value, params.value_depth);
  params.value_row = stride_from_end(layouts.value, params.value_transposed ? 1 : 2);
  params.out_transposed = is_transposed(layouts.out, params.value_depth);
  params.out_row = stride_from_end(layouts.out, params.out_transposed ? 1 : 2);
  const std::size_t axes = layouts.out.dims.size() - 2;
  params.batch.resize(axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    params.batch[axis].count = static_cast<std::size_t>(layouts.out.dims[axis]);
  }
  const auto take_batch = [&](const AttentionLayout& layout,
                              std::size_t kernels::AttentionBatchAxis::*stride) {
    const std::size_t missing = axes + 2 - layout.dims.size();
    for (std::size_t axis = missing; axis < axes; ++axis) {
      if (layout.dims[axis - missing] != 1) params.batch[axis].*stride = layout.strides[axis - missing];
    }
  };
  take_batch(layouts.query, &kernels::AttentionBatchAxis::query);
  take_batch(layouts.key, &kernels::AttentionBatchAxis::key);
  take_batch(layouts.value, &kernels::AttentionBatchAxis::value);
  take_batch(layouts.out, &kernels::AttentionBatchAxis::out);
  if (layouts.mask) {
    params.mask = layouts.mask_type == ElementType::boolean ? kernels::AttentionMask::boolean
                                                            : kernels::AttentionMask::additive;
    params.hidden_score = layouts.hidden_score;
    params.mask_row = spread_row(*layouts.mask, params.queries);
    params.mask_column = dim_from_end(*layouts.mask, 1) == 1 && params.keys != 1 ? 0 : 1;
    take_batch(*layouts.mask, &kernels::AttentionBatchAxis::mask);
  }
  if (layouts.sink) {
    params.sink = true;
    params.sink_row = spread_row(*layouts.sink, params.queries);
    take_batch(*layouts.sink, &kernels::AttentionBatchAxis::sink);
  }
  return params;
}

// Multiplications and additions of the two products.
double flops_of(const AttentionLayouts& layouts) {
  const Shape& out = layouts.out.dims;
  const auto keys = static_cast<double>(dim_from_end(layouts.key, 2));
  const auto depths = static_cast<double>(dim_from_end(layouts.key, 1) + dim_from_end(layouts.out, 1));
  return 2 * static_cast<double>(volume(out, 0, out.size() - 1)) * keys * depths;
}

}  // namespace

AttentionLayout AttentionLayout::dense(const Shape& shape) {
  AttentionLayout layout{shape, std::vector<std::size_t>(shape.size())};
  std::size_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    layout.strides[axis] = stride;
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  return layout;
}

AttentionStep prepare_attention(const PrepareContext& context, const AttentionLayouts& layouts) {
  kernels::AttentionParams params = params_of(layouts);
  params.accurate = context.accurate();
  params.whole_floats = context.whole_floats();
  AttentionStep step;
  step.attention = kernels::create_attention(params);
  step.depth = params.depth;
  step.kernel.name = "attention/" + std::string(step.attention->algorithm());
  step.kernel.scratch_bytes = step.attention->scratch_bytes();
  step.kernel.per_target = true;
  step.kernel.flops = flops_of(layouts);
  return step;
}

}  // namespace ir::op
