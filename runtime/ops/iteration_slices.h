// The slices that iterations of Loop and TensorIterator take of a value, and put together to one.
#ifndef RUNTIME_OPS_ITERATION_SLICES_H_
#define RUNTIME_OPS_ITERATION_SLICES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir_runtime/subgraph.h"
#include "ir_runtime/tensor.h"

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

/// As OpenVINO's TensorIterator: start and end are both included, negative ones count from the end of the
/// axis, a negative stride goes from a high start to a low end. No iterations when the range is empty or runs
/// against the stride. Precondition: part_size >= 1, stride is part_size or -part_size.
IterationSlices slices_of(const Slicing& slicing, std::size_t axis, std::int64_t size);

/// `axis` made non-negative. Throws Error `IR-axis` when a value of that rank has no such axis.
std::size_t axis_in(std::int64_t axis, std::size_t rank);

/// Copies the slice of one iteration to `part`, a tensor of the slice's shape. Elements are whole bytes.
void take_slice(const IterationSlices& slices, std::int64_t iteration, const Tensor& whole, Tensor& part);

/// Puts what the iterations gave (at least one) together along an axis, in reverse when the stride is
/// negative. Throws Error `IR-value` when the parts differ in shape or have another size than `part_size`
/// there. Elements are whole bytes.
Tensor concatenated(std::span<const Tensor> parts, const Slicing& slicing);

}  // namespace ir::op

#endif  // RUNTIME_OPS_ITERATION_SLICES_H_
