// Pad and ExtractImagePatches: elements around a tensor.
#include "kernels/movement/pad.h"

#include <algorithm>

#include "ir_runtime/ops/movement.h"
#include "kernels/movement/strided_copy.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/windows.h"

namespace ir::op {
namespace {

// Pads beyond this overflow what follows; no model comes near.
constexpr std::int64_t kMaxPad = std::int64_t{1} << 40;

// Mode and pads agree with a dim of known size.
void require_mirror_fits(const InferContext& context, PadMode mode, std::size_t axis, const Dimension& dim,
                         const Dimension& begin, const Dimension& end) {
  if (mode == PadMode::constant || dim.max() == Dimension::kUnbounded) return;
  const std::int64_t pad = std::max(begin.min(), end.min());
  if (pad <= 0) return;
  const std::int64_t size = dim.max();
  const std::int64_t most =
      mode == PadMode::reflect ? size - 1 : (mode == PadMode::symmetric ? size : kMaxPad);
  context.require(size >= 1 && pad <= most, "IR-value",
                  {.found = pad,
                   .expected = words("at most {}", size >= 1 ? most : 0),
                   .rule = words("axis {} has {} elements", axis, dim),
                   .input = begin.min() >= end.min() ? 1U : 2U},
                  "{} elements are added to axis {} of {} elements; pad_mode {} adds at most {}", pad, axis,
                  dim, kPadModeSpellings[static_cast<std::size_t>(mode)].name, size >= 1 ? most : 0);
}

void infer_pad(InferContext& context, PadMode mode, bool may_vanish) {
  context.require_inputs(3, 4);
  ElementType type = context.type(0);
  if (context.input_count() == 4) {
    type = context.require_same_type({0, 3});
    if (mode == PadMode::constant) require_element_count_of_one(context, 3);
  }
  PartialShape shape = context.shape(0);
  for (std::size_t index = 1; index < 3; ++index) {
    const Dimension length = require_integer_vector(context, index);
    require_one_per_axis(context, index, length, "pads");
  }
  const std::vector<Dimension> begins = elements_or_unknown(context, 1, shape.rank());
  const std::vector<Dimension> ends = elements_or_unknown(context, 2, shape.rank());
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const Dimension& begin = begins[axis];
    const Dimension& end = ends[axis];
    context.require(
        begin.min() <= kMaxPad && end.min() <= kMaxPad && begin.max() >= -kMaxPad && end.max() >= -kMaxPad,
        "IR-value", {.found = words("{} and {}", begin, end), .expected = words("values up to {}", kMaxPad)},
        "axis {} is padded by {} and {}; pads take values up to {}", axis, begin, end, kMaxPad);
    require_mirror_fits(context, mode, axis, shape[axis], begin, end);
    const Dimension padded = element_add(element_add(begin, shape[axis]), end);
    context.require(may_vanish || padded.max() >= 0, "IR-shape",
                    {.found = words("{} and {}", begin, end),
                     .expected = words("at most {} together", shape[axis]),
                     .rule = words("axis {} has {}", axis, shape[axis])},
                    "{} and {} elements are cut off axis {}, which has {}", begin, end, axis, shape[axis]);
    if (context.explaining()) {
      context.explain(0, axis,
                      fmt::format("{} + {} + {} = {}", to_string(begin), to_string(shape[axis]),
                                  to_string(end), to_string(padded)));
    }
    shape[axis] = element_maximum(padded, Dimension(0));
  }
  context.set_output(0, type, shape);
}

kernels::PadMode kernel_mode(PadMode mode) {
  switch (mode) {
    case PadMode::constant:
      return kernels::PadMode::constant;
    case PadMode::edge:
      return kernels::PadMode::edge;
    case PadMode::reflect:
      return kernels::PadMode::reflect;
    case PadMode::symmetric:
      break;
  }
  return kernels::PadMode::symmetric;
}

PreparedKernel prepare_pad(const PrepareContext& context, PadMode mode) {
  const std::vector<std::int64_t> begin = context.integers(1);
  const std::vector<std::int64_t> end = context.integers(2);
  if (context.output_size() == 0) return nothing_to_do("pad");
  if (all_are(begin, 0) && all_are(end, 0)) return PreparedKernel::view_of(0);
  const std::vector<std::ptrdiff_t> pads_begin(begin.begin(), begin.end());
  const std::vector<std::ptrdiff_t> pads_end(end.begin(), end.end());
  const kernels::Pad pad(sizes_of(context.shape(0)), pads_begin, pads_end, kernel_mode(mode),
                         moved_bytes(context));
  if (context.input_count() == 4) {
    return moving_kernel(context, "pad", {0, 3}, [pad](const StepMemory& memory) {
      pad.run(memory.inputs[0], memory.inputs[3], memory.outputs[0]);
    });
  }
  return moving_kernel(context, "pad", {0}, [pad](const StepMemory& memory) {
    constexpr std::uint64_t kZero = 0;
    pad.run(memory.inputs[0], &kZero, memory.outputs[0]);
  });
}

// The border's element takes part where there is one.
template <class Pad>
void propagate_padded(InferContext& context, const Pad& op) {
  if (context.input_count() == 4) {
    propagate_moved_elements(context, op, {0, 3});
  } else {
    propagate_moved_elements(context, op, {0});
  }
}

}  // namespace

