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
             const SpreadPlanes& spread)
      : width_(width), unit_(lanes), rows_(height, 1), pieces_(divide_up(width, lanes), most_vectors) {
    const std::size_t most_rows = width == 0 ? 0 : lanes * most_vectors / width;
    if (height <= 1 || most_rows == 0) {
      pieces_ = best_split(pieces_, height, spread, [](std::size_t vectors) { return vectors; }).split;
      return;
    }
    const CostedSplit by_rows = best_split(Split(height, most_rows), 1, spread,
                                           [&](std::size_t rows) { return divide_up(rows * width, lanes); });
    rows_ = by_rows.split;
    pieces_.parts = 1;
    const std::size_t most_columns = lanes * most_vectors / height;
    if (!spread.by_columns || most_columns == 0) return;
    const CostedSplit by_columns =
        best_split(Split(width, most_columns), 1, spread,
                   [&](std::size_t columns) { return divide_up(columns * height, lanes); });
    if (by_columns.cost >= by_rows.cost) return;
    unit_ = 1;
    rows_.parts = 1;
    pieces_ = by_columns.split;
  }

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
  PlaneSplit() = default;

  /// The larger parts first, as share_begin.
  static std::size_t begin(const Split& split, std::size_t part) {
    return split.total - split.begin(split.parts - part);
  }

  struct CostedSplit {
    Split split;
    std::size_t cost = 0;
  };

  /// Cut into at least split.parts so that what a worker does with all of its blocks costs the least, counted
  /// in vectors and one for the trouble of each block. There are `times` such splits per plane.
  template <class VectorsOf>
  static CostedSplit best_split(const Split& split, std::size_t times, const SpreadPlanes& spread,
                                const VectorsOf& vectors_of) {
    constexpr std::size_t kMoreParts = 64;
    const std::size_t workers = std::max<std::size_t>(spread.workers, 1);
    const auto cost = [&](const Split& parts) {
      return cost_of_worker(parts, parts.parts * times * spread.planes, workers, vectors_of);
    };
    if (split.parts == 0) return {split, 0};
    CostedSplit best{split, cost(split)};
    Split more = split;
    while (++more.parts <= std::min(split.total, split.parts + kMoreParts)) {
      const std::size_t of_more = cost(more);
      if (of_more < best.cost) best = {more, of_more};
    }
    return best;
  }

  /// The largest share of so many blocks, as TaskStretches deals them out, or about that where they are many.
  template <class VectorsOf>
  static std::size_t cost_of_worker(const Split& split, std::size_t blocks, std::size_t workers,
                                    const VectorsOf& vectors_of) {
    constexpr std::size_t kMany = 8;
    if (blocks >= kMany * workers) return divide_up(blocks, workers) * (vectors_of(split.largest()) + 1);
    std::size_t most = 0;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      std::size_t cost = 0;
      const std::size_t end = share_begin(blocks, worker + 1, workers);
      for (std::size_t block = share_begin(blocks, worker, workers); block < end; ++block) {
        const std::size_t part = block % split.parts;
        cost += vectors_of(begin(split, part + 1) - begin(split, part)) + 1;
      }
      most = std::max(most, cost);
    }
    return most;
  }

  std::size_t width_ = 0;
  std::size_t unit_ = 1;  ///< columns: a vector, or one
  Split rows_;
  Split pieces_;  ///< of a row, in units
};

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_PLANE_SPLIT_H_
