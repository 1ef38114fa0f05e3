// How a product in Strassen's form is cut. Internal to kernels/.
#ifndef KERNELS_STRASSEN_STRASSEN_SHAPE_H_
#define KERNELS_STRASSEN_STRASSEN_SHAPE_H_

#include <algorithm>
#include <cstddef>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// Panels of one slice of the columns, in vectors: full ones, but for the last.
struct SlicePanels {
  std::size_t vectors = 0;
  std::size_t most = 1;

  [[nodiscard]] std::size_t count() const { return divide_up(vectors, most); }
  [[nodiscard]] std::size_t begin(std::size_t panel) const { return std::min(panel * most, vectors); }
  [[nodiscard]] std::size_t size(std::size_t panel) const { return begin(panel + 1) - begin(panel); }
};

/// How many products of slices there are.
inline constexpr std::size_t products_of(std::size_t slices) { return slices == 2 ? 7 : 49; }

/// Rows, columns and terms in so many slices, 2 for each level. Slices of the rows lie one behind the other;
/// those of columns and terms take turns: a panel of each slice makes a group of columns, a part of each
/// slice a block of terms. Rows and columns that belong to no slice are multiplied as usual.
struct StrassenShape {
  StrassenShape(const GemmKernels& gemm, const GemmParams& params, std::size_t slice_count)
      : slices(slice_count),
        rows(slice_of_rows(gemm, params.m, slice_count), gemm.max_rows),
        columns{divide_up(params.n, gemm.lanes) / slice_count, gemm.max_vectors},
        depths(params.k / slice_count, std::min(gemm.block_depth, kMostDepth)),

        single_rows(params.m - slice_count * rows.total),
        grouped_columns(std::min(slice_count * columns.vectors * gemm.lanes, params.n)),
        single_columns(params.n - grouped_columns),
        lanes(gemm.lanes) {}

  [[nodiscard]] std::size_t width(std::size_t panel) const { return columns.size(panel) * lanes; }
  /// The first one of a group, of which the last one may have more lanes than columns.
  [[nodiscard]] std::size_t column(std::size_t panel) const { return slices * columns.begin(panel) * lanes; }
  [[nodiscard]] std::size_t most_rows() const { return rows.largest(); }
  [[nodiscard]] std::size_t most_depth() const { return depths.largest(); }
  /// The first term of a slice of a part.
  [[nodiscard]] std::size_t term(std::size_t part, std::size_t slice = 0) const {
    return slices * depths.begin(part) + slice * depths.size(part);
  }

  static constexpr std::size_t kMostDepth = 256;

  std::size_t slices;
  Split rows;  ///< of a slice
  SlicePanels columns;
  Split depths;  ///< terms of a slice
  std::size_t single_rows;
  std::size_t grouped_columns;
  std::size_t single_columns;
  std::size_t lanes;

 private:
  /// Whole panels, or all rows that can be shared out: whichever costs less with the rows that are left.
  static std::size_t slice_of_rows(const GemmKernels& kernels, std::size_t rows, std::size_t slices) {
    const auto cost = [&](std::size_t of_slice) {
      return products_of(slices) * cost_of_rows(kernels, of_slice) +
             slices * slices * cost_of_rows(kernels, rows - slices * of_slice);
    };
    const std::size_t whole = rows / (slices * kernels.max_rows) * kernels.max_rows;
    return cost(whole) <= cost(rows / slices) ? whole : rows / slices;
  }
  /// In half rows. Panels that are not full take half a row more than they have.
  static std::size_t cost_of_rows(const GemmKernels& kernels, std::size_t rows) {
    std::size_t cost = 2 * rows;
    for (const auto& [size, parts] : kernels.row_panels(rows).sizes())
      cost += size < kernels.max_rows ? parts : 0;
    return cost;
  }
};

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_STRASSEN_SHAPE_H_
