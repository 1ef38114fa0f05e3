// Concat, Split and VariadicSplit.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "ir_runtime/ops/movement.h"
#include "kernels/movement/strided_copy.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

// More outputs than any layer has; bounds what a hostile attribute can allocate.
constexpr std::int64_t kMaxParts = 1 << 16;

// A part of a tensor along an axis: `outer` rows of `row` elements, `whole` elements apart in the tensor.
struct Part {
  std::size_t outer = 1;
  std::size_t row = 1;
  std::size_t whole = 1;
  std::size_t first = 0;  // element of the tensor
};

Part part_of(const Shape& whole, const Shape& part, std::size_t axis, std::size_t before) {
  const std::size_t inner = volume(whole, axis + 1);
  return {volume(whole, 0, axis), static_cast<std::size_t>(part[axis]) * inner, volume(whole, axis),
          before * inner};
}

// A prepared copy between a part, dense in a tensor of its own, and its place in the whole.
struct PartCopy {
  kernels::StridedCopy copy;
  std::size_t port = 0;
  std::size_t offset_bytes = 0;  // in the whole
};

PartCopy part_copy(const Part& part, std::size_t port, std::size_t element, bool into_whole) {
  const std::array<std::size_t, 2> dims{part.outer, part.row};
  const std::array<std::ptrdiff_t, 2> dense{static_cast<std::ptrdiff_t>(part.row), 1};
  const std::array<std::ptrdiff_t, 2> placed{static_cast<std::ptrdiff_t>(part.whole), 1};
  return {kernels::StridedCopy(dims, into_whole ? dense : placed, into_whole ? placed : dense, element), port,
          part.first * element};
}

std::vector<std::size_t> all_inputs(std::size_t count) {
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

}  // namespace

void v0::Concat::infer(InferContext& context) const {
  context.require_inputs(1, std::numeric_limits<std::size_t>::max());
  const std::vector<std::size_t> inputs = all_inputs(context.input_count());
  const ElementType type = require_one_type(context, inputs);
  // Dims of all inputs, that of `axis` left out; and the sum of these.
  PartialShape merged;
  Dimension sum(0);
  std::string terms;
  for (const std::size_t index : inputs) {
    PartialShape shape = context.shape(index);
    Dimension length;
    if (shape.has_rank()) {
      Dimension& dim = shape[context.require_axis(axis, shape.rank(), "axis")];
      length = dim;
      dim = Dimension();
    }
    sum = sum + length;
    if (context.explaining()) terms += (index == 0 ? "" : " + ") + to_string(length);
    const auto both = merged.merged(shape);
    context.require(both.has_value(), "IR-shape",
                    {.found = context.shape(index),
                     .expected = merged,
                     .rule = words("the inputs agree but for axis {}", axis),
                     .input = index},
                    "input {} has shape {}; the inputs before it have {} but for axis {}", index,
                    context.shape(index), merged, axis);
    merged = *both;
  }
  if (merged.has_rank()) {
    const std::size_t along = context.require_axis(axis, merged.rank(), "axis");
    merged[along] = sum;
    if (context.explaining()) context.explain(0, along, fmt::format("{} = {}", terms, to_string(sum)));
  }
  context.set_output(0, type, merged);
  propagate_moved_elements(context, *this, inputs);
}

PreparedKernel v0::Concat::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("concat");
  const Shape& whole = context.output_shape();
  const std::size_t along = normalized_axis(axis, whole.size());
  const std::size_t element = moved_bytes(context);
  std::vector<PartCopy> copies;
  std::size_t before = 0;
  for (std::size_t index = 0; index < context.input_count(); ++index) {
    const Shape& shape = context.shape(index);
    if (shape == whole) return PreparedKernel::view_of(index);  // the others are empty
    if (context.size(index) > 0) {
      copies.push_back(part_copy(part_of(whole, shape, along, before), index, element, true));
    }
    before += static_cast<std::size_t>(shape[along]);
  }
  std::vector<std::size_t> assembled;
  const bool whole_bytes = byte_offset_of(context.output(0).type, 1).has_value();
  if (whole_bytes && volume(whole, 0, along) == 1 && copies.size() == context.input_count()) {
    for (const PartCopy& part : copies) assembled.push_back(part.offset_bytes);
  }
  PreparedKernel kernel =
      moving_kernel(context, "concat", all_inputs(context.input_count()),
                    [copies = std::move(copies)](const StepMemory& memory) {
                      for (const PartCopy& part : copies) {
                        part.copy.run(memory.inputs[part.port], memory.out<std::byte>(0) + part.offset_bytes);
                      }
                    });
  kernel.assembled = std::move(assembled);
  return kernel;
}

