// Blocks of terms are such that those of all rows stay in the second-level cache while columns pass by.
#include "kernels/matmul/tile_product.h"

#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/base/processor.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kWidth = TilePanels::kWidth;

/// Panels of rows of a block, of which there are several where they are many, or terms are: they are split at
/// once.
std::size_t most_row_panels(const MatrixTiles& tiles, std::size_t steps) {
  constexpr std::size_t kMostPanels = 8;
  constexpr std::size_t kMostFloats = std::size_t{1} << 21;
  return std::clamp<std::size_t>(kMostFloats / (steps * tiles.step_floats(MatrixTiles::kMost)), 1,
                                 kMostPanels);
}

}  // namespace

TileProduct::TileProduct(const GemmParams& params, const MatrixTiles& tiles, const Epilogue& epilogue,
                         const Order& order)
    : tiles_(tiles),
      params_(params),
      epilogue_(epilogue, params),
      columns_(params.n),
      workers_(params.max_threads != 0 ? params.max_threads : static_cast<std::size_t>(thread_slots())),
      room_(order.room) {
  const std::size_t steps = divide_up(params.k, tiles_.step_terms);
  const std::size_t panel_step = tiles_.step_floats(MatrixTiles::kMost);
  const std::size_t near = second_level_cache() / 2 / sizeof(float);
  row_blocks_ = Split(divide_up(params.m, kWidth), most_row_panels(tiles_, steps));
  schedule_.most_panels = order.most_panels;
  // Of a panel, more of them take up to twice as long, however few rows there are.
  constexpr std::size_t kMostOfPanel = std::size_t{1} << 15;
  const std::size_t most_floats = std::min(near / row_blocks_.largest(), kMostOfPanel);
  const std::size_t most_steps = std::max<std::size_t>(most_floats / panel_step, 1);
  schedule_.depths = Split(steps, order.most_steps != 0 ? order.most_steps : most_steps);
  shares_ = fewest_parts(columns_.count(), row_blocks_.parts, workers_);
  left_floats_ = row_blocks_.largest() * steps * panel_step;
  sum_floats_ = row_blocks_.largest() * kWidth * kWidth * schedule_.kept_panels(columns_.count());
  for (std::size_t count = 1; count <= MatrixTiles::kMost; ++count) {
    for (std::size_t step = 0; step < schedule_.depths.largest(); ++step)
      offsets_[count - 1].push_back(static_cast<std::int32_t>(step * tiles_.step_floats(count)));
  }
}

std::size_t TileProduct::scratch_bytes() const { return scratch_bytes_for(workers_ * slot_floats()); }

std::size_t TileProduct::slot_floats() const {
  return worker_stride(workers_, left_floats_ + sum_floats_ + room_);
}

void TileProduct::run(const float* a, const TileColumns& columns, const float* residual, float* out,
                      std::byte* scratch) const {
  if (params_.m == 0 || params_.n == 0) return;
  float* const slots = aligned_scratch(scratch);
  const std::size_t tasks = row_blocks_.parts * shares_.parts;
  // A tile does as much as sixteen vectors.
  const std::size_t cost = params_.m * params_.n / 64 * params_.k / (16 * tasks) + 1;
  for_each_group(row_blocks_.parts, shares_.parts, cost, workers_, [&](const GroupRange& range) {
    tiles_.begin();
    multiply(
        {a, columns, epilogue_.residual() ? residual : nullptr, out, slots + range.worker * slot_floats()},
        range.group, shares_.begin(range.first), shares_.begin(range.last), range.continues);
    tiles_.end();
  });
}

