#include "ir_runtime/ops/normalization.h"

#include <limits>

#include "kernels/elementwise/unary.h"
#include "kernels/reduction/normalization.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"

namespace ir::op {
namespace {

constexpr std::size_t kAnyRank = std::numeric_limits<std::size_t>::max();

kernels::ChannelShape channel_shape(const Shape& shape) {
  return {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]), volume(shape, 2)};
}

// Output 0 is like input `data`, which has axes N and C; the inputs `parameters` hold a number per channel.
void infer_by_channel(InferContext& context, std::size_t data,
                      std::initializer_list<std::size_t> parameters) {
  context.require_real(data);
  context.require_rank(data, 2, kAnyRank);
  PartialShape shape = context.shape(data);
  Dimension channels = shape.has_rank() ? shape[1] : Dimension();
  std::size_t counted = data;  // the input that tells their number
  for (const std::size_t index : parameters) {
    (void)context.require_same_type({data, index});
    context.require_rank(index, 1);
    if (!context.shape(index).has_rank()) continue;
    const Dimension& elements = context.shape(index)[0];
    const auto merged = channels.merged(elements);
    const std::string_view unit = counted == data ? "channels" : "elements";
    context.require(merged.has_value(), "IR-shape",
                    {.found = elements,
                     .expected = channels,
                     .rule = words("input {} has {} {}", counted, channels, unit),
                     .input = index},
                    "input {} has {} elements for {} {} of input {}", index, elements, channels, unit,
                    counted);
    if (*merged != channels) counted = index;
    channels = *merged;
  }
  if (shape.has_rank()) shape[1] = channels;
  context.set_output(0, context.type(data), shape);
}

// Ports of the inputs of a batch normalisation.
struct BatchNormPorts {
  std::size_t data;
  std::size_t gamma;
  std::size_t beta;
  std::size_t mean;
  std::size_t variance;
};
constexpr BatchNormPorts kBatchNorm0{2, 0, 1, 3, 4};
constexpr BatchNormPorts kBatchNorm5{0, 1, 2, 3, 4};

void infer_batch_norm(InferContext& context, const BatchNormPorts& ports, double epsilon) {
  context.require_inputs(5);
  context.require(epsilon >= 0, "IR-attribute-range", {.found = epsilon, .expected = "values from 0 on"},
                  "epsilon is {}; it takes values from 0 on", epsilon);
  infer_by_channel(context, ports.data, {ports.gamma, ports.beta, ports.mean, ports.variance});
}

PreparedKernel prepare_batch_norm(PrepareContext& context, const BatchNormPorts& ports, double epsilon) {
  if (context.output_size() == 0) return nothing_to_do("batch_norm");
  const kernels::ChannelShape shape = channel_shape(context.output_shape());
  PreparedKernel prepared;
  prepared.name = "batch_norm";
  prepared.scratch_bytes = 2 * shape.channels * sizeof(float);
  prepared.run = [shape, ports, epsilon](const StepMemory& memory) {
    auto* scale = reinterpret_cast<float*>(memory.scratch);
    float* shift = scale + shape.channels;
    kernels::fold_batch_norm({memory.in<float>(ports.gamma), memory.in<float>(ports.beta),
                              memory.in<float>(ports.mean), memory.in<float>(ports.variance), epsilon},
                             shape.channels, scale, shift);
    kernels::scale_shift(shape, scale, shift, memory.in<float>(ports.data), memory.out<float>(0));
  };
  prepared.in_place = {ports.data};
  prepared.per_target = true;
  prepared.flops = 2.0 * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

PreparedKernel prepare_mvn(PrepareContext& context, std::span<const std::size_t> axes,
                           const kernels::MvnParams& params) {
  if (context.output_size() == 0) return nothing_to_do("mvn");
  PreparedKernel prepared;
  prepared.name = "mvn";
  prepared.run = [plan = kernels::AxesPlan(sizes_of(context.shape(0)), axes),
                  params](const StepMemory& memory) {
    kernels::mvn(plan, params, memory.in<float>(0), memory.out<float>(0));
  };
  prepared.in_place = {0};
  prepared.per_target = true;
  prepared.flops = 5.0 * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

PreparedKernel prepare_normalize(PrepareContext& context, std::span<const std::size_t> axes, double eps,
                                 kernels::NormEps mode) {
  if (context.output_size() == 0) return nothing_to_do("normalize_l2");
  PreparedKernel prepared;
  prepared.name = "normalize_l2";
  prepared.run = [plan = kernels::AxesPlan(sizes_of(context.shape(0)), axes), eps,
                  mode](const StepMemory& memory) {
    kernels::normalize_l2(plan, eps, mode, memory.in<float>(0), memory.out<float>(0));
  };
  prepared.in_place = {0};
  prepared.per_target = true;
  prepared.flops = 3.0 * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

// Normalisation without axes: the definition leaves out eps and gives 1 for every element but 0.
PreparedKernel prepare_nonzero(PrepareContext& context) {
  PreparedKernel prepared;
  prepared.name = "normalize_l2/no_axes";
  prepared.run = [count = context.output_size()](const StepMemory& memory) {
    auto* out = memory.out<float>(0);
    kernels::unary<float>(kernels::UnaryOp::sign, {}, memory.in<float>(0), out, count);
    kernels::unary<float>(kernels::UnaryOp::abs, {}, out, out, count);
  };
  prepared.in_place = {0};
  return computed_in_f32(context, std::move(prepared));
}

// Output 0 is like input 0; input 1 names axes of it.
void infer_over_axes(InferContext& context, AxesRules rules = {}) {
  context.require_inputs(2);
  context.require_real(0);
  const PartialShape& data = context.shape(0);
  if (data.has_rank()) {
    (void)infer_axes(context, 1, data.rank(), rules);
  } else {
    context.require_integer(1);
    context.require_rank(1, 0, 1);
  }
  context.set_output(0, context.type(0), data);
}

}  // namespace

void v0::BatchNormInference::infer(InferContext& context) const {
  infer_batch_norm(context, kBatchNorm0, epsilon);
}
PreparedKernel v0::BatchNormInference::prepare(PrepareContext& context) const {
  return prepare_batch_norm(context, kBatchNorm0, epsilon);
}

void v5::BatchNormInference::infer(InferContext& context) const {
  infer_batch_norm(context, kBatchNorm5, epsilon);
}
PreparedKernel v5::BatchNormInference::prepare(PrepareContext& context) const {
  return prepare_batch_norm(context, kBatchNorm5, epsilon);
}

void v0::GRN::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_rank(0, 2, 4);
  infer_by_channel(context, 0, {});
}

PreparedKernel v0::GRN::prepare(PrepareContext& context) const {
  const std::size_t channel_axis = 1;
  return prepare_normalize(context, {&channel_axis, 1}, bias, kernels::NormEps::add);
}

void v0::LRN::infer(InferContext& context) const {
  require_at_least(context, "size", size, 1);
  context.require_inputs(2);
  context.require_rank(1, 1);
  const PartialShape& data = context.shape(0);
  const PartialShape& axes = context.shape(1);
  const auto rank = static_cast<std::int64_t>(data.rank());
  context.require(!data.has_rank() || !axes.has_rank() || axes[0].min() <= rank, "IR-shape",
                  {.found = axes.has_rank() ? axes[0] : Dimension(),
                   .expected = words("at most {}", rank),
                   .rule = words("input 0 has shape {}", data),
                   .input = 1},
                  "input 1 names {} axes of {}: input 0 has shape {}",
                  axes.has_rank() ? axes[0] : Dimension(), rank, data);
  infer_over_axes(context);
}

PreparedKernel v0::LRN::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("lrn");
  const std::vector<std::size_t> dims = sizes_of(context.shape(0));
  const std::vector<std::size_t> axes = prepared_axes(context, 1, dims.size());
  const kernels::LrnParams params{alpha, beta, bias, static_cast<std::size_t>(size)};
  PreparedKernel prepared;
  prepared.name = "lrn";
  prepared.scratch_bytes = kernels::lrn_scratch_count(dims, axes) * sizeof(float);
  prepared.run = [dims, axes, params](const StepMemory& memory) {
    kernels::lrn(dims, axes, params, memory.in<float>(0), memory.out<float>(0),
                 reinterpret_cast<float*>(memory.scratch));
  };
  prepared.per_target = true;
  prepared.flops = 4.0 * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

void v0::MVN::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_real(0);
  const PartialShape& data = context.shape(0);
  if (data.has_rank()) (void)checked_axes(context, reduction_axes, data.rank(), "reduction_axes");
  context.set_output(0, context.type(0), data);
}