void v1::Pad::infer(InferContext& context) const {
  infer_pad(context, pad_mode, false);
  propagate_padded(context, *this);
}
PreparedKernel v1::Pad::prepare(PrepareContext& context) const { return prepare_pad(context, pad_mode); }

void v12::Pad::infer(InferContext& context) const {
  infer_pad(context, pad_mode, true);
  propagate_padded(context, *this);
}
PreparedKernel v12::Pad::prepare(PrepareContext& context) const { return prepare_pad(context, pad_mode); }

namespace {

WindowAttributes window_of(const v3::ExtractImagePatches& op) {
  WindowAttributes window;
  window.strides = op.strides;
  window.dilations = op.rates;
  window.auto_pad = op.auto_pad;
  return window;
}

// Few patches may lie far apart: what is around the image may be larger than anything else of the model.
std::size_t checked_padded_bytes(std::span<const std::size_t> padded, std::size_t element) {
  const Shape shape(padded.begin(), padded.end());
  const auto count = element_count(shape);
  std::int64_t bytes = 0;
  if (count && !__builtin_mul_overflow(*count, static_cast<std::int64_t>(element), &bytes))
    return static_cast<std::size_t>(bytes);
  throw Error("IR-limit", fmt::format("the padded image would have shape {}, more than can be counted",
                                      to_string(shape)));
}

}  // namespace

void v3::ExtractImagePatches::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_rank(0, 4);
  context.require(auto_pad != AutoPad::explicit_, "IR-attribute-value",
                  {.found = "explicit", .expected = "same_upper, same_lower or valid"},
                  "auto_pad is explicit; it takes same_upper, same_lower or valid");
  context.require(sizes.size() == 2, "IR-attribute-size",
                  {.found = sizes.size(), .expected = "2", .rule = "there are 2 spatial axes"},
                  "sizes has {} values for 2 spatial axes", sizes.size());
  const WindowAttributes window = checked_window(context, window_of(*this), 2);
  const PartialShape& data = context.shape(0);
  if (!data.has_rank()) {
    context.set_output(0, context.type(0), PartialShape::of_rank(4));
    return;
  }
  const std::vector<Dimension> kernel(sizes.begin(), sizes.end());
  const std::span<const Dimension> spatial(data.dims().data() + 2, 2);
  const Dimension depth = kernel[0] * kernel[1] * data[1];
  PartialShape output{data[0], depth};
  if (context.explaining()) {
    context.explain(
        0, 1, fmt::format("{} * {} * {} = {}", sizes[0], sizes[1], to_string(data[1]), to_string(depth)));
  }
  for (const Dimension& dim : window_output_dims(context, spatial, kernel, window, 0, 2))
    output.push_back(dim);
  context.set_output(0, context.type(0), output);
}

PreparedKernel v3::ExtractImagePatches::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("extract_image_patches");
  const Shape& shape = context.shape(0);
  const std::size_t element = moved_bytes(context);
  const std::span<const std::int64_t> spatial(shape.data() + 2, 2);
  const auto plan = plan_window(spatial, sizes, completed_window(window_of(*this), 2));

  // All patches are one strided copy of the padded image: [N][row and column in the patch][C][rows][columns].
  std::vector<std::size_t> padded = sizes_of(shape);
  std::vector<std::ptrdiff_t> begin(4, 0);
  std::vector<std::ptrdiff_t> end(4, 0);
  bool pads = false;
  for (std::size_t i = 0; i < 2; ++i) {
    begin[2 + i] = plan[i].pad_begin;
    end[2 + i] = plan[i].pad_end;
    pads = pads || plan[i].pad_begin + plan[i].pad_end > 0;
    padded[2 + i] += static_cast<std::size_t>(plan[i].pad_begin + plan[i].pad_end);
  }
  const std::size_t padded_bytes = checked_padded_bytes(padded, element);
  const std::vector<std::ptrdiff_t> step = kernels::dense_strides(padded);
  const std::vector<std::size_t> dims{
      padded[0], static_cast<std::size_t>(sizes[0]),    static_cast<std::size_t>(sizes[1]),
      padded[1], static_cast<std::size_t>(plan[0].out), static_cast<std::size_t>(plan[1].out)};
  const std::vector<std::ptrdiff_t> in_strides{
      step[0], step[2] * plan[0].dilation, step[3] * plan[1].dilation,
      step[1], step[2] * plan[0].stride,   step[3] * plan[1].stride};
  const kernels::StridedCopy copy(dims, in_strides, kernels::dense_strides(dims), element);
  if (!pads) {
    return moving_kernel(context, "extract_image_patches", {0},
                         [copy](const StepMemory& memory) { copy.run(memory.inputs[0], memory.outputs[0]); });
  }
  const kernels::Pad pad(sizes_of(shape), begin, end, kernels::PadMode::constant, element);
  return moving_kernel(
      context, "extract_image_patches", {0},
      [copy, pad](const StepMemory& memory) {
        constexpr std::uint64_t kZero = 0;
        pad.run(memory.inputs[0], &kZero, memory.scratch);
        copy.run(memory.scratch, memory.outputs[0]);
      },
      padded_bytes);
}

}  // namespace ir::op
