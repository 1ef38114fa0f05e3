#include "ir_runtime/ops/gather.h"

#include <algorithm>

#include "kernels/elementwise/convert.h"
#include "kernels/indexing/gather.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"
#include "runtime/types/scalar_type.h"

namespace ir::op {
namespace {

// Equal leading dims of inputs 0 and 1.
std::vector<Dimension> shared_batch(const InferContext& context, std::size_t batch_dims) {
  std::vector<Dimension> dims;
  for (std::size_t axis = 0; axis < batch_dims; ++axis) {
    const auto dim = context.shape(0)[axis].merged(context.shape(1)[axis]);
    context.require(dim.has_value(), "IR-shape",
                    {.found = context.shape(1)[axis],
                     .expected = context.shape(0)[axis],
                     .rule = words("it is batch dim {}", axis),
                     .input = 1},
                    "batch dim {} of the inputs is {} and {}", axis, context.shape(0)[axis],
                    context.shape(1)[axis]);
    dims.push_back(*dim);
  }
  return dims;
}

PartialShape gathered_shape(InferContext& context, std::int64_t batch_dims) {
  const PartialShape& data = context.shape(0);
  const PartialShape& indices = context.shape(1);
  require_min_rank(context, 0, 1);
  const auto axis = axis_input(context, 2, data.has_rank() ? std::optional(data.rank()) : std::nullopt);
  if (!data.has_rank() || !indices.has_rank()) return {};
  const auto index_rank = static_cast<std::int64_t>(indices.rank());
  const auto most = std::min(index_rank, static_cast<std::int64_t>(data.rank()));
  context.require(batch_dims >= -index_rank && batch_dims <= most, "IR-attribute-range",
                  {.found = batch_dims,
                   .expected = words("values from {} to {}", -index_rank, most),
                   .rule = words("the inputs have ranks {} and {}", data.rank(), indices.rank())},
                  "batch_dims is {}; for inputs of ranks {} and {} it takes values from {} to {}", batch_dims,
                  data.rank(), indices.rank(), -index_rank, most);
  const auto batch = static_cast<std::size_t>(batch_dims < 0 ? batch_dims + index_rank : batch_dims);
  context.require(batch <= data.rank(), "IR-axis",
                  {.found = batch,
                   .expected = words("at most {}", data.rank()),
                   .rule = words("input 0 has shape {}", data)},
                  "batch_dims {} lies behind the {} axes of input 0", batch, data.rank());
  context.require(!axis || batch <= *axis, "IR-axis",
                  {.found = batch,
                   .expected = words("at most {}", axis.value_or(0)),
                   .rule = words("axis is {}", axis.value_or(0))},
                  "batch_dims {} lies behind axis {}", batch, axis.value_or(0));
  PartialShape output(shared_batch(context, batch));
  const std::size_t rank = data.rank() + indices.rank() - 1 - batch;
  if (!axis) {
    while (output.rank() < rank) output.push_back(Dimension());
    return output;
  }
  const auto append = [&](const Dimension& dim, std::string_view from, std::size_t index) {
    if (context.explaining()) {
      context.explain(0, output.rank(), fmt::format("axis {} of {} = {}", index, from, to_string(dim)));
    }
    output.push_back(dim);
  };
  for (std::size_t i = batch; i < *axis; ++i) append(data[i], "data", i);
  for (std::size_t i = batch; i < indices.rank(); ++i) append(indices[i], "indices", i);
  for (std::size_t i = *axis + 1; i < data.rank(); ++i) append(data[i], "data", i);
  return output;
}

// Input 1 as the kernel reads it. Floats, which Gather-1 takes, are cut off to i64 in scratch memory.
struct GatherIndices {
  explicit GatherIndices(const PrepareContext& context)
      : type(context.type(1)), count(context.size(1)), are_floats(is_real(type)) {
    if (!are_floats) require_index_type(context, 1);
  }

  ElementType type;
  std::size_t count;
  bool are_floats;