void TileProduct::multiply(const Call& call, std::size_t block, std::size_t begin, std::size_t end,
                           bool are_split) const {
  const std::size_t first_row = row_blocks_.begin(block) * kWidth;
  const TilePanels rows(std::min(params_.m, row_blocks_.begin(block + 1) * kWidth) - first_row);
  const TilePlace first{0, begin};
  if (const float* const found = call.columns.find(first))
    fetch_rows(found, 0, 1, schedule_.size(first, columns_) * tiles_.step_floats(1));
  if (!are_split) split_rows(call, first_row, rows);
  schedule_.for_each(begin, end, [&](const TilePlace& place, std::size_t kept, const TilePlace* next) {
    multiply_panel(call, first_row, rows, place, kept, next);
  });
}

/// [block of terms][panel of rows][step]
void TileProduct::split_rows(const Call& call, std::size_t first_row, const TilePanels& rows) const {
  float* to = call.slot;
  for (std::size_t depth = 0; depth < schedule_.depths.parts; ++depth) {
    for (std::size_t panel = 0; panel < rows.count(); ++panel) {
      const float* const from = call.a + (first_row + panel * kWidth) * params_.k;
      for (std::size_t step = schedule_.depths.begin(depth); step < schedule_.depths.begin(depth + 1);
           ++step) {
        const std::size_t term = step * tiles_.step_terms;
        tiles_.split_rows(from + term, params_.k, rows.size(panel),
                          std::min(tiles_.step_terms, params_.k - term), rows.tiles(panel), to);
        to += rows.tiles(panel) * tiles_.step_floats(1);
      }
    }
  }
}

/// For all panels of rows, into the `kept`-th of the sums that are kept. `next`: what comes after these
/// columns, or nullptr.
void TileProduct::multiply_panel(const Call& call, std::size_t first_row, const TilePanels& rows,
                                 const TilePlace& place, std::size_t kept, const TilePlace* next) const {
  const std::size_t column_tiles = columns_.tiles(place.panel);
  const float* const ahead = next == nullptr ? nullptr : call.columns.find(*next);
  TileSum sum;
  sum.steps = schedule_.depths.size(place.depth);
  sum.packed = call.columns.make(place, call.slot + left_floats_ + sum_floats_);
  sum.placed = call.slot + schedule_.depths.begin(place.depth) * rows.tiles() * tiles_.step_floats(1);
  sum.placed_stride = MatrixTiles::kSize;
  sum.placed_next = MatrixTiles::kFloats;
  for (std::size_t row_panel = 0; row_panel < rows.count(); ++row_panel) {
    const std::size_t row_tiles = rows.tiles(row_panel);
    float* const sums = call.slot + left_floats_ + (kept * rows.count() + row_panel) * kWidth * kWidth;
    sum.fetch_share(ahead, schedule_.size(place, columns_) * tiles_.step_floats(1), row_panel, rows.count());
    sum.offsets = offsets_[row_tiles - 1].data();
    sum.placed_part = row_tiles * MatrixTiles::kFloats;
    tiles_.multiply_placed_rows[row_tiles - 1][column_tiles - 1](sum, sums, kWidth, place.depth != 0);
    sum.placed += sum.steps * row_tiles * tiles_.step_floats(1);
    if (schedule_.is_last(place))
      finish(call, first_row + row_panel * kWidth, rows.size(row_panel), place.panel, sums);
  }
}

void TileProduct::finish(const Call& call, std::size_t row, std::size_t rows, std::size_t panel,
                         float* sums) const {
  const std::size_t column = panel * kWidth;
  Tile tile;
  tile.out = call.out + row * params_.n + column;
  tile.stride = params_.n;
  tile.columns = columns_.size(panel);
  if (call.residual != nullptr) tile.residual = call.residual + row * params_.n + column;
  epilogue_.set_up(tile, params_.bias_axis, row, column);
  if (post_in_place(tiles_, epilogue_, sums, rows, tile))
    return tiles_.move(sums, kWidth, rows, tile_of_results(tile));
  tiles_.finish(sums, kWidth, rows, tile);
  epilogue_.post_rows(tile.out, tile.stride, rows, tile.columns, 0);
}

}  // namespace ir::kernels
