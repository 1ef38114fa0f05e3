#include "ir_runtime/ops/binary_convolution.h"

#include <memory>
#include <optional>

#include "kernels/convolution/binary_convolution.h"
#include "runtime/ops/convolution_kernel.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/window_params.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

// From whichever input or attribute tells it.
std::optional<std::size_t> spatial_rank_of(const InferContext& context, const WindowAttributes& window) {
  if (context.shape(0).has_rank()) return context.shape(0).rank() - 2;
  if (context.shape(1).has_rank()) return context.shape(1).rank() - 2;
  if (!window.strides.empty()) return window.strides.size();
  return std::nullopt;
}

std::vector<Dimension> spatial_dims(const PartialShape& shape, std::size_t count) {
  if (!shape.has_rank()) return std::vector<Dimension>(count);
  return {shape.begin() + 2, shape.end()};
}

// The specification says that padding is filled with a number and that 0 stands for -1: -1 is 0 then, as in
// OpenVINO's CPU plugin. Other numbers equal no bit, as in OpenVINO's reference.
kernels::BinaryPadding padding_of(double value) {
  if (value == 1) return kernels::BinaryPadding::ones;
  if (value == 0 || value == -1) return kernels::BinaryPadding::zeros;
  return kernels::BinaryPadding::neither;
}

}  // namespace

void v1::BinaryConvolution::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_number(0);
  context.require_type(1, {ElementType::u1});
  const PartialShape& image = context.shape(0);
  const PartialShape& filters = context.shape(1);
  context.require_rank(0, 4);
  // While nothing is known of the image, OpenVINO infers through filters of any convolution.
  context.require_rank(1, image.has_rank() ? 4 : 3, image.has_rank() ? 4 : 5);
  const auto spatial_rank = spatial_rank_of(context, window_of(*this));
  if (!spatial_rank) {
    context.set_output(0, context.type(0), PartialShape());
    return;
  }
  if (image.has_rank() && filters.has_rank()) {
    context.require(image[1].compatible(filters[1]), "IR-shape",
                    {.found = image[1],
                     .expected = filters[1],
                     .rule = words("input 1 has shape {}", filters),
                     .input = 0},
                    "input 0 of shape {} and input 1 of shape {} differ in their channels", image, filters);
  }
  const WindowAttributes window = checked_window(context, window_of(*this), *spatial_rank);
  PartialShape output{image.has_rank() ? image[0] : Dimension(),
                      filters.has_rank() ? filters[0] : Dimension()};
  for (const Dimension& dim : window_output_dims(context, spatial_dims(image, *spatial_rank),
                                                 spatial_dims(filters, *spatial_rank), window, 0, 2)) {
    output.push_back(dim);
  }
  context.set_output(0, context.type(0), output);
}

PreparedKernel v1::BinaryConvolution::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("binary_convolution");
  PreparedKernel prepared;
  prepared.name = "binary_convolution";
  const Shape& image = context.shape(0);
  const Shape& filters = context.shape(1);
  const auto axes = plan_window(std::span(image).subspan(2), std::span(filters).subspan(2),
                                completed_window(window_of(*this), 2));
  kernels::BinaryConvolutionParams params;
  params.batch = static_cast<std::size_t>(image[0]);
  params.in_channels = static_cast<std::size_t>(image[1]);
  params.out_channels = static_cast<std::size_t>(filters[0]);
  params.y = window_params(axes[0]);
  params.x = window_params(axes[1]);
  params.padding = padding_of(pad_value);
  const Tensor* bits = context.constant(1);
  const auto kernel = std::make_shared<const kernels::BinaryConvolution>(
      params, bits != nullptr ? static_cast<const std::uint8_t*>(bits->raw()) : nullptr);
  prepared.scratch_bytes = kernel->scratch_bytes();
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    prepared.run = [kernel](const StepMemory& memory) {
      kernel->run(memory.in<T>(0), memory.in<std::uint8_t>(1), memory.out<T>(0), memory.scratch);
    };
  });
  if (!found) context.fail_unsupported("binary convolution of this element type");
  prepared.flops = 2.0 * static_cast<double>(context.output_size()) * static_cast<double>(filters[1]) *
                   static_cast<double>(filters[2]) * static_cast<double>(filters[3]);
  return prepared;
}

}  // namespace ir::op
