#include "ir_runtime/ops/deformable_convolution.h"

#include <array>
#include <memory>

#include "kernels/convolution/deformable_convolution.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/convolution_kernel.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/window_params.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

void require_divisible(const InferContext& context, std::size_t input, const Dimension& channels,
                       std::int64_t value, std::string_view name) {
  context.require(!channels.is_static() || channels.value() % value == 0, "IR-shape",
                  {.found = channels,
                   .expected = words("a multiple of {}", value),
                   .rule = words("{} = {}", name, value),
                   .input = input},
                  "{} channels of input {} of shape {} cannot be divided into {} = {} parts", channels, input,
                  context.shape(input), name, value);
}

// Compares the channels of the image and the filters.
void check_channels(const InferContext& context, const DeformableConvolutionAttributes& op,
                    const Dimension& channels, const Dimension& per_group, const Dimension& outputs) {
  const auto merged = channels.merged(per_group * Dimension(op.group));
  context.require(merged.has_value(), "IR-shape",
                  {.found = channels, .expected = words("{} groups of {}", op.group, per_group), .input = 0},
                  "input 0 of shape {} has {} channels, input 2 of shape {} takes {} groups of {}",
                  context.shape(0), channels, context.shape(2), op.group, per_group);
  require_divisible(context, 0, *merged, op.group, "group");
  require_divisible(context, 0, *merged, op.deformable_group, "deformable_group");
  require_divisible(context, 2, outputs, op.group, "group");
}

void infer_deformable(InferContext& context, const DeformableConvolutionAttributes& op) {
  const bool masked = context.input_count() == 4;
  context.require_number(0);
  const ElementType type =
      masked ? context.require_same_type({0, 1, 2, 3}) : context.require_same_type({0, 1, 2});
  require_at_least(context, "group", op.group, 1);
  require_at_least(context, "deformable_group", op.deformable_group, 1);
  const WindowAttributes window = checked_window(context, window_of(op), 2);

  SharedDim batch{"the batch size", {}};
  SharedDim channels{"the image's channels", {}};
  SharedDim height{"the image's height", {}};
  SharedDim width{"the image's width", {}};
  unify(context, 0, {&batch, &channels, &height, &width});
  SharedDim outputs{"the output's channels", {}};
  SharedDim per_group{"the channels of a group", {}};
  SharedDim window_y{"the window's height", {}};
  SharedDim window_x{"the window's width", {}};
  unify(context, 2, {&outputs, &per_group, &window_y, &window_x});
  check_channels(context, op, channels.value, per_group.value, outputs.value);

  const std::array image{height.value, width.value};
  const std::array taps{window_y.value, window_x.value};
  const std::vector<Dimension> dims = window_output_dims(context, image, taps, window, 0, 2);
  SharedDim out_y{"the output's height", dims[0]};
  SharedDim out_x{"the output's width", dims[1]};
  const Dimension scales = Dimension(op.deformable_group) * window_y.value * window_x.value;
  SharedDim offsets{"deformable_group * window * 2", scales * Dimension(2)};
  unify(context, 1, {&batch, &offsets, &out_y, &out_x});
  if (masked) {
    SharedDim mask{"deformable_group * window", scales};
    unify(context, 3, {&batch, &mask, &out_y, &out_x});
  }
  context.set_output(0, type, {batch.value, outputs.value, out_y.value, out_x.value});
}

PreparedKernel prepare_deformable(const PrepareContext& context, const DeformableConvolutionAttributes& op,
                                  bool blends_with_padding) {
  if (context.output_size() == 0) return nothing_to_do("deformable_convolution");
  PreparedKernel prepared;
  prepared.name = "deformable_convolution";
  const Shape& image = context.shape(0);
  const Shape& filters = context.shape(2);
  const auto axes = plan_window(std::span(image).subspan(2), std::span(filters).subspan(2),
                                completed_window(window_of(op), 2));
  kernels::DeformableConvolutionParams params;
  params.batch = static_cast<std::size_t>(image[0]);
  params.in_channels = static_cast<std::size_t>(image[1]);
  params.out_channels = static_cast<std::size_t>(filters[0]);
  params.groups = static_cast<std::size_t>(op.group);
  params.deformable_groups = static_cast<std::size_t>(op.deformable_group);
  params.y = window_params(axes[0]);
  params.x = window_params(axes[1]);
  params.blends_with_padding = blends_with_padding;
  params.accurate = context.accurate();
  params.whole_floats = context.whole_floats();
  const bool masked = context.input_count() == 4;
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    const Tensor* weights = context.constant(2);
    const auto kernel = std::make_shared<const kernels::DeformableConvolution<T>>(
        params, weights != nullptr ? weights->data<T>().data() : nullptr);
    prepared.scratch_bytes = kernel->scratch_bytes();
    prepared.run = [kernel, masked](const StepMemory& memory) {
      kernel->run(memory.in<T>(0), memory.in<T>(1), memory.in<T>(2), masked ? memory.in<T>(3) : nullptr,
                  memory.out<T>(0), memory.scratch);
    };
  });
  if (!found) context.fail_unsupported("deformable convolution of this element type");
  prepared.flops = 2.0 * static_cast<double>(context.output_size()) * static_cast<double>(filters[1]) *
                   static_cast<double>(filters[2]) * static_cast<double>(filters[3]);
  return prepared;
}

}  // namespace

void v1::DeformableConvolution::infer(InferContext& context) const {
  context.require_inputs(3);
  infer_deformable(context, *this);
}
PreparedKernel v1::DeformableConvolution::prepare(PrepareContext& context) const {
  return prepare_deformable(context, *this, false);
}

void v8::DeformableConvolution::infer(InferContext& context) const {
  context.require_inputs(3, 4);
  infer_deformable(context, *this);
}
PreparedKernel v8::DeformableConvolution::prepare(PrepareContext& context) const {
  return prepare_deformable(context, *this, bilinear_interpolation_pad);
}

}  // namespace ir::op
