#include "ir_runtime/ops/scatter.h"

#include <algorithm>

#include "kernels/indexing/scatter.h"
#include "kernels/indexing/scatter_loose.h"
#include "kernels/movement/strided_copy.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/sizes.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

std::optional<std::size_t> scatter_axis(const InferContext& context) {
  const PartialShape& data = context.shape(0);
  require_min_rank(context, 0, 1);
  return axis_input(context, 3, data.has_rank() ? std::optional(data.rank()) : std::nullopt);
}

// Calls f with the type that kernels compute in; booleans have their own arithmetic.
template <class F>
void with_computed_type(const PrepareContext& context, F&& f) {
  const ElementType type = context.output(0).type;
  if (type == ElementType::boolean) return f.template operator()<bool>();
  if (!with_arithmetic_type(type, f)) {
    context.fail_unsupported(fmt::format("a scatter reduction of type {}", name_of(type)));
  }
}

// Updates whose shape is not the one that data and indices ask for. OpenVINO takes them where the axis is not
// known before a run: it pairs the elements of a slice of data with those of the updates whose index
// coordinates are 0, both in row-major order, as many as both have; the updates of the next index lie one
// step along one of the axes further.
struct LooseUpdates {
  std::vector<std::size_t> dims;  // of the updates; 1 for the axes of indices
  std::vector<std::ptrdiff_t> strides;
  std::size_t count = 0;    // elements of a slice
  std::size_t indices = 0;  // indices that have updates
  std::size_t step = 0;     // elements from the updates of one index to those of the next

  [[nodiscard]] std::size_t offset_of(std::size_t element) const {
    std::size_t offset = 0;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      offset += element % dims[axis] * static_cast<std::size_t>(strides[axis]);
      element /= dims[axis];
    }
    return offset;
  }
  // One more than the last element that is read.
  [[nodiscard]] std::size_t extent() const {
    return count == 0 || indices == 0 ? 0 : offset_of(count - 1) + (indices - 1) * step + 1;
  }
};

LooseUpdates loose_updates(const Shape& data, const Shape& indices, const Shape& updates, std::size_t axis) {
  LooseUpdates loose;
  loose.dims = sizes_of(updates);
  loose.strides = kernels::dense_strides(loose.dims);
  const std::size_t behind = axis + indices.size();
  loose.indices = std::min(volume(indices), volume(updates, axis, behind));
  std::fill_n(loose.dims.begin() + static_cast<std::ptrdiff_t>(axis), indices.size(), std::size_t{1});
  const std::size_t inner = volume(data, axis + 1);
  loose.count = volume(data, 0, axis) * inner;
  std::size_t box = 1;
  for (const std::size_t dim : loose.dims) box *= dim;
  loose.count = std::min(loose.count, box);

  std::size_t jumps = 0;
  std::size_t ones = 0;
  for (std::size_t i = axis + 1; i < updates.size(); ++i) {
    if (volume(updates, i) > inner) ++jumps;
    if (updates[i] == 1) ++ones;
  }
  if (jumps == 0) jumps = updates.size() - data.size();
  const std::size_t along = std::min(axis + jumps + ones, updates.size() - 1);
  if (!updates.empty()) loose.step = static_cast<std::size_t>(loose.strides[along]);
  return loose;
}

PartialShape fitting_updates(const PartialShape& data, const PartialShape& indices, std::size_t axis) {
  std::vector<Dimension> dims = data.dims();
  const auto place = dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(place, indices.begin(), indices.end());
  return PartialShape(std::move(dims));
}

// Whether a run, which alone knew the axis, can do with updates of another shape.
bool are_loose_updates(const InferContext& context, std::size_t axis) {
  for (std::size_t index = 0; index < 3; ++index) {
    if (!context.shape(index).is_static() || !element_count(context.shape(index).to_shape())) return true;
  }
  const Shape updates = context.shape(2).to_shape();
  const LooseUpdates loose =
      loose_updates(context.shape(0).to_shape(), context.shape(1).to_shape(), updates, axis);
  return loose.extent() <= volume(updates);
}

