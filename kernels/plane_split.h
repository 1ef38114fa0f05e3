// How an output plane is cut into blocks. Internal to kernels/.
#ifndef KERNELS_PLANE_SPLIT_H_
#define KERNELS_PLANE_SPLIT_H_

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/gemm_kernels.h"

namespace ir::kernels {

/// A rectangle of a plane.
struct PlaneBlock {
  std::size_t row = 0;
  std::size_t rows = 0;
  std::size_t column = 0;
  std::size_t columns = 0;
};

/// Blocks of at most about `most_vectors` vectors of `lanes` positions: pieces of a row when rows are long,
/// else whole rows.
struct PlaneSplit {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t lanes = 1;
  std::size_t rows = 1;  ///< per block, the last one may have less
  std::size_t row_blocks = 0;
  Split column_vectors;  ///< of a row

  PlaneSplit(std::size_t plane_height, std::size_t plane_width, std::size_t vector_lanes,
             std::size_t most_vectors)
      : height(plane_height),
        width(plane_width),
        lanes(vector_lanes),
        column_vectors(divide_up(plane_width, vector_lanes), most_vectors) {
    const std::size_t limit = lanes * most_vectors;
    std::size_t best = std::numeric_limits<std::size_t>::max();
    for (std::size_t candidate = 1; candidate <= height && candidate * width <= limit; ++candidate) {
      // Vectors to compute, and one for the trouble of each block.
      const std::size_t blocks = divide_up(height, candidate);
      const std::size_t last = height - (blocks - 1) * candidate;
      const std::size_t cost =
          (blocks - 1) * (divide_up(candidate * width, lanes) + 1) + divide_up(last * width, lanes) + 1;
      if (cost <= best) {
        best = cost;
        rows = candidate;
      }
    }
    row_blocks = divide_up(height, rows);
  }

  [[nodiscard]] std::size_t parts() const { return row_blocks * column_vectors.parts; }
  [[nodiscard]] PlaneBlock block(std::size_t part) const {
    const std::size_t piece = part % column_vectors.parts;
    const std::size_t row = part / column_vectors.parts * rows;
    const std::size_t column = column_vectors.begin(piece) * lanes;
    return {row, std::min(rows, height - row), column,
            std::min(width, column_vectors.begin(piece + 1) * lanes) - column};
  }
  [[nodiscard]] std::size_t max_columns() const {
    std::size_t columns = 0;
    for (std::size_t i = 0; i < column_vectors.parts; ++i) columns = std::max(columns, block(i).columns);
    return columns;
  }
};

}  // namespace ir::kernels

#endif  // KERNELS_PLANE_SPLIT_H_
