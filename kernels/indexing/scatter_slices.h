// Internal to scatter: slices of the data that are replaced, whatever is in them.
#ifndef KERNELS_INDEXING_SCATTER_SLICES_H_
#define KERNELS_INDEXING_SCATTER_SLICES_H_

#include "kernels/indexing/nd_offsets.h"

namespace ir::kernels {

/// Copies the slices of `updates` to where they belong in `out`, one after the other: the last one wins.
void assign_slices(const NdShape& shape, const NdOffsets& offsets, const void* updates, void* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_SCATTER_SLICES_H_
