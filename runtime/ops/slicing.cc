#include "runtime/ops/slicing.h"

#include <algorithm>
#include <array>

#include "kernels/movement/strided_copy.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

constexpr std::int64_t kMax = Dimension::kUnbounded;
// Beyond this a number of elements stands for "as many as there are".
constexpr std::int64_t kOpen = kMax / 2;

// A clamped slice: from `start` over `length` elements in the direction of the step.
struct Stretch {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t length = 0;
};

Stretch clamped(std::int64_t dim, std::int64_t start, std::int64_t stop, bool backwards) {
  if (dim == 0) return {};
  const auto from_end = [dim](std::int64_t bound) { return bound < 0 ? bound + dim : bound; };
  const std::int64_t first = std::clamp(from_end(start), std::int64_t{0}, backwards ? dim - 1 : dim);
  const std::int64_t last = std::clamp(from_end(stop), std::int64_t{backwards ? -1 : 0}, dim);
  return {first, last, std::max(std::int64_t{0}, backwards ? first - last : last - first)};
}

// |step| elements make one; `length` >= 0.
std::int64_t count_of(std::int64_t length, std::int64_t step) {
  const std::uint64_t stride =
      step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
  const auto elements = static_cast<std::uint64_t>(length);
  return static_cast<std::int64_t>(elements / stride + (elements % stride != 0 ? 1 : 0));
}

// The ends of an interval, and those of its negative and its other part, as both count differently.
struct Ends {
  std::array<std::int64_t, 4> values{};
  std::size_t count = 0;

  explicit Ends(const Dimension& interval) {
    add(interval.min());
    if (!interval.is_static()) add(interval.max());
    if (interval.min() < -1 && interval.max() >= 0) add(-1);
    if (interval.min() < 0 && interval.max() > 0) add(0);
  }
  void add(std::int64_t value) { values[count++] = value; }
  [[nodiscard]] auto begin() const { return values.begin(); }
  [[nodiscard]] auto end() const { return values.begin() + static_cast<std::ptrdiff_t>(count); }
};

// Writers of 32-bit indices mean "to the end" by their largest and smallest numbers.
std::int64_t widened(std::int64_t bound) {
  if (bound >= std::numeric_limits<std::int32_t>::max()) return kMax;
  if (bound <= std::numeric_limits<std::int32_t>::min()) return std::numeric_limits<std::int64_t>::min();
  return bound;
}

}  // namespace

SliceRange resolve_slice(std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step) {
  const Stretch stretch = clamped(dim, start, stop, step < 0);
  const std::int64_t count = count_of(stretch.length, step);
  if (count == 0) return {};
  return {stretch.start, count == 1 ? 1 : step, count};
}

Dimension sliced_dim(const Dimension& dim, const SliceBounds& bounds) {
  if (!bounds.step) return {0, dim.max()};
  const std::int64_t step = *bounds.step;
  std::int64_t low = kMax;
  std::int64_t high = 0;
  for (std::int64_t start : Ends(bounds.start)) {
    for (std::int64_t stop : Ends(bounds.stop)) {
      if (dim.max() == kMax) {
        start = widened(start);
        stop = widened(stop);
      }
      const auto see = [&](std::int64_t size) {
        if (size < dim.min() || size > dim.max()) return;
        const std::int64_t length = clamped(size, start, stop, step < 0).length;
        const std::int64_t count = length > kOpen ? kMax : count_of(length, step);
        low = std::min(low, count);
        high = std::max(high, count);
      };
      see(dim.min());
      see(dim.max());
      if (dim.is_static()) continue;
      // In between, the length turns only where a bound meets an end of the axis.
      for (const std::int64_t bound : {start, stop}) {
        if (bound > kOpen || bound < -kOpen) continue;
        for (const std::int64_t near : {-1, 0, 1}) {
          see(bound + near);
          see(near - bound);
        }
      }
    }
  }
  return {low, high};
}

std::string slice_rule(const Dimension& dim, const SliceBounds& bounds) {
  if (!dim.is_static() || !bounds.start.is_static() || !bounds.stop.is_static() || !bounds.step) return {};
  const std::int64_t step = *bounds.step;
  const std::int64_t start = bounds.start.value();
  const std::int64_t stop = bounds.stop.value();
  const Stretch stretch = clamped(dim.value(), start, stop, step < 0);
  return fmt::format("[{}:{}:{}] of {}: ceil(({} - {}) / {}) = {}",
                     start == open_start(step) ? "" : fmt::format("{}", start),
                     stop == open_stop(step) ? "" : fmt::format("{}", stop), step, dim.value(), stretch.stop,
                     stretch.start, step, count_of(stretch.length, step));
}

Dimension slice_entry_count(const InferContext& context, std::size_t first) {
  Dimension count;
  for (std::size_t index = first; index < context.input_count(); ++index) {
    const Dimension length = require_integer_vector(context, index);
    const auto merged = count.merged(length);
    context.require(merged.has_value(), "IR-shape",
                    {.found = length,
                     .expected = count,
                     .rule = words("the inputs before it have {}", count),
                     .input = index},
                    "input {} has {} entries, the inputs before it have {}", index, length, count);
    count = *merged;
  }
  return count;
}

std::optional<std::int64_t> require_step(const InferContext& context, std::size_t input,
                                         const Dimension& step, std::size_t entry) {
  if (!step.is_static()) return std::nullopt;
  context.require(step.value() != 0, "IR-value", {.found = "0", .expected = "another step", .input = input},
                  "step {} is 0", entry);
  return step.value();
}

namespace {

// First element of the slice when it is one piece of memory in order.
std::optional<std::size_t> single_piece(const Shape& shape, std::span<const SliceRange> ranges) {
  std::size_t axis = 0;
  while (axis < ranges.size() && ranges[axis].count == 1) ++axis;
  if (axis < ranges.size() && ranges[axis].step != 1) return std::nullopt;
  for (std::size_t behind = axis + 1; behind < ranges.size(); ++behind) {
    const SliceRange& range = ranges[behind];
    const bool whole = range.count == shape[behind] && (range.step == 1 || range.count == 1);
    if (!whole) return std::nullopt;
  }
  std::size_t first = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    first = first * static_cast<std::size_t>(shape[i]) + static_cast<std::size_t>(ranges[i].start);
  }
  return first;
}

}  // namespace

PreparedKernel prepare_slice(const PrepareContext& context, std::string_view name,
                             std::span<const SliceRange> ranges) {
  if (context.output_size() == 0) return nothing_to_do(name);
  const Shape& shape = context.shape(0);
  if (const auto first = single_piece(shape, ranges)) {
    if (auto view = view_from(context, *first)) return *std::move(view);
  }
  std::vector<std::size_t> starts;
  std::vector<std::ptrdiff_t> steps;
  std::vector<std::size_t> counts;
  for (const SliceRange& range : ranges) {
    starts.push_back(static_cast<std::size_t>(range.start));
    steps.push_back(range.step);
    counts.push_back(static_cast<std::size_t>(range.count));
  }
  const kernels::SliceCopy copy(sizes_of(shape), starts, steps, counts, moved_bytes(context));
  return moving_kernel(context, name, {0},
                       [copy](const StepMemory& memory) { copy.run(memory.inputs[0], memory.outputs[0]); });
}

}  // namespace ir::op