void require_updates_fit(const InferContext& context, std::size_t axis) {
  const PartialShape& data = context.shape(0);
  const PartialShape& indices = context.shape(1);
  const PartialShape& updates = context.shape(2);
  const PartialShape fitting = fitting_updates(data, indices, axis);
  if (updates.compatible(fitting) || (context.running() && are_loose_updates(context, axis))) return;
  const std::string given =
      fmt::format("data of shape {} and indices of shape {} along axis {}", data, indices, axis);
  context.fail("IR-shape", fmt::format("the updates have shape {}; {} take {}", updates, given, fitting),
               Compared{to_string(updates), to_string(fitting), given, 2});
}

}  // namespace

void v3::ScatterUpdate::infer(InferContext& context) const {
  context.require_inputs(4);
  context.require_integer(1);
  const ElementType type = context.require_same_type({0, 2});
  const auto axis = scatter_axis(context);
  const PartialShape& data = context.shape(0);
  const PartialShape& indices = context.shape(1);
  if (data.has_rank() && indices.has_rank()) {
    context.require_rank(2, data.rank() + indices.rank() - 1);
    if (axis) require_updates_fit(context, *axis);
  }
  context.set_output(0, type, data);
  propagate_moved_elements(context, *this, {0, 2});
}

PreparedKernel v3::ScatterUpdate::prepare(PrepareContext& context) const {
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const Shape& updates = context.shape(2);
  const std::size_t axis = axis_input(context, 3, data.size());
  if (context.output_size() == 0) return nothing_to_do("scatter_update");
  require_index_type(context, 1);
  const std::size_t element = moved_bytes(context);
  kernels::ScatterShape shape{volume(data, 0, axis), static_cast<std::size_t>(data[axis]), context.size(1),
                              volume(data, axis + 1) * element};
  const ElementType type = context.type(1);
  PreparedKernel kernel;
  if (PartialShape(updates) == fitting_updates(data, indices, axis)) {
    kernel = moving_kernel(context, "scatter_update", {0, 2}, [=](const StepMemory& memory) {
      require_good_indices(
          kernels::scatter_update(shape, memory.inputs[0], index_view(type, memory.inputs[1]),
                                  memory.inputs[2], memory.outputs[0]),
          "input 1 (indices)");
    });
  } else {
    const LooseUpdates loose = loose_updates(data, indices, updates, axis);
    shape.indices = loose.indices;
    context.require_table(loose.count, sizeof(std::size_t));
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i < loose.count; ++i) offsets.push_back(loose.offset_of(i));
    kernel = moving_kernel(
        context, "scatter_update/loose", {0, 2},
        [=, step = loose.step, offsets = std::move(offsets)](const StepMemory& memory) {
          require_good_indices(kernels::scatter_update_loose(shape, offsets, step, element, memory.inputs[0],
                                                             index_view(type, memory.inputs[1]),
                                                             memory.inputs[2], memory.outputs[0]),
                               "input 1 (indices)");
        });
  }
  kernel.in_place = {0};
  return kernel;
}

