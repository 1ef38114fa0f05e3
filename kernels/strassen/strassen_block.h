// The inner loops of a product in Strassen's form: row panels of each slice of the rows x a group of column
// panels, one of each slice of the columns, of one block of k. Internal to kernels/.
#ifndef KERNELS_STRASSEN_STRASSEN_BLOCK_H_
#define KERNELS_STRASSEN_STRASSEN_BLOCK_H_

#include <array>
#include <cstddef>

#include "kernels/matmul/gemm_kernels.h"
#include "kernels/strassen/strassen.h"

namespace ir::kernels {

/// A left operand in place: its rows and its terms are so far apart, either of them side by side.
struct OperandRows {
  const float* rows = nullptr;
  std::size_t row_stride = 0;
  std::size_t term_stride = 1;

  /// The same from term `term` on.
  [[nodiscard]] OperandRows from(std::size_t term) const {
    return {rows + term * term_stride, row_stride, term_stride};
  }
};

/// Row panels of a left operand, packed, one behind the other.
struct PackedRows {
  const float* rows = nullptr;
};

/// The left operands of seven products, named as in strassen.h.
template <class Rows>
struct SevenOperands {
  Rows a11, a12, a22, s1, s2, s3, s4;
};

/// Those of rows that are not added to others: the halves of their terms.
template <class Rows>
struct HalvedRows {
  Rows a1, a2;
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
void multiply_panels(const GemmKernels& kernels, const RowPanels& panels, std::size_t depth,
                     std::size_t vectors, const OperandRows& a, const float* b, Tile& tile);
/// The same; `tile.fetch` moves on. With `tile.minus`, the first of the row panels is one that subtracts.
void multiply_panels(const GemmKernels& kernels, const RowPanels& panels, std::size_t depth,
                     std::size_t vectors, const PackedRows& a, const float* b, Tile& tile);

/// Where the quarters of results go.
struct StrassenOutput {
  /// Of the first row and column. All columns of the left half exist, and of the right one `right_columns`,
  /// more than those of all its vectors but one.
  Tile tile;
  std::size_t right_columns = 0;
  std::size_t right = 0;      ///< floats from the left half to the right one
  std::size_t lower_row = 0;  ///< first row of the lower half, counted from that of the upper one
};

struct StrassenBlock {
  std::size_t slices = 2;
  std::size_t depth = 0;    ///< terms of a slice
  std::size_t vectors = 0;  ///< of a slice of the columns
  /// By slice of the terms, the panels of columns one behind the other. Where columns are alike, t1 has the
  /// place of b12, also within the quarters.
  std::array<const float*, kMostSlices> b = {};
  bool columns_alike = false;
  StrassenOutput output;
  /// What is read as `b` after these, of which every panel of rows fetches `fetch_step` floats per term.
  std::array<const float*, kMostSlices> next = {};
  std::size_t fetch_step = 0;
  float* room = nullptr;  ///< strassen_room() floats
};

/// Floats that a block works with, for up to `rows` rows of a slice.
std::size_t strassen_room(std::size_t slices, std::size_t depth, std::size_t width, std::size_t rows);

/// What every panel of rows fetches per term, so that `next` has come when the products of a block are made.
std::size_t strassen_fetch_step(const StrassenBlock& block, std::size_t panels, std::size_t lanes);

// `panels` are those of a slice of the rows; the block begins with the first of them. Columns must be alike
// for seven products.
void multiply_block(const GemmKernels& kernels, const StrassenKernels& strassen, const RowPanels& panels,
                    const SevenOperands<PackedRows>& a, const StrassenBlock& block);
void multiply_block(const GemmKernels& kernels, const StrassenKernels& strassen, const RowPanels& panels,
                    const SevenOperands<SevenOperands<PackedRows>>& a, const StrassenBlock& block);
/// Rows as usual, of as many slices of the terms as the block has.
void multiply_block_as_usual(const GemmKernels& kernels, const StrassenKernels& strassen,
                             const RowPanels& panels, const OperandRows& a, const StrassenBlock& block);

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_STRASSEN_BLOCK_H_