  [[nodiscard]] std::size_t scratch_bytes() const { return are_floats ? count * sizeof(std::int64_t) : 0; }
  [[nodiscard]] kernels::IndexView read(const StepMemory& memory) const {
    if (!are_floats) return index_view(type, memory.inputs[1]);
    kernels::convert(scalar_type_of(type), memory.inputs[1], kernels::ScalarType::i64, memory.scratch, count);
    return index_view(ElementType::i64, memory.scratch);
  }
};

void infer_gather(InferContext& context, std::int64_t batch_dims) {
  context.require_inputs(3);
  context.require_integer(1);
  context.set_output(0, context.type(0), gathered_shape(context, batch_dims));
}

// One slice at a known index, when it is one piece of memory.
std::optional<PreparedKernel> single_slice(const PrepareContext& context, std::size_t axis) {
  const Shape& data = context.shape(0);
  if (context.constant(1) == nullptr || !is_integral(context.type(1)) || context.size(1) != 1 ||
      volume(data, 0, axis) != 1)
    return std::nullopt;
  const auto dim = static_cast<std::size_t>(data[axis]);
  const std::size_t index = kernels::normalize_index(context.integers(1)[0], dim);
  if (index == dim) return std::nullopt;
  return view_from(context, index * volume(data, axis + 1));
}

PreparedKernel prepare_gather(const PrepareContext& context, std::int64_t batch_dims,
                              kernels::OutOfRange policy) {
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const std::size_t axis = axis_input(context, 2, data.size());
  if (context.output_size() == 0) return nothing_to_do("gather");
  if (auto slice = single_slice(context, axis)) return *std::move(slice);
  const GatherIndices given(context);
  const std::size_t batch = normalized_axis(batch_dims, indices.size());
  const kernels::GatherShape shape{volume(data, 0, batch), volume(data, batch, axis),
                                   static_cast<std::size_t>(data[axis]), volume(indices, batch),
                                   volume(data, axis + 1) * moved_bytes(context)};
  PreparedKernel prepared = moving_kernel(
      context, "gather", {0},
      [shape, policy, given](const StepMemory& memory) {
        require_good_indices(
            kernels::gather(shape, memory.inputs[0], given.read(memory), memory.outputs[0], policy),
            "input 1 (indices)");
      },
      given.scratch_bytes());
  if (batch == 0 && context.output_shape() == data && !given.are_floats) {
    // The beams of a search that goes on with each of them.
    prepared.is_unchanged = [given](const StepMemory& memory) {
      const kernels::IndexView view = given.read(memory);
      for (std::size_t i = 0; i < given.count; ++i) {
        if (view[i] != static_cast<std::int64_t>(i)) return false;
      }
      return true;
    };
  }
  return prepared;
}

}  // namespace

void v1::Gather::infer(InferContext& context) const {
  context.require_inputs(3);
  // As OpenVINO, which asks for integers since opset7.
  context.require_number(1);
  context.set_output(0, context.type(0), gathered_shape(context, 0));
  propagate_moved_elements(context, *this, {0});
}
PreparedKernel v1::Gather::prepare(PrepareContext& context) const {
  return prepare_gather(context, 0, kernels::OutOfRange::report);
}

void v7::Gather::infer(InferContext& context) const {
  infer_gather(context, batch_dims);
  propagate_moved_elements(context, *this, {0});
}
PreparedKernel v7::Gather::prepare(PrepareContext& context) const {
  return prepare_gather(context, batch_dims, kernels::OutOfRange::zero);
}

void v8::Gather::infer(InferContext& context) const {
  infer_gather(context, batch_dims);
  propagate_moved_elements(context, *this, {0});
}
PreparedKernel v8::Gather::prepare(PrepareContext& context) const {
  return prepare_gather(context, batch_dims, kernels::OutOfRange::zero);
}

void v6::GatherElements::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_type(1, {ElementType::i32, ElementType::i64});
  require_min_rank(context, 0, 1);
  require_min_rank(context, 1, 1);
  const PartialShape& data = context.shape(0);
  PartialShape output = context.shape(1);
  if (data.has_rank()) {
    const std::size_t along = context.require_axis(axis, data.rank(), "axis");
    if (!output.has_rank()) output = PartialShape::of_rank(data.rank());
    context.require_rank(1, data.rank());
    for (std::size_t i = 0; i < data.rank(); ++i) {
      if (i == along) continue;
      const auto dim = data[i].merged(output[i]);
      context.require(dim.has_value(), "IR-shape",
                      {.found = output[i],
                       .expected = data[i],
                       .rule = words("only axis {} may differ", along),
                       .input = 1},
                      "axis {} of the inputs is {} and {}; only axis {} may differ", i, data[i], output[i],
                      along);
      output[i] = *dim;
    }
  }
  context.set_output(0, context.type(0), output);
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v6::GatherElements::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("gather_elements");
  require_index_type(context, 1);
  const std::size_t along = normalized_axis(axis, context.shape(0).size());
  const std::size_t element = moved_bytes(context);
  return moving_kernel(context, "gather_elements", {0},
                       [=, data_dims = sizes_of(context.shape(0)), index_dims = sizes_of(context.shape(1)),
                        type = context.type(1)](const StepMemory& memory) {
                         require_good_indices(
                             kernels::gather_elements(data_dims, index_dims, along, element, memory.inputs[0],
                                                      index_view(type, memory.inputs[1]), memory.outputs[0]),
                             "input 1 (indices)");
                       });
}

