// OneHot: a new axis with one value at an index and another one everywhere else.
#ifndef KERNELS_INDEXING_ONE_HOT_H_
#define KERNELS_INDEXING_ONE_HOT_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// What OneHot-16 does with indices in [-depth, -1]: nothing (as OneHot-1), or add depth.
enum class NegativeIndices : std::uint8_t { ignore, normalize };

/// indices: [outer, inner], out: [outer, depth, inner].
struct OneHotShape {
  std::size_t outer = 1;
  std::size_t depth = 1;
  std::size_t inner = 1;
};

/// OneHot-1 and -16: `on` where the position along depth is the index, `off` elsewhere. Indices out of range
/// set nothing. T is the bit pattern of the element: uint8_t, uint16_t, uint32_t, uint64_t. Parallel over
/// outer.
template <class T>
void one_hot(const OneHotShape& shape, NegativeIndices negative, IndexView indices, T on, T off, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_ONE_HOT_H_
