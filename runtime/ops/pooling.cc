#include "ir_runtime/ops/pooling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "kernels/pooling/pooling.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/op_class.h"
#include "runtime/ops/pool_values.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/window_params.h"
#include "runtime/ops/windows.h"
#include "runtime/types/dispatch.h"

namespace ir {
namespace op {
namespace {

template <class Pool>
WindowAttributes window_of(const Pool& pool) {
  WindowAttributes window{
      pool.strides, {}, pool.pads_begin, pool.pads_end, pool.auto_pad, newest_rounding(pool.rounding_type)};
  if constexpr (requires { pool.dilations; }) window.dilations = pool.dilations;
  return window;
}

WindowAttributes window_of(const ngraph::AvgPool& pool) {
  return {
      .strides = pool.window_movement_strides,
      .pads_begin = pool.padding_below,
      .pads_end = pool.padding_above,
      .auto_pad = pool.pad_type,
      .rounding = pool.ceil_mode ? Rounding14::ceil : Rounding14::floor,
      .names = {
          .strides = "window_movement_strides", .pads_begin = "padding_below", .pads_end = "padding_above"}};
}

// Output [N, C, windows...] for input 0 [N, C, spatial...].
PartialShape infer_pool(InferContext& context, const std::vector<std::int64_t>& kernel,
                        const WindowAttributes& given) {
  const PartialShape& data = context.shape(0);
  context.require(!data.has_rank() || data.rank() == kernel.size() + 2, "IR-rank",
                  {.found = data,
                   .expected = words("rank {}", kernel.size() + 2),
                   .rule = words("the window has {} axes", kernel.size()),
                   .input = 0},
                  "input 0 has shape {}; a window of {} axes takes rank {}", data, kernel.size(),
                  kernel.size() + 2);
  const WindowAttributes window = checked_window(context, given, kernel.size());
  if (!data.has_rank()) return PartialShape::of_rank(kernel.size() + 2);
  const std::vector<Dimension> sizes(kernel.begin(), kernel.end());
  const std::span<const Dimension> spatial(data.dims().data() + 2, kernel.size());
  PartialShape output{data[0], data[1]};
  for (const Dimension& dim : window_output_dims(context, spatial, sizes, window, 0, 2))
    output.push_back(dim);
  return output;
}

// [N, C] as the rows that kernels/pooling/pooling takes.
std::size_t rows_of(const Shape& shape) { return static_cast<std::size_t>(shape[0] * shape[1]); }

// Each of the output's positions along an axis has a window.
void require_windows(PrepareContext& context) {
  const Shape& shape = context.output_shape();
  for (std::size_t axis = 2; axis < shape.size(); ++axis)
    context.require_table(size_of(shape[axis]), sizeof(kernels::Window));
}

// The windows of all axes; none when there is nothing to compute.
std::vector<kernels::WindowAxis> window_axes(PrepareContext& context, const std::vector<std::int64_t>& kernel,
                                             const WindowAttributes& window, kernels::Divisor divisor) {
  if (context.output_size() == 0) return {};
  require_windows(context);
  const Shape& image = context.shape(0);
  const std::span<const std::int64_t> spatial(image.data() + 2, image.size() - 2);
  std::vector<kernels::WindowAxis> axes;
  for (const WindowAxisPlan& plan : plan_window(spatial, kernel, completed_window(window, kernel.size())))
    axes.push_back(kernels::sliding_windows(window_params(plan), divisor));
  return axes;
}

template <class T>
T converted_to(double value) {
  return std::is_integral_v<T> && std::isnan(value) ? T{0} : static_cast<T>(value);
}

constexpr std::string_view kAverageOfThisType = "average pooling of this element type";
constexpr std::string_view kMaximumOfThisType = "max pooling of this element type";

PreparedKernel prepare_average(PrepareContext& context, std::vector<kernels::WindowAxis> axes,
                               double empty_window_value, std::string_view name) {
  const std::size_t count = context.output_size();
  if (count == 0) return nothing_to_do(name);
  PreparedKernel prepared;
  prepared.name = name;
  if (axes.size() > kernels::kMaxPoolAxes) {
    context.fail_unsupported(fmt::format("pooling over {} axes", axes.size()));
  }
  if (context.size(0) == 0) {
    // Windows over nothing but padding, which counts as zeros where it counts.
    const bool padding_counts =
        std::ranges::all_of(axes, [](const auto& axis) { return axis.windows.front().divisor > 0; });
    const double value = padding_counts ? 0.0 : empty_window_value;
    const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
      prepared.run = [count, value](const StepMemory& memory) {
        std::fill_n(memory.out<T>(0), count, converted_to<T>(value));
      };
    });
    if (!found) context.fail_unsupported(kAverageOfThisType);
    return prepared;
  }
  const kernels::AveragePool pool(rows_of(context.shape(0)), std::move(axes), empty_window_value);
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    prepared.run = [pool](const StepMemory& memory) { pool.run(memory.in<T>(0), memory.out<T>(0)); };
  });
  if (!found) context.fail_unsupported(kAverageOfThisType);
  prepared.per_target = context.type(0) == ElementType::f32;
  prepared.flops = static_cast<double>(context.size(0));
  return prepared;
}

