#include "runtime/ops/indices.h"
#include "runtime/ops/axes.h"

#include <fmt/format.h>

#include "ir_runtime/diagnostics.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/shared_dims.h"

namespace ir::op {
std::optional<std::size_t> axis_input(const InferContext& context, std::size_t index,
                                      std::optional<std::size_t> rank, std::string_view what) {
  context.require_integer(index);
  require_one_element(context, index);
  const auto value = context.integer(index);
  if (!value || !rank) return std::nullopt;
  return context.require_axis(*value, *rank, what, index);
}

std::size_t axis_input(const PrepareContext& context, std::size_t index, std::size_t rank) {
  return normalized_axis(context.integers(index).at(0), rank);
}

std::optional<std::vector<std::size_t>> axes_input(const InferContext& context, std::size_t index,
                                                   std::size_t rank) {
  context.require_integer(index);
  context.require_rank(index, 0, 1);
  const auto values = context.integers(index);
  if (!values) return std::nullopt;
  std::vector<std::size_t> axes;
  std::vector<bool> seen(rank, false);
  for (const std::int64_t value : *values) {
    const std::size_t axis = context.require_axis(value, rank, "axis", index);
    context.require(!seen[axis], "IR-axis",
                    {.found = words("axis {} twice", axis), .expected = "each axis once", .input = index},
                    "axis {} is given twice", axis);
    seen[axis] = true;
    axes.push_back(axis);
  }
  return axes;
}

std::vector<std::size_t> axes_input(const PrepareContext& context, std::size_t index, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t value : context.integers(index)) axes.push_back(normalized_axis(value, rank));
  return axes;
}

void require_axes(const InferContext& context, std::size_t index, std::size_t rank) {
  const auto axes = context.integers(index);
  if (!axes) return;
  for (const std::int64_t axis : *axes) (void)context.require_axis(axis, rank, "axis", index);
}

Dimension require_integer_vector(const InferContext& context, std::size_t index) {
  context.require_integer(index);
  context.require_rank(index, 1);
  return context.shape(index).has_rank() ? context.shape(index)[0] : Dimension();
}

void require_one_per_axis(const InferContext& context, std::size_t index, const Dimension& length,
                          std::string_view what) {
  const PartialShape& data = context.shape(0);
  const auto rank = static_cast<std::int64_t>(data.rank());
  context.require(
      !data.has_rank() || length.compatible(rank), "IR-shape",
      {.found = length, .expected = rank, .rule = words("input 0 has shape {}", data), .input = index},
      "input {} has {} {}, input 0 has shape {}", index, length, what, data);
}

std::vector<Dimension> elements_or_unknown(const InferContext& context, std::size_t index,
                                           std::size_t length) {
  auto elements = context.elements(index);
  if (elements && elements->size() == length) return std::move(*elements);
  // More than inference carries along, but there.
  const auto numbers = elements ? std::nullopt : context.integers(index);
  if (numbers && numbers->size() == length) return {numbers->begin(), numbers->end()};
  return std::vector<Dimension>(length, kUnknownElement);
}

kernels::IndexView index_view(ElementType type, const void* data) {
  switch (type) {
    case ElementType::i8:
      return static_cast<const std::int8_t*>(data);
    case ElementType::u8:
      return static_cast<const std::uint8_t*>(data);
    case ElementType::i16:
      return static_cast<const std::int16_t*>(data);
    case ElementType::u16:
      return static_cast<const std::uint16_t*>(data);
    case ElementType::i32:
      return static_cast<const std::int32_t*>(data);
    case ElementType::u32:
      return static_cast<const std::uint32_t*>(data);
    case ElementType::u64:
      return static_cast<const std::uint64_t*>(data);
    default:
      return static_cast<const std::int64_t*>(data);
  }
}

void require_index_type(const PrepareContext& context, std::size_t input) {
  const ElementType type = context.type(input);
  if (!is_integral(type) || bits_of(type) < 8) {
    context.fail_unsupported(fmt::format("indices of type {}", name_of(type)));
  }
}

void require_good_indices(const kernels::IndexResult& result, std::string_view what) {
  if (!result) return;
  throw Error("IR-value", fmt::format("element {} of {} is {}, which addresses nothing", result->position,
                                      what, result->value));
}

}  // namespace ir::op
