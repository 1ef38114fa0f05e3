#include "ir_runtime/ops/col2im.h"

#include "kernels/convolution/col2im.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/window_params.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

WindowAttributes window_of(const v15::Col2Im& op) {
  return {
      .strides = op.strides, .dilations = op.dilations, .pads_begin = op.pads_begin, .pads_end = op.pads_end};
}

// Two sizes, as far as they are known.
std::vector<Dimension> sizes_input(const InferContext& context, std::size_t index, std::string_view what) {
  context.require_type(index, {ElementType::i32, ElementType::i64});
  const Dimension count = require_integer_vector(context, index);
  context.require(count.compatible(2), "IR-shape",
                  {.found = count, .expected = "2", .rule = "it gives the height and width", .input = index},
                  "input {} has {} elements; it gives the height and width", index, count);
  std::vector<Dimension> sizes = elements_or_unknown(context, index, 2);
  for (Dimension& size : sizes) {
    size = require_size(context, index, size, "input {} holds {} as a size of the {}", index, size, what);
  }
  return sizes;
}

// C of C * KY * KX.
Dimension infer_channels(const InferContext& context, const Dimension& rows,
                         const std::vector<Dimension>& window) {
  const Dimension taps = window[0] * window[1];
  if (!taps.is_static() || taps.value() < 1) return {0, rows.max()};
  const Dimension channels(rows.ceil_divided(taps.value()).min(), rows.floor_divided(taps.value()).max());
  context.require(channels.min() <= channels.max(), "IR-shape",
                  {.found = rows,
                   .expected = words("a multiple of {}", taps),
                   .rule = words("blocks have {} elements", taps),
                   .input = 0},
                  "input 0 of shape {} has {} rows, which blocks of {} elements do not divide",
                  context.shape(0), rows, taps.value());
  return channels;
}

}  // namespace

void v15::Col2Im::infer(InferContext& context) const {
  context.require_inputs(3);
  context.require_number(0);
  context.require_rank(0, 2, 3);
  const std::vector<Dimension> image = sizes_input(context, 1, "image");
  const std::vector<Dimension> window = sizes_input(context, 2, "blocks");
  const WindowAttributes attributes = checked_window(context, window_of(*this), 2);
  const PartialShape& data = context.shape(0);
  const std::size_t first_axis = data.has_rank() ? data.rank() - 1 : 2;
  const auto blocks = window_output_dims(context, image, window, attributes, 0, first_axis);
  for (std::size_t axis = 0; axis < 2 && context.explaining(); ++axis) {
    // In place of the rule for the number of blocks.
    context.explain(
        0, first_axis + axis,
        image[axis].is_static() ? fmt::format("element {} of input 1 = {}", axis, image[axis].value()) : "");
  }
  if (!data.has_rank()) {
    context.set_output(0, context.type(0), PartialShape());
    return;
  }
  const Dimension count = blocks[0] * blocks[1];
  context.require(data[data.rank() - 1].compatible(count), "IR-shape",
                  {.found = data[data.rank() - 1],
                   .expected = count,
                   .rule = words("{} * {} = {}", blocks[0], blocks[1], count),
                   .input = 0},
                  "input 0 of shape {} holds {} blocks, the image has {} * {}", data, data[data.rank() - 1],
                  blocks[0], blocks[1]);
  PartialShape output(std::vector<Dimension>(data.begin(), data.end() - 2));
  output.push_back(infer_channels(context, data[data.rank() - 2], window));
  for (const Dimension& size : image) output.push_back(size);
  context.set_output(0, context.type(0), output);
}

PreparedKernel v15::Col2Im::prepare(PrepareContext& context) const {
  const std::vector<std::int64_t> image = context.integers(1);
  const std::vector<std::int64_t> window = context.integers(2);
  if (context.output_size() == 0) return nothing_to_do("col2im");
  PreparedKernel prepared;
  prepared.name = "col2im";
  const auto axes = plan_window(image, window, completed_window(window_of(*this), 2));
  kernels::Col2ImParams params;
  params.y = window_params(axes[0]);
  params.x = window_params(axes[1]);
  params.planes = context.output_size() / (params.y.in * params.x.in);
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    prepared.run = [params](const StepMemory& memory) {
      kernels::col2im(params, memory.in<T>(0), memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported("Col2Im of this element type");
  prepared.flops = static_cast<double>(context.size(0));
  return prepared;
}

}  // namespace ir::op
