// Sparse matrices as lists of entries.
#ifndef KERNELS_INDEXING_SPARSE_H_
#define KERNELS_INDEXING_SPARSE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// SparseFillEmptyRows-16. `indices` [entries, 2] holds the row and column of each entry. Checks them and
/// writes `empty` [rows], whether each row has no entry. Returns the first index (of the flattened ones) that
/// lies outside of the matrix.
IndexResult find_empty_rows(IndexView indices, std::size_t entries, std::int64_t rows, std::int64_t columns,
                            bool* empty);

/// Where entry `source` is none of the input's.
inline constexpr std::size_t kNewEntry = ~std::size_t{0};

/// The entries with one at column 0 of every empty row, by row, then column; equal places in the order given.
/// Writes as many `out_indices` pairs and `sources` (position in the input or kNewEntry) as there are entries
/// and empty rows. The indices are good, `empty` is what find_empty_rows wrote. Index: std::int32_t,
/// std::int64_t.
template <class Index>
void fill_empty_rows(const Index* indices, std::size_t entries, const bool* empty, std::size_t rows,
                     Index* out_indices, std::size_t* sources);

/// out[i] = values[sources[i]], or `default_value` for a new entry; elements of `element_size` bytes, or
/// strings.
void take_entries(const std::size_t* sources, std::size_t count, std::size_t element_size, const void* values,
                  const void* default_value, void* out);
void take_entries(const std::size_t* sources, std::size_t count, const std::string* values,
                  const std::string& default_value, std::string* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_SPARSE_H_
