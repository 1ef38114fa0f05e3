// Sums and means over rows of an embedding table, and maxima over segments of rows.
#ifndef KERNELS_INDEXING_EMBEDDING_H_
#define KERNELS_INDEXING_EMBEDDING_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// [rows, depth].
template <class T>
struct EmbeddingTable {
  const T* data = nullptr;
  std::size_t rows = 0;
  std::size_t depth = 0;
};

/// The rows of a table that are looked up, one per position.
template <class T>
struct EmbeddingLookups {
  IndexView indices;
  std::size_t positions = 0;
  /// One per position, or nullptr: the rows as they are.
  const T* weights = nullptr;
};

/// Which positions belong to which bag.
struct Bags {
  std::size_t count = 0;
  /// Positions per bag where there are no borders.
  std::size_t size = 0;
  /// [count + 1], ascending, or nullptr: bag b has the positions from borders[b] to borders[b + 1].
  const std::size_t* borders = nullptr;
  /// nullptr, or the positions in the order in which borders count them.
  const std::size_t* order = nullptr;

  [[nodiscard]] std::size_t first(std::size_t bag) const {
    return borders != nullptr ? borders[bag] : bag * size;
  }
};

enum class BagReduction : std::uint8_t { sum, mean };

/// What becomes of the rows of a bag.
struct BagRule {
  BagReduction reduction = BagReduction::sum;
  /// The row that a bag without positions is; empty: zeros.
  std::optional<std::size_t> default_row = std::nullopt;
};

/// EmbeddingBagOffsets-15, EmbeddingBagPacked-15, their Sum-3 forms and EmbeddingSegmentsSum-3: out[b] =
/// sum over the positions p of bag b of table[indices[p]] * weights[p]; for `mean` divided by the number of
/// positions, toward zero for integers. Floating types accumulate in T in the order of the positions;
/// integers wrap. Every position that a bag has must be below `lookups.positions`. Returns the first index
/// that is no row, and has then written nothing. T: float, double, (u)int8_t .. (u)int64_t. `out` [bags,
/// depth] must not overlap anything else.
template <class T>
IndexResult reduce_bags(const EmbeddingTable<T>& table, const EmbeddingLookups<T>& lookups, const Bags& bags,
                        const BagRule& rule, T* out);

/// borders of bags that start at `offsets`, the last one ending at `positions`. Writes count + 1 numbers.
/// Returns the first offset that lies below the one before it or outside of [0, positions].
IndexResult bags_from_offsets(IndexView offsets, std::size_t count, std::size_t positions,
                              std::size_t* borders);

/// Bags from the segment that each position belongs to, in any order. Writes segments + 1 borders and
/// `positions` numbers of order. Returns the first id outside of [0, segments).
IndexResult bags_from_segments(IndexView segment_ids, std::size_t positions, std::size_t segments,
                               std::size_t* borders, std::size_t* order);

/// data: [rows, depth], segment ids: [rows], out: [segments, depth].
struct SegmentShape {
  std::size_t rows = 0;
  std::size_t depth = 0;
  std::size_t segments = 0;
};

/// SegmentMax-16: the largest of the rows of each segment, `empty` where there is none. Ids ascend; rows
/// whose id is `segments` or more are left out. NaN is passed on. Returns the first id that is negative or
/// below the one before it, and has then written nothing. T: float, double, (u)int8_t .. (u)int64_t.
template <class T>
IndexResult segment_max(const SegmentShape& shape, const T* data, IndexView segment_ids, T empty, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_EMBEDDING_H_
