#include "ir_runtime/ops/unique.h"

#include <algorithm>

#include "kernels/indexing/unique.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/sizes.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

// How many of `all` slices are distinct.
Dimension some_of(const Dimension& all) { return {std::min<std::int64_t>(all.min(), 1), all.max()}; }

struct UniqueOutputs {
  PartialShape values;
  Dimension distinct;
  Dimension all;
};

UniqueOutputs known_outputs(const InferContext& context) {
  const PartialShape& data = context.shape(0);
  if (context.input_count() == 1) {
    const Dimension all = data.has_rank() ? data.element_count() : Dimension();
    return {PartialShape{some_of(all)}, some_of(all), all};
  }
  const auto rank = data.has_rank() ? std::optional(data.rank()) : std::nullopt;
  const auto axis = axis_input(context, 1, rank);
  if (!rank) return {PartialShape(), Dimension(), Dimension()};
  context.require(*rank > 0, "IR-rank", {.found = "a scalar", .expected = "a rank of at least 1", .input = 0},
                  "input 0 is a scalar, which has no axis");
  UniqueOutputs outputs{data, {}, {}};
  if (axis) {
    outputs.all = data[*axis];
    outputs.distinct = some_of(outputs.all);
    outputs.values[*axis] = outputs.distinct;
  } else {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < *rank; ++i) {
      outputs.values[i] = some_of(data[i]);
      most = std::max(most, data[i].max());
    }
    outputs.all = outputs.distinct = Dimension(0, most);
  }
  return outputs;
}

void fill(Tensor& tensor, std::span<const std::size_t> numbers) {
  with_index_type(tensor.element_type(), [&]<class Index>() {
    std::ranges::transform(numbers, tensor.data<Index>().begin(),
                           [](std::size_t number) { return static_cast<Index>(number); });
  });
}

struct UniqueTypes {
  ElementType indices;
  ElementType counts;
};

template <class T>
std::vector<Tensor> run_unique(const Tensor& input, std::optional<std::size_t> axis, bool sorted,
                               const UniqueTypes& types) {
  Shape shape = input.shape();
  kernels::SlicedShape slices;
  if (axis) {
    slices = {volume(shape, 0, *axis), static_cast<std::size_t>(shape[*axis]), volume(shape, *axis + 1)};
  } else {
    slices.axis = static_cast<std::size_t>(input.size());
    shape = {input.size()};
  }
  // First, for it fails where there are too many slices, which may be when they are empty.
  Tensor matches(types.indices, {static_cast<std::int64_t>(slices.axis)});

  const auto* data = static_cast<const T*>(input.raw());
  const kernels::DistinctSlices distinct = kernels::find_distinct_slices(data, slices, sorted);
  const auto count = static_cast<std::int64_t>(distinct.firsts.size());
  shape[axis.value_or(0)] = count;
  Tensor values(input.element_type(), shape);
  Tensor firsts(types.indices, {count});
  Tensor counts(types.counts, {count});
  kernels::copy_slices(data, slices, distinct.firsts, static_cast<T*>(values.raw()));
  fill(firsts, distinct.firsts);
  fill(matches, distinct.matches);
  fill(counts, distinct.counts);
  return {values, firsts, matches, counts};
}

}  // namespace

void v10::Unique::infer(InferContext& context) const {
  context.require_inputs(1, 2);
  require_no_strings(context, 0, info.type);
  require_type_of_indices(context, "index_element_type", index_element_type);
  require_type_of_indices(context, "count_element_type", count_element_type);
  const UniqueOutputs outputs = known_outputs(context);
  context.set_output(0, context.type(0), outputs.values);
  context.set_output(1, index_element_type, PartialShape{outputs.distinct});
  context.set_output(2, index_element_type, PartialShape{outputs.all});
  context.set_output(3, count_element_type, PartialShape{outputs.distinct});
}

PreparedKernel v10::Unique::prepare(PrepareContext& context) const {
  std::optional<std::size_t> axis;
  if (context.input_count() > 1) axis = axis_input(context, 1, context.shape(0).size());
  // Positions and keys, twice each while they are sorted, and where each slice is found.
  const Shape& shape = context.shape(0);
  const std::size_t slices = axis ? size_of(shape[*axis]) : context.size(0);
  context.require_table(slices, 5 * sizeof(std::uint64_t));
  const UniqueTypes types{index_element_type, count_element_type};
  PreparedKernel kernel;
  kernel.name = "unique";
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    kernel.run_dynamic = [axis, types, sorted = sorted](std::span<const Tensor> inputs) {
      return run_unique<T>(inputs[0], axis, sorted, types);
    };
  });
  if (!found) {  // packed types, of which f32 holds every value
    kernel.run_dynamic = [axis, types, sorted = sorted](std::span<const Tensor> inputs) {
      auto outputs = run_unique<float>(inputs[0].converted(ElementType::f32), axis, sorted, types);
      outputs[0] = outputs[0].converted(inputs[0].element_type());
      return outputs;
    };
  }
  return kernel;
}

}  // namespace ir::op
