#include "runtime/ops/convolution_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/convolution/convolution.h"
#include "kernels/convolution/convolution_nd.h"
#include "kernels/convolution/deconvolution.h"
#include "runtime/ops/constant_weights.h"
#include "runtime/ops/sizes.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr std::size_t kMaxFastAxes = 3;
constexpr std::int64_t kMaxPhases = 4096;

/// Everything that kernels want to know of a convolution.
struct Geometry {
  std::size_t batch = 1;
  std::size_t groups = 1;
  std::size_t in_channels = 0;
  std::size_t out_channels = 0;
  std::vector<WindowAxisPlan> axes;
};

Geometry geometry_of(const PrepareContext& context, const WindowAttributes& given, const FilterLayout& layout,
                     bool wants_shape) {
  const Shape& image = context.shape(0);
  const Shape& filters = context.shape(1);
  const Shape& output = context.output_shape();
  const WindowAttributes window = completed_window(given, image.size() - 2);
  const std::span<const std::int64_t> image_dims(image.data() + 2, image.size() - 2);
  const std::span<const std::int64_t> window_dims(filters.data() + layout.window_axis(), image_dims.size());
  const std::span<const std::int64_t> output_dims(output.data() + 2, image_dims.size());
  Geometry geometry;
  geometry.batch = size_of(image[0]);
  geometry.groups = layout.grouped ? size_of(filters[0]) : 1;
  geometry.in_channels = size_of(image[1]);
  geometry.out_channels = size_of(output[1]);
  geometry.axes = layout.transposed
                      ? plan_transposed(image_dims, window_dims, window, output_dims, wants_shape)
                      : plan_window(image_dims, window_dims, window);
  return geometry;
}

double flops_of(const Geometry& geometry, bool transposed) {
  double flops = 2.0 * static_cast<double>(geometry.batch) * static_cast<double>(geometry.in_channels) *
                 static_cast<double>(geometry.out_channels) / static_cast<double>(geometry.groups);
  for (const WindowAxisPlan& axis : geometry.axes) {
    flops *= static_cast<double>(axis.kernel) * static_cast<double>(transposed ? axis.in : axis.out);
  }
  return flops;
}

kernels::ConvolutionParams params_of(const PrepareContext& context, const Geometry& geometry) {
  kernels::ConvolutionParams params;
  params.accurate = context.accurate();
  params.whole_floats = context.whole_floats();
  params.batch = geometry.batch;
  params.groups = geometry.groups;
  params.in_channels = geometry.in_channels;
  params.out_channels = geometry.out_channels;
  params.spatial_rank = geometry.axes.size();
  for (std::size_t i = 0; i < geometry.axes.size(); ++i) {
    const WindowAxisPlan& axis = geometry.axes[i];
    params.in_dims[i] = size_of(axis.in);
    params.out_dims[i] = size_of(axis.out);
    params.kernel[i] = size_of(axis.kernel);
    params.strides[i] = size_of(axis.stride);
    params.dilations[i] = size_of(axis.dilation);
    params.pads_begin[i] = static_cast<std::ptrdiff_t>(axis.pad_begin);
  }
  return params;
}

PreparedKernel prepared_of(std::shared_ptr<const kernels::Convolution> kernel, std::string_view kind,
                           bool constant_filters, const EpilogueOfStep& epilogue,
                           const PrologueOfStep& prologue) {
  PreparedKernel prepared;
  prepared.name = fmt::format("{}/{}", kind, kernel->algorithm());
  prepared.per_target = kernel->algorithm() != "reference";
  prepared.scratch_bytes = kernel->scratch_bytes();
  if (constant_filters && !kernel->reads_weights()) prepared.absorbed.push_back(1);
  if (epilogue.residual_input) prepared.in_place.push_back(*epilogue.residual_input);
  prepared.run = [kernel = std::move(kernel), functions = epilogue.functions,
                  residual = epilogue.residual_input,
                  scale = prologue.scale_input](const StepMemory& memory) {
    kernel->run({memory.in<float>(0), memory.in<float>(1), residual ? memory.in<float>(*residual) : nullptr,
                 scale ? memory.in<float>(*scale) : nullptr},
                memory.out<float>(0), memory.scratch);
  };
  return prepared;
}

std::vector<KernelEstimate> estimates_of(const kernels::ConvolutionParams& params, bool constant_filters) {
  std::vector<KernelEstimate> estimates;
  for (const auto& [name, cycles, weight_bytes] : kernels::convolution_algorithms(params, constant_filters))
    estimates.push_back({name, cycles, static_cast<std::int64_t>(weight_bytes)});
  return estimates;
}

