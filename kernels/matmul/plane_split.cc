#include "kernels/matmul/plane_split.h"

#include <limits>

namespace ir::kernels {
namespace {

/// Rows, columns or pieces of a row, of so many positions each.
struct Strips {
  std::size_t positions = 0;
  std::size_t lanes = 1;

  /// That a block of so many takes, and one for the trouble of it.
  [[nodiscard]] std::size_t vectors(std::size_t count) const {
    return divide_up(count * positions, lanes) + 1;
  }
};

/// The largest share of so many blocks, as TaskStretches deals them out, or about that where they are many.
std::size_t cost_of_worker(const Split& split, std::size_t blocks, std::size_t workers,
                           const Strips& strips) {
  constexpr std::size_t kMany = 8;
  if (blocks >= kMany * workers) return divide_up(blocks, workers) * strips.vectors(split.largest());
  std::size_t most = 0;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    std::size_t cost = 0;
    const std::size_t end = share_begin(blocks, worker + 1, workers);
    for (std::size_t block = share_begin(blocks, worker, workers); block < end; ++block) {
      // The larger parts first, as share_begin.
      cost += strips.vectors(split.size(split.parts - block % split.parts - 1));
    }
    most = std::max(most, cost);
  }
  return most;
}

struct CostedSplit {
  Split split;
  std::size_t cost = 0;
};

/// Cut into at least split.parts so that what a worker does with all of its blocks costs the least. There are
/// `times` such splits per plane.
CostedSplit best_split(const Split& split, std::size_t times, const SpreadPlanes& spread,
                       const Strips& strips) {
  constexpr std::size_t kMoreParts = 64;
  const std::size_t workers = std::max<std::size_t>(spread.workers, 1);
  if (split.parts == 0) return {split, 0};
  CostedSplit best{split, std::numeric_limits<std::size_t>::max()};
  Split more = split;
  const std::size_t most = std::max(std::min(split.total, split.parts + kMoreParts), split.parts);
  for (; more.parts <= most; ++more.parts) {
    const std::size_t cost = cost_of_worker(more, more.parts * times * spread.planes, workers, strips);
    if (cost < best.cost) best = {more, cost};
  }
  return best;
}

}  // namespace

PlaneSplit::PlaneSplit(std::size_t height, std::size_t width, std::size_t lanes, std::size_t most_vectors,
                       const SpreadPlanes& spread)
    : width_(width), unit_(lanes), rows_(height, 1), pieces_(divide_up(width, lanes), most_vectors) {
  const std::size_t most_rows = width == 0 ? 0 : lanes * most_vectors / width;
  if (height <= 1 || most_rows == 0) {
    pieces_ = best_split(pieces_, height, spread, {lanes, lanes}).split;
    return;
  }
  const CostedSplit by_rows = best_split(Split(height, most_rows), 1, spread, {width, lanes});
  rows_ = by_rows.split;
  pieces_.parts = 1;
  const std::size_t most_columns = lanes * most_vectors / height;
  if (!spread.by_columns || most_columns == 0) return;
  const CostedSplit by_columns = best_split(Split(width, most_columns), 1, spread, {height, lanes});
  if (by_columns.cost >= by_rows.cost) return;
  unit_ = 1;
  rows_.parts = 1;
  pieces_ = by_columns.split;
}

}  // namespace ir::kernels