namespace {

// The outputs are input 0 cut along `along`: views when nothing lies before that axis.
PreparedKernel prepare_parts(const PrepareContext& context, std::string_view name, std::size_t along) {
  const Shape& whole = context.shape(0);
  if (context.size(0) == 0) return nothing_to_do(name);
  const std::size_t element = moved_bytes(context);
  std::vector<PartCopy> copies;
  PreparedKernel views;
  views.name = "view";
  bool are_views = volume(whole, 0, along) == 1;
  std::size_t before = 0;
  for (std::size_t output = 0; output < context.output_count(); ++output) {
    const Shape& shape = context.output_shape(output);
    const Part part = part_of(whole, shape, along, before);
    if (context.output_size(output) > 0) copies.push_back(part_copy(part, output, element, false));
    const auto offset = byte_offset_of(context.type(0), part.first);
    are_views = are_views && offset.has_value();
    views.views.push_back({0, offset.value_or(0)});
    before += static_cast<std::size_t>(shape[along]);
  }
  if (are_views) return views;
  return moving_kernel(context, name, {0}, [copies = std::move(copies)](const StepMemory& memory) {
    for (const PartCopy& part : copies) {
      part.copy.run(memory.in<std::byte>(0) + part.offset_bytes, memory.outputs[part.port]);
    }
  });
}

// An axis that may be any.
std::optional<std::size_t> split_axis(const InferContext& context) {
  const PartialShape& data = context.shape(0);
  require_min_rank(context, 0, 1);
  return axis_input(context, 1, data.has_rank() ? std::optional(data.rank()) : std::nullopt);
}

}  // namespace

void v1::Split::infer(InferContext& context) const {
  context.require_inputs(2);
  require_range(context, "num_splits", num_splits, 1, kMaxParts);
  const auto along = split_axis(context);
  PartialShape part = context.shape(0);
  std::string rule;
  if (along) {
    Dimension& dim = part[*along];
    const Dimension length = exact_quotient(context, dim, num_splits, *along);
    if (context.explaining()) {
      rule = fmt::format("{} / {} = {}", to_string(dim), num_splits, to_string(length));
    }
    dim = length;
  } else if (part.has_rank()) {
    part = PartialShape::of_rank(part.rank());
  }
  for (std::size_t output = 0; output < static_cast<std::size_t>(num_splits); ++output) {
    context.set_output(output, context.type(0), part);
    if (along && context.explaining()) context.explain(output, *along, rule);
  }
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v1::Split::prepare(PrepareContext& context) const {
  return prepare_parts(context, "split", axis_input(context, 1, context.shape(0).size()));
}

namespace {

bool may_be_rest(const Dimension& length) { return length.compatible(-1) && !length.is_static(); }

// Lengths of the parts of an axis of `dim` elements; -1 stands for what the others leave. None is unknown.
std::vector<Dimension> resolve_lengths(const InferContext& context, const Dimension& dim,
                                       std::vector<Dimension> lengths) {
  std::optional<std::size_t> rest;
  Dimension sum(0);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Dimension& length = lengths[i];
    if (length == Dimension(-1)) {
      context.require(!rest, "IR-value", {.found = "-1 twice", .expected = "-1 once", .input = 2},
                      "lengths {} and {} are -1; one may be", rest.value_or(0), i);
      rest = i;
      continue;
    }
    context.require(length.max() >= 0, "IR-value",
                    {.found = length, .expected = "-1 or at least 0", .input = 2}, "length {} is {}", i,
                    length);
    sum = sum + length;
  }
  if (!rest) {
    context.require(
        sum.compatible(dim), "IR-shape",
        {.found = sum, .expected = dim, .rule = words("the axis has {} elements", dim), .input = 2},
        "the lengths sum up to {}, the axis has {} elements", sum, dim);
    return lengths;
  }
  const Dimension left = element_subtract(dim, sum);
  context.require(left.max() >= 0, "IR-shape",
                  {.found = sum,
                   .expected = words("at most {}", dim),
                   .rule = words("the axis has {} elements", dim),
                   .input = 2},
                  "the lengths but -1 sum up to {}, the axis has {} elements", sum, dim);
  lengths[*rest] = Dimension(std::max<std::int64_t>(left.min(), 0), left.max());
  return lengths;
}

}  // namespace

void v1::VariadicSplit::infer(InferContext& context) const {
  context.require_inputs(3);
  const auto along = split_axis(context);
  const Dimension parts = require_integer_vector(context, 2);
  context.require(parts.is_static() && parts.value() <= kMaxParts, "IR-shape",
                  {.found = parts,
                   .expected = words("at most {}", kMaxParts),
                   .rule = "the number of outputs must be known",
                   .input = 2},
                  "input 2 has {} lengths; the number of outputs must be known and at most {}", parts,
                  kMaxParts);
  const auto count = static_cast<std::size_t>(parts.value());
  const PartialShape& data = context.shape(0);
  std::vector<Dimension> lengths = elements_or_unknown(context, 2, count);
  const bool given = std::ranges::none_of(lengths, may_be_rest);
  if (given) {
    lengths = resolve_lengths(context, along ? data[*along] : Dimension(), std::move(lengths));
  } else {
    std::ranges::replace_if(
        lengths, [](const Dimension& length) { return length.min() < 0; }, Dimension());
  }
  for (std::size_t output = 0; output < count; ++output) {
    PartialShape part = data;
    if (along) {
      part[*along] = lengths[output];
      if (context.explaining()) {
        context.explain(output, *along,
                        fmt::format("length {} of input 2 = {}", output, to_string(lengths[output])));
      }
    } else if (part.has_rank()) {
      part = PartialShape::of_rank(part.rank());
    }
    context.set_output(output, context.type(0), part);
  }
  propagate_moved_elements(context, *this, {0});
}

PreparedKernel v1::VariadicSplit::prepare(PrepareContext& context) const {
  // With lengths that become known only when the model runs, the parts are not known to fill the axis.
  (void)context.integers(2);
  return prepare_parts(context, "split", axis_input(context, 1, context.shape(0).size()));
}

}  // namespace ir::op
