// ScatterUpdate with updates of a shape that does not fit, as OpenVINO's reference implementation takes them.
#ifndef KERNELS_INDEXING_SCATTER_LOOSE_H_
#define KERNELS_INDEXING_SCATTER_LOOSE_H_

#include <cstddef>
#include <span>

#include "kernels/indexing/scatter.h"

namespace ir::kernels {

/// As `scatter_update`, but slice i of the updates is not dense: its element j, in row-major order of the
/// data's dims without the axis, is element offsets[j] + i * step of `updates`. A slice may have fewer
/// elements than one of data; the rest of that stays. `element_size` divides shape.inner_bytes. Slices are
/// written one after the other: the last one wins.
IndexResult scatter_update_loose(const ScatterShape& shape, std::span<const std::size_t> offsets,
                                 std::size_t step, std::size_t element_size, const void* data,
                                 IndexView indices, const void* updates, void* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_SCATTER_LOOSE_H_