namespace {

// Shape of the output with the batch dims as they are.
PartialShape gathered_nd_shape(const InferContext& context, std::int64_t batch_dims) {
  context.require_inputs(2);
  context.require_integer(1);
  require_min_rank(context, 0, 1);
  require_min_rank(context, 1, 1);
  require_at_least(context, "batch_dims", batch_dims, 0);
  const PartialShape& data = context.shape(0);
  const PartialShape& indices = context.shape(1);
  for (const PartialShape* shape : {&data, &indices}) {
    context.require(!shape->has_rank() || batch_dims < static_cast<std::int64_t>(shape->rank()),
                    "IR-attribute-range",
                    {.found = batch_dims,
                     .expected = words("less than {}", shape->rank()),
                     .rule = words("{} is of rank {}", *shape, shape->rank())},
                    "batch_dims is {}; it takes less than the rank of {}", batch_dims, *shape);
  }
  if (!data.has_rank() || !indices.has_rank()) return {};
  const Dimension tuple = indices[indices.rank() - 1];
  const std::int64_t most = static_cast<std::int64_t>(data.rank()) - batch_dims;
  context.require(tuple.min() <= most, "IR-shape",
                  {.found = tuple,
                   .expected = words("at most {}", most),
                   .rule = words("input 0 has shape {} and {} batch dims", data, batch_dims),
                   .input = 1},
                  "tuples of {} indices address input 0 of shape {} with {} batch dims", tuple, data,
                  batch_dims);
  if (!tuple.is_static()) return {};
  const auto batch = static_cast<std::size_t>(batch_dims);
  PartialShape output(shared_batch(context, batch));
  for (std::size_t i = batch; i + 1 < indices.rank(); ++i) output.push_back(indices[i]);
  for (std::size_t i = batch + static_cast<std::size_t>(tuple.value()); i < data.rank(); ++i)
    output.push_back(data[i]);
  return output;
}

PreparedKernel prepare_gather_nd(const PrepareContext& context, std::int64_t batch_dims) {
  if (context.output_size() == 0) return nothing_to_do("gather_nd");
  require_index_type(context, 1);
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const auto batch = static_cast<std::size_t>(batch_dims);
  const auto tuple = static_cast<std::size_t>(indices.back());
  const auto first = data.begin() + static_cast<std::ptrdiff_t>(batch);
  const std::size_t batches = volume(data, 0, batch);
  const std::size_t tuples = volume(indices, batch, indices.size() - 1);
  const std::size_t slice = volume(data, batch + tuple) * moved_bytes(context);
  return moving_kernel(context, "gather_nd", {0},
                       [=, dims = std::vector<std::size_t>(first, first + static_cast<std::ptrdiff_t>(tuple)),
                        type = context.type(1)](const StepMemory& memory) {
                         require_good_indices(
                             kernels::gather_nd({batches, tuples, dims, slice}, memory.inputs[0],
                                                index_view(type, memory.inputs[1]), memory.outputs[0]),
                             "input 1 (indices)");
                       });
}

}  // namespace

