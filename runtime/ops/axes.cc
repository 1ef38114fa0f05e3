#include "runtime/ops/axes.h"

#include <algorithm>

namespace ir::op {

std::vector<std::size_t> checked_axes(const InferContext& context, std::span<const std::int64_t> axes,
                                      std::size_t rank, std::string_view what,
                                      std::optional<std::size_t> input) {
  std::vector<bool> seen(rank, false);
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) {
    const std::size_t index = context.require_axis(axis, rank, fmt::format("{}: axis", what), input);
    context.require(!seen[index], "IR-axis",
                    {.found = words("axis {} twice", index), .expected = "each axis once", .input = input},
                    "{} names axis {} twice", what, index);
    seen[index] = true;
    result.push_back(index);
  }
  std::ranges::sort(result);
  return result;
}

std::optional<std::vector<std::size_t>> infer_axes(const InferContext& context, std::size_t index,
                                                   std::size_t rank) {
  context.require_integer(index);
  context.require_rank(index, 0, 1);
  const auto axes = context.integers(index);
  if (!axes) return std::nullopt;
  return checked_axes(context, *axes, rank, fmt::format("input {}", index), index);
}

std::vector<std::size_t> normalized_axes(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) {
    result.push_back(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis));
  }
  std::ranges::sort(result);
  return result;
}

std::vector<std::size_t> prepared_axes(const PrepareContext& context, std::size_t index, std::size_t rank) {
  return normalized_axes(context.integers(index), rank);
}

}  // namespace ir::op
