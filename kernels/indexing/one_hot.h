// OneHot: a new axis with one value at an index and another one everywhere else.
#ifndef KERNELS_INDEXING_ONE_HOT_H_
#define KERNELS_INDEXING_ONE_HOT_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

/// What OneHot-16 does with indices in [-depth, -1]: nothing (as OneHot-1), or add depth.
enum class NegativeIndices : std::uint8_t { ignore, normalize };

/// OneHot-1 and -16: `indices` [outer, inner] -> `out` [outer, depth, inner], `on` where the position along
/// depth is the index, `off` elsewhere. Indices out of range set nothing. T is the bit pattern of the
/// element: uint8_t, uint16_t, uint32_t, uint64_t; Index: (u)int8_t .. (u)int64_t. Parallel over outer.
template <class Index, class T>
void one_hot(const Index* indices, T* out, std::size_t outer, std::size_t depth, std::size_t inner, T on,
             T off, NegativeIndices negative = NegativeIndices::ignore);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_ONE_HOT_H_
