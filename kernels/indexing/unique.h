// Unique: the distinct slices of a tensor along an axis.
#ifndef KERNELS_INDEXING_UNIQUE_H_
#define KERNELS_INDEXING_UNIQUE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace ir::kernels {

/// Slices of a dense tensor [outer, axis, inner] along its middle axis. A tensor without an axis is [1,
/// elements, 1].
struct SlicedShape {
  std::size_t outer = 1;
  std::size_t axis = 1;
  std::size_t inner = 1;
};

/// The distinct slices, in the order of the output.
struct DistinctSlices {
  /// For each distinct slice where it is first, and how many equal it.
  std::vector<std::size_t> firsts;
  std::vector<std::size_t> counts;
  /// For each slice which of the distinct ones it equals.
  std::vector<std::size_t> matches;
};

/// Unique-10: distinct slices in ascending order (of their first elements that differ; NaN is above every
/// number) when `sorted`, else in the order of their first occurrence. -0 equals +0, NaN equals nothing. Time
/// grows as axis * log(axis) comparisons of slices, that of single elements as their number. T: float,
/// double, (u)int8_t .. (u)int64_t.
template <class T>
DistinctSlices find_distinct_slices(const T* in, const SlicedShape& shape, bool sorted);

/// Copies the slices at `positions` of the axis to `out` [outer, positions.size(), inner]. T as above.
template <class T>
void copy_slices(const T* in, const SlicedShape& shape, std::span<const std::size_t> positions, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_UNIQUE_H_
