#include "runtime/ops/axes.h"

#include <algorithm>

namespace ir::op {

std::vector<std::size_t> checked_axes(const InferContext& context, std::span<const std::int64_t> axes,
                                      std::size_t rank, std::string_view what,
                                      std::optional<std::size_t> input, AxesRules rules) {
  std::vector<bool> seen(std::max<std::size_t>(rank, 1), false);
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) {
    const std::string name = fmt::format("{}: axis", what);
    const std::size_t index = rules.axis_of_scalar ? require_axis_or_0(context, axis, rank, name, input)
                                                   : context.require_axis(axis, rank, name, input);
    context.require(rules.repeated || !seen[index], "IR-axis",
                    {.found = words("axis {} twice", index), .expected = "each axis once", .input = input},
                    "{} names axis {} twice", what, index);
    if (!seen[index]) result.push_back(index);
    seen[index] = true;
  }
  std::ranges::sort(result);
  return result;
}

std::optional<std::vector<std::size_t>> infer_axes(const InferContext& context, std::size_t index,
                                                   std::size_t rank, AxesRules rules) {
  context.require_integer(index);
  context.require_rank(index, 0, 1);
  const auto axes = context.integers(index);
  if (!axes) return std::nullopt;
  return checked_axes(context, *axes, rank, fmt::format("input {}", index), index, rules);
}

std::size_t require_axis_or_0(const InferContext& context, std::int64_t axis, std::size_t rank,
                              std::string_view what, std::optional<std::size_t> input) {
  if (rank > 0) return context.require_axis(axis, rank, what, input);
  context.require(axis == 0, "IR-axis",
                  {.found = axis, .expected = "0", .rule = "for a scalar", .input = input},
                  "{} {} lies outside of [0, 0] for a scalar", what, axis);
  return 0;
}

std::size_t normalized_axis(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::vector<std::size_t> normalized_axes(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) result.push_back(normalized_axis(axis, rank));
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<std::size_t> prepared_axes(const PrepareContext& context, std::size_t index, std::size_t rank) {
  return normalized_axes(context.integers(index), rank);
}

}  // namespace ir::op
