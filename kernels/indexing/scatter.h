// Writes by index: ScatterUpdate, ScatterElementsUpdate, ScatterNDUpdate.
//
// Each kernel first copies `data` to `out` (unless both are the same buffer), then applies the updates in
// row-major order of the indices: of several updates to one element the last wins, reductions take all in
// that order, whatever the number of threads. Indices are checked first; negative ones count from the end.
#ifndef KERNELS_INDEXING_SCATTER_H_
#define KERNELS_INDEXING_SCATTER_H_

#include <cstddef>
#include <span>

#include "kernels/base/indices.h"
#include "kernels/indexing/gather.h"

namespace ir::kernels {

/// data, out: [outer][axis][inner_bytes], indices: [indices], updates: [outer][indices][inner_bytes].
struct ScatterShape {
  std::size_t outer = 1;
  std::size_t axis = 1;
  std::size_t indices = 1;
  std::size_t inner_bytes = 1;
};

/// ScatterUpdate-3. `out` may be `data`, and must not overlap updates.
IndexResult scatter_update(const ScatterShape& shape, const void* data, IndexView indices,
                           const void* updates, void* out);

/// How updates meet what is there. `sub` is of ScatterNDUpdate-15, `mean` of ScatterElementsUpdate-12.
enum class ScatterReduction { none, sum, sub, prod, min, max, mean };

/// ScatterElementsUpdate-3/12. index_dims (of indices and updates) has the rank of data_dims and is nowhere
/// larger, `axis` excepted. `use_init_val` false: reductions leave out the original value of each element
/// that gets an update. `mean` divides the sum by the number of summands: integers round down (towards minus
/// infinity). Integer sums and products wrap. T: float, double, std::int8_t .. std::int64_t, std::uint8_t ..
/// std::uint64_t, bool (sum and max: or; prod, min and mean: and). Where NaN makes a comparison
/// undecided, min and max take the update.
template <class T>
IndexResult scatter_elements_update(std::span<const std::size_t> data_dims,
                                    std::span<const std::size_t> index_dims, std::size_t axis,
                                    ScatterReduction reduction, bool use_init_val, const T* data,
                                    IndexView indices, const T* updates, T* out);

/// ScatterNDUpdate-3/15; shape.slice_bytes is a multiple of sizeof(T), shape.batch is 1 (the op has no
/// batch_dims). reduction: any but mean. T: as above; bool: sum and max: or, sub: xor, prod
/// and min: and.
template <class T>
IndexResult scatter_nd_update(const NdShape& shape, ScatterReduction reduction, const T* data,
                              IndexView indices, const T* updates, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_SCATTER_H_
