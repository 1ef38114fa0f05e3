#include "runtime/ops/iteration_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir_runtime/diagnostics.h"

namespace ir::op {
namespace {

// Calls `copy(in_whole, in_part, bytes)`, both in bytes, for every dense run of the slice of one iteration.
// `whole` is the shape that is cut, `element` the bytes of one element.
template <class Copy>
void for_each_run(const IterationSlices& slices, std::int64_t iteration, const Shape& whole,
                  std::int64_t element, const Copy& copy) {
  // Without elements the other dims may have any product.
  if (std::ranges::find(whole, 0) != whole.end()) return;
  std::int64_t outer = 1;
  std::int64_t inner = element;
  for (std::size_t i = 0; i < slices.axis; ++i) outer *= whole[i];
  for (std::size_t i = slices.axis + 1; i < whole.size(); ++i) inner *= whole[i];
  const std::int64_t begin = (slices.first + iteration * slices.step) * inner;
  const std::int64_t bytes = slices.part * inner;
  for (std::int64_t i = 0; i < outer; ++i)
    copy(i * whole[slices.axis] * inner + begin, i * bytes, static_cast<std::size_t>(bytes));
}

}  // namespace

IterationSlices slices_of(const Slicing& slicing, std::size_t axis, std::int64_t size) {
  const auto positive = [size](std::int64_t at) { return at < 0 ? at + size : at; };
  const std::int64_t start = positive(slicing.start);
  const std::int64_t end = positive(slicing.end);
  const bool forward = slicing.stride > 0;
  IterationSlices slices{axis, 0, slicing.stride, slicing.part_size, 0};
  if (std::min(start, end) < 0 || std::max(start, end) >= size) return slices;
  if (forward ? start > end : start < end) return slices;
  slices.iterations = (std::max(start, end) - std::min(start, end) + 1) / slicing.part_size;
  slices.first = forward ? start : start - slicing.part_size + 1;
  return slices;
}

std::size_t axis_in(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    throw Error("IR-axis", fmt::format("axis {} lies outside of rank {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

void take_slice(const IterationSlices& slices, std::int64_t iteration, const Tensor& whole, Tensor& part) {
  const auto* from = static_cast<const std::byte*>(whole.raw());
  auto* to = static_cast<std::byte*>(part.raw());
  for_each_run(slices, iteration, whole.shape(), bits_of(whole.element_type()) / 8,
               [&](std::int64_t in_whole, std::int64_t in_part, std::size_t bytes) {
                 std::memcpy(to + in_part, from + in_whole, bytes);
               });
}

Tensor concatenated(std::span<const Tensor> parts, const Slicing& slicing) {
  Shape shape = parts.front().shape();
  const std::size_t axis = axis_in(slicing.axis, shape.size());
  const auto count = static_cast<std::int64_t>(parts.size());
  if (shape[axis] != slicing.part_size) {
    throw Error("IR-value",
                fmt::format("an iteration gives a part of shape {}, but part_size is {} on axis {}",
                            to_string(shape), slicing.part_size, axis));
  }
  // Parts without elements may be many: what cannot be counted is no size of a tensor.
  shape[axis] = (Dimension(slicing.part_size) * Dimension(count)).value();
  Tensor whole(parts.front().element_type(), shape);
  const std::int64_t step = slicing.stride > 0 ? slicing.part_size : -slicing.part_size;
  const IterationSlices slices{axis, step > 0 ? 0 : -step * (count - 1), step, slicing.part_size, count};
  auto* to = static_cast<std::byte*>(whole.raw());
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor& part = parts[static_cast<std::size_t>(i)];
    if (part.shape() != parts.front().shape()) {
      throw Error("IR-value", fmt::format("iteration {} gives a part of shape {}, the first one gave {}", i,
                                          to_string(part.shape()), to_string(parts.front().shape())));
    }
    const auto* from = static_cast<const std::byte*>(part.raw());
    for_each_run(slices, i, shape, bits_of(whole.element_type()) / 8,
                 [&](std::int64_t in_whole, std::int64_t in_part, std::size_t bytes) {
                   std::memcpy(to + in_whole, from + in_part, bytes);
                 });
  }
  return whole;
}

}  // namespace ir::op