void v5::GatherND::infer(InferContext& context) const {
  PartialShape output = gathered_nd_shape(context, batch_dims);
  if (output.has_rank() && batch_dims > 1) {
    const auto batch = static_cast<std::size_t>(batch_dims);
    std::vector<Dimension> dims{Dimension(1)};
    for (std::size_t axis = 0; axis < output.rank(); ++axis) {
      if (axis < batch) {
        dims[0] = dims[0] * output[axis];
      } else {
        dims.push_back(output[axis]);
      }
    }
    output = PartialShape(std::move(dims));
  }
  context.set_output(0, context.type(0), output);
  propagate_moved_elements(context, *this, {0});
}
PreparedKernel v5::GatherND::prepare(PrepareContext& context) const {
  return prepare_gather_nd(context, batch_dims);
}

void v8::GatherND::infer(InferContext& context) const {
  const PartialShape output = gathered_nd_shape(context, batch_dims);
  context.set_output(0, context.type(0), output);
  propagate_moved_elements(context, *this, {0});
}
PreparedKernel v8::GatherND::prepare(PrepareContext& context) const {
  return prepare_gather_nd(context, batch_dims);
}

void v1::GatherTree::infer(InferContext& context) const {
  context.require_inputs(4);
  for (std::size_t index = 0; index < 4; ++index) context.require_number(index);
  const ElementType type = context.require_same_type({0, 1, 2, 3});
  SharedDim time{"the number of steps", {}};
  SharedDim batch{"batch size", {}};
  SharedDim beams{"the number of beams", {}};
  unify(context, 0, {&time, &batch, &beams});
  unify(context, 1, {&time, &batch, &beams});
  unify(context, 2, {&batch});
  require_one_element(context, 3);
  context.set_output(0, type, PartialShape{time.value, batch.value, beams.value});
}

namespace {

template <class T>
void run_gather_tree(const Shape& shape, const T* steps, const T* parents, const T* lengths, const T* end,
                     T* out) {
  require_good_indices(
      kernels::gather_tree(static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]),
                           static_cast<std::size_t>(shape[2]), steps, parents, lengths, *end, out),
      "input 1 (parent beams)");
}

}  // namespace

PreparedKernel v1::GatherTree::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("gather_tree");
  const Shape& shape = context.shape(0);
  const ElementType type = context.type(0);
  PreparedKernel kernel;
  kernel.name = "gather_tree";
  const auto run_as = [&]<class T>() {
    kernel.run = [shape](const StepMemory& memory) {
      run_gather_tree(shape, memory.in<T>(0), memory.in<T>(1), memory.in<T>(2), memory.in<T>(3),
                      memory.out<T>(0));
    };
  };
  if (with_real_type(type, run_as) || with_index_type(type, run_as)) return kernel;
  // The values are whole numbers, so other types go through i64 in scratch memory.
  const auto scalar = scalar_type_of(type);
  const std::size_t count = context.output_size();
  const std::size_t batch = context.size(2);
  kernel.scratch_bytes = (3 * count + batch + 1) * sizeof(std::int64_t);
  kernel.run = [=](const StepMemory& memory) {
    auto* next = reinterpret_cast<std::int64_t*>(memory.scratch);
    const auto widened = [&](std::size_t input, std::size_t size) {
      std::int64_t* wide = next;
      kernels::convert(scalar, memory.inputs[input], kernels::ScalarType::i64, wide, size);
      next += size;
      return wide;
    };
    const std::int64_t* steps = widened(0, count);
    const std::int64_t* parents = widened(1, count);
    const std::int64_t* lengths = widened(2, batch);
    const std::int64_t* end = widened(3, 1);
    run_gather_tree(shape, steps, parents, lengths, end, next);
    kernels::convert(kernels::ScalarType::i64, next, scalar, memory.outputs[0], count);
  };
  return kernel;
}

}  // namespace ir::op
