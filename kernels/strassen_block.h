// The inner loops of a product in Strassen's form: pairs of row panels x a pair of column panels of one block
// of k. Internal to kernels/.
#ifndef KERNELS_STRASSEN_BLOCK_H_
#define KERNELS_STRASSEN_BLOCK_H_

#include <cstddef>

#include "kernels/gemm_kernels.h"
#include "kernels/strassen.h"

namespace ir::kernels {

/// Rows of a left operand, `stride` apart.
struct OperandRows {
  const float* rows = nullptr;
  std::size_t stride = 0;
};

/// Consecutive row panels of a split.
struct RowPanels {
  const Split& panels;
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] std::size_t count() const { return last - first; }
  [[nodiscard]] std::size_t rows() const { return panels.begin(last) - panels.begin(first); }
};

/// `a`, which begins with the first of the row panels, x one packed panel of columns, `vectors` wide.
/// `tile.fetch` moves on.
void multiply_panels(const GemmKernels& kernels, const RowPanels& panels, std::size_t depth,
                     std::size_t vectors, const OperandRows& a, const float* b, Tile& tile);

/// Both halves of some rows against both halves of a pair of column panels. Quarters and sums are named as in
/// strassen.h.
struct StrassenBlock {
  std::size_t depth = 0;    ///< of a half
  std::size_t vectors = 0;  ///< of a half of the columns
  OperandRows a11, a12, a22, s1, s2, s3, s4;
  /// Of b12 and t1, the other one is nullptr: without t1, there are no seven products.
  const float *b11 = nullptr, *b12 = nullptr, *t1 = nullptr, *b21 = nullptr, *b22 = nullptr;
  /// Room for a panel of columns, which stays in the first-level cache from sum to sum.
  float* t = nullptr;
  /// Room for [rows of a half][vectors * lanes] each.
  float *u = nullptr, *u3 = nullptr, *z = nullptr;
  /// Of the first row and column. All columns of the left half exist, and of the right one `right_columns`,
  /// more than vectors - 1 vectors of them.
  Tile tile;
  std::size_t right_columns = 0;
  /// What is read as b11 and t1, and as b21 and b22, after these: twice a panel each, of which every panel of
  /// rows fetches tile.fetch_step floats per term.
  const float *next_upper = nullptr, *next_lower = nullptr;
  std::size_t lower_row = 0;  ///< first row of the lower half, counted from that of the upper one
};

/// The seven products. `panels` are those of a half of the rows; the block begins with the first of them.
void multiply_seven(const GemmKernels& kernels, const StrassenKernels& strassen, const RowPanels& panels,
                    const StrassenBlock& block);

/// Rows that are not added to others, as usual: a1 and a2 are the halves of their terms. `u` has room for
/// them.
void multiply_single(const GemmKernels& kernels, const RowPanels& panels, const OperandRows& a1,
                     const OperandRows& a2, const StrassenBlock& block);

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_BLOCK_H_
