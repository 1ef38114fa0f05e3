// How an output plane is cut into blocks. Internal to kernels/.
#ifndef KERNELS_MATMUL_PLANE_SPLIT_H_
#define KERNELS_MATMUL_PLANE_SPLIT_H_

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {

/// A rectangle of a plane.
struct PlaneBlock {
  std::size_t row = 0;
  std::size_t rows = 0;
  std::size_t column = 0;
  std::size_t columns = 0;
};

/// What a step spreads over its workers.
struct SpreadPlanes {
  std::size_t planes = 1;
  std::size_t workers = 1;
  bool by_columns = false;  ///< blocks of whole columns serve, too
};

/// Into how many parts to cut each of `groups` groups, so that all workers get as many.
inline std::size_t even_parts(std::size_t groups, std::size_t workers) {
  constexpr std::size_t kMany = 8;  // then one group more or less makes no difference
  if (groups >= kMany * workers) return 1;
  return workers / std::gcd(workers, std::max<std::size_t>(groups, 1));
}

/// `total` things of each of `groups` groups, in as few parts as occupy all workers evenly.
inline Split fewest_parts(std::size_t total, std::size_t groups, std::size_t workers) {
  return {total, std::max<std::size_t>(divide_up(total, even_parts(groups, workers)), 1)};
}

/// `panels` of each of `groups` groups, of which these parts have as many each.
inline Split even_panels(const Split& panels, std::size_t groups, std::size_t workers) {
  const std::size_t parts = even_parts(groups, workers);
  Split even = panels;
  even.parts = std::min(divide_up(panels.parts, parts) * parts, panels.total);
  return even;
}

/// Blocks of at most about `most_vectors` vectors of `lanes` positions: pieces of a row when rows are long,
/// else whole rows, or whole columns where those are easier to share. As few as that allows, or more where
/// workers would get unequal shares.
class PlaneSplit {
 public:
  /// Of nothing.
  PlaneSplit() = default;

  /// Pieces of `columns` or less of several rows, where they are to have so many together.
  static PlaneSplit of_pieces(std::size_t height, std::size_t width, std::size_t lanes, std::size_t most_rows,
                              std::size_t columns) {
    PlaneSplit split;
    split.width_ = width;
    split.unit_ = lanes;
    split.rows_ = {height, most_rows};
    split.pieces_ = {divide_up(width, lanes), divide_up(columns, lanes)};
    return split;
  }

  PlaneSplit(std::size_t height, std::size_t width, std::size_t lanes, std::size_t most_vectors,
             const SpreadPlanes& spread);

  [[nodiscard]] std::size_t parts() const { return rows_.parts * pieces_.parts; }
  [[nodiscard]] PlaneBlock block(std::size_t part) const {
    const std::size_t row = part / pieces_.parts;
    const std::size_t piece = part % pieces_.parts;
    const std::size_t column = begin(pieces_, piece) * unit_;
    const std::size_t first_row = begin(rows_, row);
    return {first_row, begin(rows_, row + 1) - first_row, column,
            std::min(width_, begin(pieces_, piece + 1) * unit_) - column};
  }
  /// Of the largest block.
  [[nodiscard]] std::size_t max_rows() const { return rows_.largest(); }
  [[nodiscard]] std::size_t max_columns() const { return std::min(width_, pieces_.largest() * unit_); }

 private:
  /// The larger parts first, as share_begin.
  static std::size_t begin(const Split& split, std::size_t part) {
    return split.total - split.begin(split.parts - part);
  }

  std::size_t width_ = 0;
  std::size_t unit_ = 1;  ///< columns: a vector, or one
  Split rows_;
  Split pieces_;  ///< of a row, in units
};

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_PLANE_SPLIT_H_