// What OpenVINO divides by when padding counts: the whole window, also where rounding up lets it hang over
// the padding; without any padding, the elements that there are. ceil_torch counts up to the padding's end,
// as PyTorch.
template <class Pool>
kernels::Divisor divisor_of(const Pool& pool) {
  if (pool.exclude_pad) return kernels::Divisor::image;
  if (newest_rounding(pool.rounding_type) == Rounding14::ceil_torch) return kernels::Divisor::padded;
  const bool unpadded =
      pool.auto_pad == AutoPad::valid || (pool.auto_pad == AutoPad::explicit_ && has_no_pads(pool));
  return unpadded ? kernels::Divisor::image : kernels::Divisor::kernel;
}

template <class Pool>
PreparedKernel prepare_avg_pool(const Pool& pool, PrepareContext& context) {
  const auto divisor = divisor_of(pool);
  return prepare_average(context, window_axes(context, pool.kernel, window_of(pool), divisor), 0.0,
                         "average_pool");
}

// Where maxima were found, as numbers that start again every `period` elements of the input.
struct Positions {
  ElementType type = ElementType::i64;
  std::size_t period = 1;

  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(bits_of(type)) / 8; }
};

// Output 1 is there when positions are wanted.
PreparedKernel prepare_maximum(PrepareContext& context, std::vector<kernels::WindowAxis> axes,
                               const std::optional<Positions>& positions, std::string_view name) {
  const std::size_t count = context.output_size();
  if (count == 0) return nothing_to_do(name);
  PreparedKernel prepared;
  prepared.name = name;
  if (context.size(0) == 0) {
    const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
      prepared.run = [count, positions](const StepMemory& memory) {
        std::fill_n(memory.out<T>(0), count, std::numeric_limits<T>::lowest());
        if (positions) std::memset(memory.outputs[1], 0, count * positions->bytes());
      };
    });
    if (!found) context.fail_unsupported(kMaximumOfThisType);
    return prepared;
  }
  const kernels::MaxPool kernel(rows_of(context.shape(0)), std::move(axes));
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    if (!positions) {
      prepared.run = [kernel](const StepMemory& memory) { kernel.run(memory.in<T>(0), memory.out<T>(0)); };
      return;
    }
    with_index_type(positions->type, [&]<class Index>() {
      prepared.run = [kernel, period = positions->period](const StepMemory& memory) {
        kernel.run(memory.in<T>(0), memory.out<T>(0), memory.out<Index>(1), period);
      };
    });
  });
  if (!found) context.fail_unsupported(kMaximumOfThisType);
  prepared.per_target = context.type(0) == ElementType::f32 || context.type(0) == ElementType::u8;
  prepared.flops = static_cast<double>(context.size(0));
  return prepared;
}

template <class Pool>
PreparedKernel prepare_max_pool(const Pool& pool, PrepareContext& context) {
  std::optional<Positions> positions;
  if constexpr (requires { pool.axis; }) {
    const Shape& image = context.shape(0);
    positions = Positions{pool.index_element_type, volume(image, normalized_axis(pool.axis, image.size()))};
  }
  return prepare_maximum(context, window_axes(context, pool.kernel, window_of(pool), kernels::Divisor::image),
                         positions, "max_pool");
}

