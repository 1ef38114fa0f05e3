// StridedSlice: ranges, new axes, single elements and an ellipsis.
#include <algorithm>

#include "ir_runtime/ops/slicing.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/slicing.h"

namespace ir::op {
namespace {

bool is_set(const std::vector<std::int64_t>& mask, std::size_t entry) {
  return entry < mask.size() && mask[entry] != 0;
}

// One step of the walk over entries and axes.
enum class StepKind { keep, range, shrink, new_axis };
struct WalkStep {
  StepKind kind = StepKind::keep;
  std::size_t entry = 0;  // of begin, end and stride; not for keep
  std::size_t axis = 0;   // of the input; not for new_axis
};

// How many of `entries` stand for an axis of the input, and whether there is an ellipsis.
struct EntryCounts {
  std::size_t axes = 0;
  std::size_t ellipses = 0;
};

EntryCounts count_entries(const v1::StridedSlice& op, std::size_t entries) {
  EntryCounts counts;
  for (std::size_t entry = 0; entry < entries; ++entry) {
    if (is_set(op.ellipsis_mask, entry)) {
      ++counts.ellipses;
    } else if (!is_set(op.new_axis_mask, entry)) {
      ++counts.axes;
    }
  }
  return counts;
}

// What the entries mean for input axes 0 .. rank - 1; `counts.axes` <= rank.
std::vector<WalkStep> walk(const v1::StridedSlice& op, std::size_t entries, std::size_t rank) {
  const std::size_t hidden = rank - count_entries(op, entries).axes;
  std::vector<WalkStep> steps;
  std::size_t axis = 0;
  for (std::size_t entry = 0; entry < entries; ++entry) {
    if (is_set(op.ellipsis_mask, entry)) {
      for (std::size_t i = 0; i < hidden; ++i) steps.push_back({StepKind::keep, 0, axis++});
    } else if (is_set(op.new_axis_mask, entry)) {
      steps.push_back({StepKind::new_axis, entry, 0});
    } else if (is_set(op.shrink_axis_mask, entry)) {
      steps.push_back({StepKind::shrink, entry, axis++});
    } else {
      steps.push_back({StepKind::range, entry, axis++});
    }
  }
  while (axis < rank) steps.push_back({StepKind::keep, 0, axis++});
  return steps;
}

// begin, end and stride of one entry, masks applied.
SliceBounds masked(const v1::StridedSlice& op, std::size_t entry, Dimension begin, Dimension end,
                   std::optional<std::int64_t> stride) {
  const std::int64_t direction = stride.value_or(1);
  if (is_set(op.begin_mask, entry)) begin = Dimension(open_start(direction));
  if (is_set(op.end_mask, entry)) end = Dimension(open_stop(direction));
  return {begin, end, stride};
}

void require_element(const InferContext& context, const Dimension& dim, const Dimension& index,
                     std::size_t axis) {
  if (dim.max() == Dimension::kUnbounded) return;
  context.require(index.max() >= -dim.max() && index.min() < dim.max(), "IR-value",
                  {.found = index,
                   .expected = words("[{}, {})", -dim.max(), dim.max()),
                   .rule = words("axis {} has {}", axis, dim),
                   .input = 1},
                  "element {} of axis {} is taken, which has {}", index, axis, dim);
}

}  // namespace

void v1::StridedSlice::infer(InferContext& context) const {
  context.require_inputs(3, 4);
  const Dimension entries = slice_entry_count(context, 1);
  const PartialShape& data = context.shape(0);
  if (!data.has_rank() || !entries.is_static()) {
    context.set_output(0, context.type(0), PartialShape());
    return;
  }
  const std::size_t most = data.rank() + new_axis_mask.size() + ellipsis_mask.size();
  const auto count =
      static_cast<std::size_t>(std::min<std::int64_t>(entries.value(), static_cast<std::int64_t>(most) + 1));
  const EntryCounts counts = count_entries(*this, count);
  context.require(counts.ellipses <= 1, "IR-attribute-value",
                  {.found = counts.ellipses, .expected = "at most 1"},
                  "ellipsis_mask sets {} entries; one may be", counts.ellipses);
  context.require(counts.axes <= data.rank(), "IR-shape",
                  {.found = counts.axes,
                   .expected = words("at most {}", data.rank()),
                   .rule = words("input 0 has shape {}", data),
                   .input = 1},
                  "{} entries of input 1 stand for axes of input 0, whose shape is {}", counts.axes, data);

  const std::vector<Dimension> begin = elements_or_unknown(context, 1, count);
  const std::vector<Dimension> end = elements_or_unknown(context, 2, count);
  const std::vector<Dimension> stride = context.input_count() == 4
                                            ? elements_or_unknown(context, 3, count)
                                            : std::vector<Dimension>(count, Dimension(1));
  PartialShape output = PartialShape::of_rank(0);
  for (const WalkStep& step : walk(*this, count, data.rank())) {
    if (step.kind == StepKind::shrink) {
      require_element(context, data[step.axis], begin[step.entry], step.axis);
      continue;
    }
    std::string rule;
    switch (step.kind) {
      case StepKind::new_axis:
        rule = "new axis = 1";
        output.push_back(Dimension(1));
        break;
      case StepKind::range: {
        const SliceBounds bounds = masked(*this, step.entry, begin[step.entry], end[step.entry],
                                          require_step(context, 3, stride[step.entry], step.entry));
        output.push_back(sliced_dim(data[step.axis], bounds));
        if (context.explaining()) rule = slice_rule(data[step.axis], bounds);
        break;
      }
      case StepKind::keep:
      case StepKind::shrink:
        rule = "axis stays whole";
        output.push_back(data[step.axis]);
        break;
    }
    if (context.explaining()) context.explain(0, output.rank() - 1, std::move(rule));
  }
  context.set_output(0, context.type(0), output);
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v1::StridedSlice::prepare(PrepareContext& context) const {
  const Shape& shape = context.shape(0);
  const auto begin = context.integers(1);
  const auto end = context.integers(2);
  const auto stride =
      context.input_count() == 4 ? context.integers(3) : std::vector<std::int64_t>(begin.size(), 1);
  std::vector<SliceRange> ranges(shape.size());
  for (const WalkStep& step : walk(*this, begin.size(), shape.size())) {
    if (step.kind == StepKind::new_axis) continue;
    const std::int64_t dim = shape[step.axis];
    SliceRange& range = ranges[step.axis];
    if (step.kind == StepKind::keep) {
      range = {0, 1, dim};
    } else if (step.kind == StepKind::shrink) {
      range = {begin[step.entry] < 0 ? begin[step.entry] + dim : begin[step.entry], 1, 1};
    } else {
      const SliceBounds bounds =
          masked(*this, step.entry, begin[step.entry], end[step.entry], stride[step.entry]);
      range = resolve_slice(dim, bounds.start.value(), bounds.stop.value(), stride[step.entry]);
    }
  }
  return prepare_slice(context, "strided_slice", ranges);
}

}  // namespace ir::op
