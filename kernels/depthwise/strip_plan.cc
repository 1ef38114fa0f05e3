#include "kernels/depthwise/strip_plan.h"

#include <algorithm>

#include "kernels/base/processor.h"

namespace ir::kernels {
namespace {

std::size_t window_rows(const ConvolutionAxis& axis) { return (axis.kernel - 1) * axis.dilation + 1; }

/// Rows of a strip of which at most a quarter of what is expanded is expanded for a neighbour, too.
std::size_t least_rows(const ConvolutionAxis& axis, const StripChain& chain) {
  const std::size_t seen = window_rows(axis);
  if (!chain.expands || seen <= axis.stride) return 1;
  return divide_up(3 * (seen - axis.stride), axis.stride);
}

/// All rows of the outputs in about so many strips.
std::vector<StripRows> cut_rows(const ConvolutionAxis& axis, std::size_t parts) {
  const Split rows(axis.out, divide_up(axis.out, parts));
  std::vector<StripRows> strips;
  for (std::size_t i = 0; i < rows.parts; ++i) {
    const std::size_t first_out = rows.begin(i);
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(first_out * axis.stride) - axis.pad;
    const std::ptrdiff_t end =
        first + static_cast<std::ptrdiff_t>((rows.size(i) - 1) * axis.stride + window_rows(axis));
    const std::ptrdiff_t seen_first = std::max<std::ptrdiff_t>(first, 0);
    const std::ptrdiff_t seen_end = std::min(end, static_cast<std::ptrdiff_t>(axis.in));
    if (seen_first >= seen_end) return {};
    strips.push_back({static_cast<std::size_t>(seen_first), static_cast<std::size_t>(seen_end - seen_first),
                      seen_first - first, first_out, rows.size(i)});
  }
  return strips;
}

}  // namespace

std::size_t rows_seen(const ConvolutionAxis& axis, std::size_t rows) {
  return std::min((rows - 1) * axis.stride + window_rows(axis), axis.in);
}

StripPlan plan_strips(const ConvolutionGeometry& depthwise, const StripChain& chain,
                      FunctionRef<std::size_t(std::size_t)> floats_in_hand) {
  const ConvolutionAxis& axis = depthwise.axes[1];
  // Twice what it holds, as not all is needed at a time: less is expanded twice, and the rest comes from the
  // next cache soon enough.
  const std::size_t most_floats = 2 * second_level_cache() / sizeof(float);
  const std::size_t most_parts = std::max<std::size_t>(axis.out / least_rows(axis, chain), 1);
  std::size_t parts = 1;
  while (parts < most_parts && floats_in_hand(divide_up(axis.out, parts)) > most_floats) ++parts;
  StripPlan plan{cut_rows(axis, parts)};
  if (plan.strips.empty()) return plan;
  std::size_t expanded = 0;
  for (const StripRows& strip : plan.strips) expanded += strip.in;
  plan.repeats_little = !chain.expands || 3 * expanded <= 4 * axis.in;
  plan.shares_channels =
      chain.expands && chain.projects && chain.shares && depthwise.batch * parts < depthwise.workers;
  if (plan.shares_channels) return plan;
  const std::size_t tasks = divide_up(depthwise.batch * parts, depthwise.workers) * depthwise.workers;
  const std::size_t shared_parts = divide_up(tasks, depthwise.batch);
  if (chain.projects && shared_parts > parts) {
    std::vector<StripRows> shared = cut_rows(axis, std::min(shared_parts, axis.out));
    if (!shared.empty()) plan.strips = std::move(shared);
  }
  return plan;
}

}  // namespace ir::kernels
