// What products of compressed weights share, whatever their codes. Internal to kernels/.
#ifndef KERNELS_MATMUL_COMPRESSED_ROWS_H_
#define KERNELS_MATMUL_COMPRESSED_ROWS_H_

#include <cstddef>

namespace ir::kernels {

/// Neighbouring groups of all rows of weights, or part of one group.
struct TermBlock {
  std::size_t group = 0;
  std::size_t groups = 0;
  std::size_t term = 0;   ///< the first one of each group
  std::size_t terms = 0;  ///< of each group
};

/// Rows of weights.
struct WeightRows {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Rows that are read as a whole lie one behind the other, as a stream. Else what is fetched is the same part
// of the row that comes so many rows later.
inline constexpr std::size_t kRowsOfCodesAhead = 3;
// Rows of terms that meet a row of weights at once.
inline constexpr std::size_t kAtOnce = 4;
// Rows of weights that meet a block of terms, and make a task.
inline constexpr std::size_t kColumns = 64;

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_COMPRESSED_ROWS_H_