namespace {

void infer_scatter_elements(InferContext& context) {
  context.require_inputs(4);
  context.require_integer(1);
  const ElementType type = context.require_same_type({0, 2});
  const auto axis = scatter_axis(context);
  const PartialShape& data = context.shape(0);
  const auto shape = context.shape(1).merged(context.shape(2));
  context.require(
      shape.has_value(), "IR-shape",
      {.found = context.shape(2), .expected = context.shape(1), .rule = "as the indices", .input = 2},
      "the indices have shape {}, the updates {}", context.shape(1), context.shape(2));
  if (data.has_rank() && shape->has_rank()) {
    context.require(shape->rank() == data.rank(), "IR-rank",
                    {.found = *shape,
                     .expected = words("rank {}", data.rank()),
                     .rule = words("input 0 has shape {}", data),
                     .input = 1},
                    "the indices have shape {}, which is not of the rank of input 0 of shape {}", *shape,
                    data);
    for (std::size_t i = 0; axis && i < data.rank(); ++i) {
      context.require(i == *axis || (*shape)[i].min() <= data[i].max(), "IR-shape",
                      {.found = (*shape)[i],
                       .expected = words("at most {}", data[i]),
                       .rule = words("axis {} of input 0 has {}", i, data[i]),
                       .input = 1},
                      "axis {} of the indices has {} elements, input 0 has {}", i, (*shape)[i], data[i]);
    }
  }
  context.set_output(0, type, data);
}

kernels::ScatterReduction kernel_reduction(ElementsReduction reduction) {
  switch (reduction) {
    case ElementsReduction::none:
      return kernels::ScatterReduction::none;
    case ElementsReduction::sum:
      return kernels::ScatterReduction::sum;
    case ElementsReduction::prod:
      return kernels::ScatterReduction::prod;
    case ElementsReduction::min:
      return kernels::ScatterReduction::min;
    case ElementsReduction::max:
      return kernels::ScatterReduction::max;
    case ElementsReduction::mean:
      break;
  }
  return kernels::ScatterReduction::mean;
}

PreparedKernel prepare_scatter_elements(PrepareContext& context, ElementsReduction reduction,
                                        bool use_init_val) {
  const std::size_t axis = axis_input(context, 3, context.shape(0).size());
  if (context.output_size() == 0) return nothing_to_do("scatter_elements_update");
  require_index_type(context, 1);
  const std::size_t element = moved_bytes(context);
  if (reduction == ElementsReduction::mean)  // how many were added to each
    context.require_table(size_of(context.shape(0)[axis]), sizeof(std::size_t));
  PreparedKernel kernel;
  const auto prepare = [&]<class T>() {
    kernel = moving_kernel(
        context, "scatter_elements_update", {0, 2},
        [=, data_dims = sizes_of(context.shape(0)), index_dims = sizes_of(context.shape(1)),
         type = context.type(1), how = kernel_reduction(reduction)](const StepMemory& memory) {
          require_good_indices(kernels::scatter_elements_update(
                                   data_dims, index_dims, axis, how, use_init_val, memory.in<T>(0),
                                   index_view(type, memory.inputs[1]), memory.in<T>(2), memory.out<T>(0)),
                               "input 1 (indices)");
        });
  };
  if (reduction == ElementsReduction::none) {
    with_bits_of(element, prepare);
  } else {
    with_computed_type(context, prepare);
  }
  kernel.in_place = {0};
  return kernel;
}

void infer_scatter_nd(InferContext& context) {
  context.require_inputs(3);
  context.require_type(1, {ElementType::i32, ElementType::i64});
  require_min_rank(context, 0, 1);
  require_min_rank(context, 1, 1);
  const ElementType type = context.require_same_type({0, 2});
  const PartialShape& data = context.shape(0);
  const PartialShape& indices = context.shape(1);
  if (data.has_rank() && indices.has_rank()) {
    const Dimension tuple = indices[indices.rank() - 1];
    context.require(tuple.min() <= static_cast<std::int64_t>(data.rank()), "IR-shape",
                    {.found = tuple,
                     .expected = words("at most {}", data.rank()),
                     .rule = words("input 0 has shape {}", data),
                     .input = 1},
                    "tuples of {} indices address input 0 of shape {}", tuple, data);
    if (tuple.is_static()) {
      PartialShape wanted = PartialShape::of_rank(0);
      for (std::size_t i = 0; i + 1 < indices.rank(); ++i) wanted.push_back(indices[i]);
      for (auto i = static_cast<std::size_t>(tuple.value()); i < data.rank(); ++i) wanted.push_back(data[i]);
      const PartialShape& updates = context.shape(2);
      const bool one_element = wanted.rank() == 0 && updates.element_count().compatible(1);
      context.require(one_element || wanted.compatible(updates), "IR-shape",
                      {.found = updates,
                       .expected = wanted,
                       .rule = words("indices {} into data {}", indices, data),
                       .input = 2},
                      "the updates have shape {}; indices {} into data {} take {}", updates, indices, data,
                      wanted);
    }
  }
  context.set_output(0, type, data);
}

kernels::ScatterReduction kernel_reduction(SlicesReduction reduction) {
  switch (reduction) {
    case SlicesReduction::none:
      return kernels::ScatterReduction::none;
    case SlicesReduction::sum:
      return kernels::ScatterReduction::sum;
    case SlicesReduction::sub:
      return kernels::ScatterReduction::sub;
    case SlicesReduction::prod:
      return kernels::ScatterReduction::prod;
    case SlicesReduction::min:
      return kernels::ScatterReduction::min;
    case SlicesReduction::max:
      break;
  }
  return kernels::ScatterReduction::max;
}

PreparedKernel prepare_scatter_nd(const PrepareContext& context, SlicesReduction reduction) {
  if (context.output_size() == 0) return nothing_to_do("scatter_nd_update");
  require_index_type(context, 1);
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const auto tuple = static_cast<std::size_t>(indices.back());
  const std::size_t element = moved_bytes(context);
  const std::size_t tuples = volume(indices, 0, indices.size() - 1);
  const std::size_t slice = volume(data, tuple) * element;
  const std::vector<std::size_t> dims = sizes_of(std::span(data).first(tuple));
  PreparedKernel kernel;
  const auto prepare = [&]<class T>() {
    kernel = moving_kernel(
        context, "scatter_nd_update", {0, 2},
        [=, type = context.type(1), how = kernel_reduction(reduction)](const StepMemory& memory) {
          require_good_indices(kernels::scatter_nd_update({1, tuples, dims, slice}, how, memory.in<T>(0),
                                                          index_view(type, memory.inputs[1]), memory.in<T>(2),
                                                          memory.out<T>(0)),
                               "input 1 (indices)");
        });
  };
  if (reduction == SlicesReduction::none) {
    with_bits_of(element, prepare);
  } else {
    with_computed_type(context, prepare);
  }
  kernel.in_place = {0};
  return kernel;
}

}  // namespace