PreparedKernel v0::MVN::prepare(PrepareContext& context) const {
  const std::size_t rank = context.shape(0).size();
  std::vector<std::size_t> axes = normalized_axes(reduction_axes, rank);
  for (std::size_t axis = across_channels ? 1 : 2; reduction_axes.empty() && axis < rank; ++axis) {
    axes.push_back(axis);
  }
  return prepare_mvn(context, axes, {eps, kernels::MvnEps::inside_sqrt, normalize_variance});
}

void v6::MVN::infer(InferContext& context) const { infer_over_axes(context, {.repeated = true}); }

PreparedKernel v6::MVN::prepare(PrepareContext& context) const {
  const auto mode =
      eps_mode == MvnEpsMode::inside_sqrt ? kernels::MvnEps::inside_sqrt : kernels::MvnEps::outside_sqrt;
  return prepare_mvn(context, prepared_axes(context, 1, context.shape(0).size()),
                     {eps, mode, normalize_variance});
}

void v0::NormalizeL2::infer(InferContext& context) const { infer_over_axes(context); }

PreparedKernel v0::NormalizeL2::prepare(PrepareContext& context) const {
  const auto mode = eps_mode == NormalizeEpsMode::add ? kernels::NormEps::add : kernels::NormEps::max;
  const std::vector<std::size_t> axes = prepared_axes(context, 1, context.shape(0).size());
  return axes.empty() ? prepare_nonzero(context) : prepare_normalize(context, axes, eps, mode);
}

void v12::GroupNormalization::infer(InferContext& context) const {
  context.require_inputs(3);
  require_at_least(context, "num_groups", num_groups, 1);
  infer_by_channel(context, 0, {1, 2});
  const PartialShape& shape = context.outputs()[0].shape;
  if (!shape.has_rank() || !shape[1].is_static()) return;
  context.require(shape[1].value() % num_groups == 0, "IR-attribute-value",
                  {.found = num_groups,
                   .expected = words("a divisor of {}", shape[1]),
                   .rule = words("there are {} channels", shape[1])},
                  "num_groups is {}, which does not divide {} channels", num_groups, shape[1].value());
}

PreparedKernel v12::GroupNormalization::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("group_norm");
  const kernels::ChannelShape shape = channel_shape(context.shape(0));
  PreparedKernel prepared;
  prepared.name = "group_norm";
  const kernels::GroupNormParams params{static_cast<std::size_t>(num_groups), epsilon};
  prepared.run = [shape, params](const StepMemory& memory) {
    kernels::group_norm(shape, params, memory.in<float>(1), memory.in<float>(2), memory.in<float>(0),
                        memory.out<float>(0));
  };
  prepared.in_place = {0};
  prepared.per_target = true;
  prepared.flops = 7.0 * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

}  // namespace ir::op
