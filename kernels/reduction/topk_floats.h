// Internal to top_k: where the best of many floats are, found by vectors.
#ifndef KERNELS_REDUCTION_TOPK_FLOATS_H_
#define KERNELS_REDUCTION_TOPK_FLOATS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/reduction/topk.h"

namespace ir::kernels {

/// Up to this k, candidates live in a sorted list that most elements are only compared with.
constexpr std::size_t kSmallK = 32;

/// The same for rows of floats, of which few elements get as far as the list.
constexpr std::size_t kSmallKOfRows = 128;

/// Columns that are ranked together.
constexpr std::size_t kTopKColumns = 64;

/// The first of row[begin, count) that ranks before `bound`, or `count`.
std::size_t find_better(TopKMode mode, const float* row, std::size_t begin, std::size_t count, float bound);

/// The best `k` <= kSmallKOfRows of the elements of a row up to the one whose number it returns, best first:
/// the order of an element above its position, to be compared without a sign. That number is `count` except
/// where many elements are about as good as the k-th; what comes after may hold better ones.
/// 0: most of the row is the same, and nothing was looked for. `best` has room for k + 1.
std::size_t best_of_row(TopKMode mode, const float* row, std::size_t count, std::size_t k,
                        std::uint64_t* best);

/// For each of `columns` <= kTopKColumns adjacent columns of `count` elements, `step` apart, the positions of
/// its best `k` <= kSmallK, best first: positions[rank * kTopKColumns + column], on a line of a cache.
void best_of_columns(TopKMode mode, const float* first, std::size_t step, std::size_t count,
                     std::size_t columns, std::size_t k, std::int32_t* positions);

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_TOPK_FLOATS_H_