// An average over no element of the image is not defined. As OpenVINO, which looks at axes of known size.
template <class Pool>
void require_no_empty_average(const Pool& pool, const InferContext& context) {
  const PartialShape& data = context.shape(0);
  if (!pool.exclude_pad || pool.auto_pad != AutoPad::explicit_ || !data.has_rank()) return;
  const WindowAttributes window = completed_window(window_of(pool), pool.kernel.size());
  for (std::size_t axis = 0; axis < pool.kernel.size(); ++axis) {
    const std::int64_t begin = window.pads_begin[axis];
    const std::int64_t end = window.pads_end[axis];
    const std::int64_t covered = window_span(window, pool.kernel[axis], axis);
    context.require(!data[axis + 2].is_static() || std::max(begin, end) < covered, "IR-attribute-range",
                    {.found = words("{} and {}", begin, end),
                     .expected = words("less than {}", covered),
                     .rule = "exclude-pad leaves a window of padding alone nothing to average"},
                    "spatial axis {} is padded by {} and {}; with exclude-pad, pads take less than the {} "
                    "elements that the window covers",
                    axis, begin, end, covered);
  }
}

template <class Pool>
void infer_sliding(const Pool& pool, InferContext& context) {
  context.require_inputs(1);
  context.require_number(0);
  context.require_rank(0, 3, 5);
  const PartialShape output = infer_pool(context, pool.kernel, window_of(pool));
  if constexpr (requires { pool.exclude_pad; }) require_no_empty_average(pool, context);
  context.set_output(0, context.type(0), output);
  if constexpr (requires { pool.index_element_type; }) {
    require_type_of_indices(context, "index_element_type", pool.index_element_type);
    if (output.has_rank()) (void)context.require_axis(pool.axis, output.rank(), "axis");
    context.set_output(1, pool.index_element_type, output);
  }
}

// The output's shape for data (input 0) and output sizes (input 1).
PartialShape infer_adaptive(InferContext& context) {
  context.require_inputs(2);
  context.require_number(0);
  context.require_type(1, {ElementType::i32, ElementType::i64});
  context.require_rank(0, 3, 5);
  context.require_rank(1, 1);
  const PartialShape& data = context.shape(0);
  if (!data.has_rank()) return {};
  const std::size_t spatial_rank = data.rank() - 2;
  if (context.shape(1).has_rank() && context.shape(1)[0].is_static()) {
    context.require(context.shape(1)[0].value() == static_cast<std::int64_t>(spatial_rank), "IR-shape",
                    {.found = context.shape(1)[0],
                     .expected = spatial_rank,
                     .rule = words("input 0 has {} spatial axes", spatial_rank),
                     .input = 1},
                    "input 1 gives {} output sizes, input 0 of shape {} has {} spatial axes",
                    context.shape(1)[0].value(), data, spatial_rank);
  }
  PartialShape output{data[0], data[1]};
  const auto sizes = context.elements(1);
  const bool known = sizes && sizes->size() == spatial_rank;
  for (std::size_t axis = 0; axis < spatial_rank; ++axis) {
    const Dimension size = known ? (*sizes)[axis] : Dimension();
    context.require(size.max() >= 0, "IR-shape", {.found = size, .expected = "at least 0", .input = 1},
                    "output size {} of spatial axis {} is negative", size, axis);
    context.require(size.min() < 1 || !data[axis + 2].is_static() || data[axis + 2].value() >= 1, "IR-shape",
                    {.found = data[axis + 2], .expected = "at least 1", .input = 0},
                    "spatial axis {} of input 0 is empty", axis);
    output.push_back(Dimension(std::max<std::int64_t>(size.min(), 0), size.max()));
    if (context.explaining() && size.is_static()) {
      context.explain(0, axis + 2, fmt::format("element {} of input 1 = {}", axis, size.value()));
    }
  }
  return output;
}