void v3::ScatterElementsUpdate::infer(InferContext& context) const {
  infer_scatter_elements(context);
  propagate_moved_elements(context, *this, {0, 2});
}
PreparedKernel v3::ScatterElementsUpdate::prepare(PrepareContext& context) const {
  return prepare_scatter_elements(context, ElementsReduction::none, true);
}

void v12::ScatterElementsUpdate::infer(InferContext& context) const {
  infer_scatter_elements(context);
  if (reduction != ElementsReduction::none) require_no_strings(context, 0, info.type);
  context.require(reduction != ElementsReduction::mean || context.type(0) != ElementType::boolean,
                  "IR-element-type",
                  {.found = "boolean", .expected = "another type", .rule = "reduction is mean", .input = 0},
                  "input 0 is of type boolean, of which there is no mean");
  if (reduction == ElementsReduction::none) propagate_moved_elements(context, *this, {0, 2});
}
PreparedKernel v12::ScatterElementsUpdate::prepare(PrepareContext& context) const {
  return prepare_scatter_elements(context, reduction, use_init_val);
}

void v3::ScatterNDUpdate::infer(InferContext& context) const {
  infer_scatter_nd(context);
  propagate_moved_elements(context, *this, {0, 2});
}
PreparedKernel v3::ScatterNDUpdate::prepare(PrepareContext& context) const {
  return prepare_scatter_nd(context, SlicesReduction::none);
}

void v15::ScatterNDUpdate::infer(InferContext& context) const {
  infer_scatter_nd(context);
  if (reduction != SlicesReduction::none) require_no_strings(context, 0, info.type);
  if (reduction == SlicesReduction::none) propagate_moved_elements(context, *this, {0, 2});
}
PreparedKernel v15::ScatterNDUpdate::prepare(PrepareContext& context) const {
  return prepare_scatter_nd(context, reduction);
}

}  // namespace ir::op
