// Slice and SliceScatter: ranges along chosen axes.
#include <numeric>

#include "ir_runtime/ops/slicing.h"
#include "kernels/base/bytes.h"
#include "kernels/movement/strided_copy.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/slicing.h"

namespace ir::op {
namespace {

// What is known of the slices: one entry per axis of input 0; without a value the axis stays whole.
using SlicesByAxis = std::vector<std::optional<SliceBounds>>;

// Reads start, stop, step and axes, which are inputs `first` and following; empty when it is not known which
// axes are cut.
std::optional<SlicesByAxis> read_slices(const InferContext& context, std::size_t first) {
  const Dimension entries = slice_entry_count(context, first);
  const PartialShape& data = context.shape(0);
  if (!data.has_rank()) return std::nullopt;
  context.require(entries.min() <= static_cast<std::int64_t>(data.rank()), "IR-shape",
                  {.found = entries,
                   .expected = words("at most {}", data.rank()),
                   .rule = words("input 0 has shape {}", data),
                   .input = first},
                  "{} slices are given for input 0 of shape {}", entries, data);
  if (!entries.is_static()) return std::nullopt;
  const auto count = static_cast<std::size_t>(entries.value());

  std::vector<std::size_t> axes(count);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (context.input_count() > first + 3) {
    auto given = axes_input(context, first + 3, data.rank());
    if (!given) return std::nullopt;
    axes = std::move(*given);
  }
  const std::vector<Dimension> start = elements_or_unknown(context, first, count);
  const std::vector<Dimension> stop = elements_or_unknown(context, first + 1, count);
  const std::vector<Dimension> step = elements_or_unknown(context, first + 2, count);
  SlicesByAxis slices(data.rank());
  for (std::size_t i = 0; i < count; ++i) {
    slices[axes[i]] = SliceBounds{start[i], stop[i], require_step(context, first + 2, step[i], i)};
  }
  return slices;
}

// Shape of the part that is cut out of input 0.
PartialShape slice_shape(InferContext& context, const std::optional<SlicesByAxis>& slices, bool explained) {
  PartialShape shape = context.shape(0);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (!slices) {
      shape[axis] = Dimension(0, shape[axis].max());
    } else if ((*slices)[axis]) {
      if (explained) context.explain(0, axis, slice_rule(shape[axis], *(*slices)[axis]));
      shape[axis] = sliced_dim(shape[axis], *(*slices)[axis]);
    }
  }
  return shape;
}

// The ranges of all axes, for inputs that inference has checked.
std::vector<SliceRange> prepared_ranges(const PrepareContext& context, std::size_t first) {
  const Shape& shape = context.shape(0);
  std::vector<SliceRange> ranges;
  for (const std::int64_t dim : shape) ranges.push_back({0, 1, dim});
  const auto start = context.integers(first);
  const auto stop = context.integers(first + 1);
  const auto step = context.integers(first + 2);
  std::vector<std::size_t> axes(start.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (context.input_count() > first + 3) axes = axes_input(context, first + 3, shape.size());
  for (std::size_t i = 0; i < start.size(); ++i) {
    ranges[axes[i]] = resolve_slice(shape[axes[i]], start[i], stop[i], step[i]);
  }
  return ranges;
}

}  // namespace

void v8::Slice::infer(InferContext& context) const {
  context.require_inputs(4, 5);
  require_min_rank(context, 0, 1);
  const auto slices = read_slices(context, 1);
  context.set_output(0, context.type(0), slice_shape(context, slices, context.explaining()));
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v8::Slice::prepare(PrepareContext& context) const {
  return prepare_slice(context, "slice", prepared_ranges(context, 1));
}

void v15::SliceScatter::infer(InferContext& context) const {
  context.require_inputs(5, 6);
  require_min_rank(context, 0, 1);
  const ElementType type = context.require_same_type({0, 1});
  const auto slices = read_slices(context, 2);
  const PartialShape part = slice_shape(context, slices, false);
  context.require(
      part.compatible(context.shape(1)), "IR-shape",
      {.found = context.shape(1), .expected = part, .rule = "the slice that it replaces", .input = 1},
      "input 1 has shape {}, the slice that it replaces has {}", context.shape(1), part);
  context.set_output(0, type, context.shape(0));
  propagate_moved_elements(context, *this, {0, 1});
}

PreparedKernel v15::SliceScatter::prepare(PrepareContext& context) const {
  const std::vector<SliceRange> ranges = prepared_ranges(context, 2);
  if (context.output_size() == 0) return nothing_to_do("slice_scatter");
  const std::size_t element = moved_bytes(context);
  const std::size_t bytes = context.output_size() * element;
  const std::vector<std::size_t> counts = sizes_of(context.shape(1));
  std::vector<std::ptrdiff_t> out_strides = kernels::dense_strides(sizes_of(context.shape(0)));
  std::ptrdiff_t first = 0;
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    first += ranges[axis].start * out_strides[axis];
    out_strides[axis] *= ranges[axis].step;
  }
  const kernels::StridedCopy copy(counts, kernels::dense_strides(counts), out_strides, element);
  const std::ptrdiff_t offset = first * static_cast<std::ptrdiff_t>(element);
  PreparedKernel kernel = moving_kernel(context, "slice_scatter", {0, 1}, [=](const StepMemory& memory) {
    if (memory.inputs[0] != memory.outputs[0])
      kernels::copy_bytes(memory.inputs[0], memory.outputs[0], bytes);
    if (copy.bytes() > 0) copy.run(memory.inputs[1], memory.out<std::byte>(0) + offset);
  });
  kernel.in_place = {0};
  return kernel;
}

}  // namespace ir::op