std::vector<kernels::WindowAxis> adaptive_axes(PrepareContext& context) {
  (void)context.integers(1);  // the output's shape is not known without
  std::vector<kernels::WindowAxis> axes;
  if (context.output_size() == 0) return axes;
  require_windows(context);
  for (std::size_t axis = 2; axis < context.shape(0).size(); ++axis) {
    axes.push_back(kernels::adaptive_windows(static_cast<std::size_t>(context.shape(0)[axis]),
                                             static_cast<std::size_t>(context.output_shape()[axis])));
  }
  return axes;
}

}  // namespace

void v1::AvgPool::infer(InferContext& context) const { infer_sliding(*this, context); }
PreparedKernel v1::AvgPool::prepare(PrepareContext& context) const {
  return prepare_avg_pool(*this, context);
}

void v14::AvgPool::infer(InferContext& context) const { infer_sliding(*this, context); }
PreparedKernel v14::AvgPool::prepare(PrepareContext& context) const {
  return prepare_avg_pool(*this, context);
}

void v16::AvgPool::infer(InferContext& context) const { infer_sliding(*this, context); }
PreparedKernel v16::AvgPool::prepare(PrepareContext& context) const {
  return prepare_avg_pool(*this, context);
}

void v1::MaxPool::infer(InferContext& context) const { infer_sliding(*this, context); }
PreparedKernel v1::MaxPool::prepare(PrepareContext& context) const {
  return prepare_max_pool(*this, context);
}

void v8::MaxPool::infer(InferContext& context) const { infer_sliding(*this, context); }
PreparedKernel v8::MaxPool::prepare(PrepareContext& context) const {
  return prepare_max_pool(*this, context);
}

void v14::MaxPool::infer(InferContext& context) const { infer_sliding(*this, context); }
PreparedKernel v14::MaxPool::prepare(PrepareContext& context) const {
  return prepare_max_pool(*this, context);
}

void v8::AdaptiveAvgPool::infer(InferContext& context) const {
  const PartialShape output = infer_adaptive(context);
  context.set_output(0, context.type(0), output);
}
PreparedKernel v8::AdaptiveAvgPool::prepare(PrepareContext& context) const {
  return prepare_average(context, adaptive_axes(context), 0.0, "adaptive_average_pool");
}

void v8::AdaptiveMaxPool::infer(InferContext& context) const {
  const PartialShape output = infer_adaptive(context);
  require_type_of_indices(context, "index_element_type", index_element_type);
  context.set_output(0, context.type(0), output);
  context.set_output(1, index_element_type, output);
}
PreparedKernel v8::AdaptiveMaxPool::prepare(PrepareContext& context) const {
  return prepare_maximum(context, adaptive_axes(context),
                         Positions{index_element_type, volume(context.shape(0), 2)}, "adaptive_max_pool");
}

void MaxPoolValues::infer(InferContext& context) const { infer_sliding(*this, context); }
PreparedKernel MaxPoolValues::prepare(PrepareContext& context) const {
  return prepare_max_pool(*this, context);
}

void AdaptiveMaxPoolValues::infer(InferContext& context) const {
  context.set_output(0, context.type(0), infer_adaptive(context));
}
PreparedKernel AdaptiveMaxPoolValues::prepare(PrepareContext& context) const {
  return prepare_maximum(context, adaptive_axes(context), std::nullopt, "adaptive_max_pool");
}

void ngraph::AvgPool::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_number(0);
  require_not_empty(context, "window_shape", window_shape.size());
  context.set_output(0, context.type(0), infer_pool(context, window_shape, window_of(*this)));
}

PreparedKernel ngraph::AvgPool::prepare(PrepareContext& context) const {
  const auto divisor =
      include_padding_in_avg_computation ? kernels::Divisor::kernel : kernels::Divisor::image;
  return prepare_average(context, window_axes(context, window_shape, window_of(*this), divisor),
                         std::numeric_limits<double>::quiet_NaN(), "average_pool");
}

}  // namespace op

template struct OpClassOf<op::MaxPoolValues>;
template struct OpClassOf<op::AdaptiveMaxPoolValues>;

}  // namespace ir
