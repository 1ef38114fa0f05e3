// NonZero: where a tensor is not zero.
#ifndef KERNELS_INDEXING_NONZERO_H_
#define KERNELS_INDEXING_NONZERO_H_

#include <cstddef>
#include <span>
#include <vector>

namespace ir::kernels {

/// How many elements of consecutive blocks differ from zero (NaN does, -0 does not): what `nonzero_positions`
/// needs to write in parallel. One entry per block; the blocks depend on `count` only. T: float, double,
/// (u)int8_t .. (u)int64_t; a boolean tensor is uint8_t.
template <class T>
std::vector<std::size_t> count_nonzero(const T* in, std::size_t count);

/// NonZero-3: the coordinates of all elements that differ from zero, in row-major order. in: dense, `dims`;
/// `counts` as count_nonzero gave it for the same elements, n their sum; out: [dims.size()][n], row r holds
/// the coordinates along axis r. Index: std::int32_t or std::int64_t. T as above.
template <class T, class Index>
void nonzero_positions(const T* in, std::span<const std::size_t> dims, std::span<const std::size_t> counts,
                       Index* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_NONZERO_H_