PreparedKernel prepare_fast(const PrepareContext& context, kernels::ConvolutionParams params, bool transposed,
                            const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  params.weights_stay = true;
  params.maps_image = !prologue.prologue.is_empty();
  const kernels::ConstantWeights weights = constant_weights(context.constant(1));
  const bool constant = weights.are_known();
  params.image_levels = prologue.levels;
  if (constant && prologue.grid && !params.accurate)
    params.integers = kernels::integer_filters(params, weights, *prologue.grid);
  if (transposed) {
    return prepared_of(kernels::create_deconvolution(params, weights.floats(), epilogue.epilogue),
                       "deconvolution", constant, epilogue, prologue);
  }
  const auto prepare = [&](std::string_view algorithm) -> std::optional<PreparedKernel> {
    auto kernel =
        kernels::create_convolution(params, weights, epilogue.epilogue, prologue.prologue, algorithm);
    if (kernel == nullptr) return std::nullopt;
    return prepared_of(std::move(kernel), "convolution", constant, epilogue, prologue);
  };
  return context.choose({[&] {
                           return fmt::format("convolution {} weights={}", geometry_key(params),
                                              constant ? "constant" : "late");
                         },
                         [&] { return estimates_of(params, constant); }, prepare});
}

PreparedKernel prepare_any(const PrepareContext& context, const Geometry& geometry, bool transposed) {
  kernels::ConvolutionNdParams params;
  params.batch = geometry.batch;
  params.groups = geometry.groups;
  params.in_channels = geometry.in_channels;
  params.out_channels = geometry.out_channels;
  for (const WindowAxisPlan& axis : geometry.axes) {
    params.in_dims.push_back(size_of(axis.in));
    params.out_dims.push_back(size_of(axis.out));
    params.kernel.push_back(size_of(axis.kernel));
    params.strides.push_back(size_of(axis.stride));
    params.dilations.push_back(size_of(axis.dilation));
    params.data_dilations.push_back(size_of(axis.data_dilation));
    params.pads_begin.push_back(static_cast<std::ptrdiff_t>(axis.pad_begin));
  }
  PreparedKernel prepared;
  prepared.name = transposed ? "deconvolution/any" : "convolution/any";
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    const auto run = transposed ? kernels::deconvolution_nd<T> : kernels::convolution_nd<T>;
    prepared.run = [run, params](const StepMemory& memory) {
      run(params, memory.in<T>(0), memory.in<T>(1), memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported("convolution of this element type");
  return prepared;
}

}  // namespace

WindowAttributes window_of(const ConvolutionAttributes& attributes) {
  return {attributes.strides, attributes.dilations, attributes.pads_begin, attributes.pads_end,
          attributes.auto_pad};
}

WindowAttributes window_of(const TransposedConvolutionAttributes& attributes) {
  WindowAttributes window = window_of(static_cast<const ConvolutionAttributes&>(attributes));
  window.output_padding = attributes.output_padding;
  return window;
}

std::string geometry_key(const kernels::ConvolutionParams& params) {
  const auto list = [&](const auto& values) {
    return fmt::format("{}", fmt::join(values.begin(), values.begin() + params.spatial_rank, "x"));
  };
  return fmt::format("in={}x{}x{} out={}x{} kernel={} strides={} dilations={} pads={} groups={}{}{}",
                     params.batch, params.in_channels, list(params.in_dims), params.out_channels,
                     list(params.out_dims), list(params.kernel), list(params.strides), list(params.dilations),
                     list(params.pads_begin), params.groups, params.integers != nullptr ? " integers" : "",
                     params.image_levels.empty() ? "" : " levels");
}

bool has_fast_strides(const WindowAttributes& window, const FilterLayout& layout) {
  std::int64_t phases = 1;
  for (const std::int64_t stride : window.strides) {
    if (layout.transposed && __builtin_mul_overflow(phases, stride, &phases)) return false;
  }
  return phases <= kMaxPhases;
}

FastConvolution fast_convolution(const PrepareContext& context, const WindowAttributes& window,
                                 const FilterLayout& layout) {
  const Geometry geometry = geometry_of(context, window, layout, false);
  return {params_of(context, geometry), flops_of(geometry, false)};
}

PreparedKernel prepare_convolution(PrepareContext& context, const WindowAttributes& window,
                                   const FilterLayout& layout, bool wants_shape,
                                   const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  if (wants_shape) (void)context.integers(2);  // the output's shape is not known without
  if (context.output_size() == 0)
    return nothing_to_do(layout.transposed ? "deconvolution/empty" : "convolution/empty");
  const Geometry geometry = geometry_of(context, window, layout, wants_shape);
  const bool fast =
      (context.type(0) == ElementType::f32 || !prologue.levels.empty()) &&
      geometry.axes.size() <= kMaxFastAxes && has_fast_strides(window, layout) &&
      std::ranges::all_of(geometry.axes, [](const WindowAxisPlan& axis) { return axis.data_dilation == 1; });
  if (!fast && !(epilogue.is_empty() && prologue.prologue.is_empty()))
    context.fail_unsupported("a fused convolution of this element type");
  PreparedKernel prepared =
      fast ? prepare_fast(context, params_of(context, geometry), layout.transposed, epilogue, prologue)
           : prepare_any(context, geometry, layout.transposed);
  prepared.flops = flops_of(geometry, layout.transposed);
  return prepared;
}

}  // namespace ir::op
