// data[start:stop:step]: the arithmetic that StridedSlice, Slice and SliceScatter share.
#ifndef RUNTIME_OPS_SLICING_H_
#define RUNTIME_OPS_SLICING_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// Bounds that stand for "from where the axis begins" and "to where it ends", in the direction of the step.
constexpr std::int64_t open_start(std::int64_t step) {
  return step < 0 ? std::numeric_limits<std::int64_t>::max() : 0;
}
constexpr std::int64_t open_stop(std::int64_t step) {
  return step < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

/// The elements start, start + step, ... (`count` of them) of an axis; all lie in it. A single element has
/// step 1.
struct SliceRange {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Bounds count from the end when negative and are then clamped to the axis: to [0, dim] with a positive
/// step; to [0, dim - 1] (start) and [-1, dim] (stop) with a negative one. `dim` >= 0, `step` != 0.
SliceRange resolve_slice(std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step);

/// What is known of a slice of one axis. Without a step nothing is known of it but that it is not 0.
struct SliceBounds {
  Dimension start;
  Dimension stop;
  std::optional<std::int64_t> step;
};

/// Every count that `resolve_slice` may give for these intervals.
Dimension sliced_dim(const Dimension& dim, const SliceBounds& bounds);

/// "[1:-1:2] of 10: ceil((9 - 1) / 2) = 4"; empty when something is not known.
std::string slice_rule(const Dimension& dim, const SliceBounds& bounds);

/// The number of entries that the integer vectors from input `first` on have in common.
Dimension slice_entry_count(const InferContext& context, std::size_t first);

/// A step, entry number `entry` of input `input`, that must not be 0; when it is known.
std::optional<std::int64_t> require_step(const InferContext& context, std::size_t input,
                                         const Dimension& step, std::size_t entry);

/// Output 0 as the slice of input 0 with one range per axis, whatever the rank of the output: a view where
/// the slice is one piece of memory.
PreparedKernel prepare_slice(const PrepareContext& context, std::string_view name,
                             std::span<const SliceRange> ranges);

}  // namespace ir::op

#endif  // RUNTIME_OPS_SLICING_H_
