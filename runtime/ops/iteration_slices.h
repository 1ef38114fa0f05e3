// The slices that iterations of Loop and TensorIterator take of a value, and put together to one.
#ifndef RUNTIME_OPS_ITERATION_SLICES_H_
#define RUNTIME_OPS_ITERATION_SLICES_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "ir_runtime/subgraph.h"

namespace ir::op {

/// A `Slicing` applied to an axis of known size: iteration i covers the `part` elements from first + i * step
/// on.
struct IterationSlices {
  std::size_t axis = 0;
  std::int64_t first = 0;
  std::int64_t step = 0;
  std::int64_t part = 1;
  std::int64_t iterations = 0;
};

/// Whether both ends of the range are elements of an axis of `size`; nothing is asked of an empty axis.
inline bool lies_in(const Slicing& slicing, std::int64_t size) {
  const auto is_element = [size](std::int64_t at) { return at >= -size && at < size; };
  return size == 0 || (is_element(slicing.start) && is_element(slicing.end));
}

/// As OpenVINO's TensorIterator: start and end are both included, negative ones count from the end of the
/// axis, a negative stride goes from a high start to a low end. No iterations when the range is empty, runs
/// against the stride, or does not lie in the axis. Precondition: part_size >= 1, stride is part_size or
/// -part_size.
inline IterationSlices slices_of(const Slicing& slicing, std::size_t axis, std::int64_t size) {
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

/// `axis` made non-negative. Throws Error `IR-axis` when a value of that rank has no such axis.
inline std::size_t axis_in(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    throw Error("IR-axis", fmt::format("axis {} lies outside of rank {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// Calls `copy(in_whole, in_part, bytes)`, both in bytes, for every dense run of the slice of one iteration.
/// `whole` is the shape that is cut, `element` the bytes of one element.
template <class Copy>
void for_each_run(const IterationSlices& slices, std::int64_t iteration, const Shape& whole,
                  std::int64_t element, Copy&& copy) {
  std::int64_t outer = 1;
  std::int64_t inner = element;
  for (std::size_t i = 0; i < slices.axis; ++i) outer *= whole[i];
  for (std::size_t i = slices.axis + 1; i < whole.size(); ++i) inner *= whole[i];
  const std::int64_t begin = (slices.first + iteration * slices.step) * inner;
  const std::int64_t bytes = slices.part * inner;
  if (bytes == 0) return;
  for (std::int64_t i = 0; i < outer; ++i)
    copy(i * whole[slices.axis] * inner + begin, i * bytes, static_cast<std::size_t>(bytes));
}

/// Copies the slice of one iteration to `part`, a tensor of the slice's shape.
inline void take_slice(const IterationSlices& slices, std::int64_t iteration, const Tensor& whole,
                       Tensor& part) {
  const auto* from = static_cast<const std::byte*>(whole.raw());
  auto* to = static_cast<std::byte*>(part.raw());
  for_each_run(slices, iteration, whole.shape(), bits_of(whole.element_type()) / 8,
               [&](std::int64_t in_whole, std::int64_t in_part, std::size_t bytes) {
                 std::memcpy(to + in_part, from + in_whole, bytes);
               });
}

/// Puts what the iterations gave (at least one) together along an axis, in reverse when the stride is
/// negative. Throws Error `IR-value` when the parts differ in shape or have another size than `part_size`
/// there.
inline Tensor concatenated(const std::vector<Tensor>& parts, const Slicing& slicing) {
  Shape shape = parts.front().shape();
  const std::size_t axis = axis_in(slicing.axis, shape.size());
  const auto count = static_cast<std::int64_t>(parts.size());
  if (shape[axis] != slicing.part_size) {
    throw Error("IR-value",
                fmt::format("an iteration gives a part of shape {}, but part_size is {} on axis {}",
                            to_string(shape), slicing.part_size, axis));
  }
  shape[axis] *= count;
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

#endif  // RUNTIME_OPS_ITERATION_SLICES_H_
