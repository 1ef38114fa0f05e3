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

/// Panels of rows or columns, and parts of them.
struct Dealt {
  const TilePanels& panels;
  Split parts;

  [[nodiscard]] std::size_t most_tiles() const {
    // The last panel may be half of one.
    const std::size_t last =
        parts.size(parts.parts - 1) * MatrixTiles::kMost - panels.tiles() % MatrixTiles::kMost;
    return parts.parts == 1 ? last : std::max(last, parts.size(parts.parts - 2) * MatrixTiles::kMost);
  }
};

/// About the cycles of the busiest worker.
double cycles_of(const MatrixTiles& tiles, std::size_t steps, const Dealt& rows, const Dealt& columns) {
  // Of a float: rows are split, some of what other workers made; columns come from memory while others are
  // multiplied.
  constexpr double kSplitting = 1.2;
  constexpr double kReading = 1;
  const std::size_t row_tiles = rows.most_tiles();
  const std::size_t column_tiles = columns.most_tiles();
  const auto floats = [&](std::size_t count) {
    return static_cast<double>(count * steps * tiles.step_floats(1));
  };
  return std::max(tile_product_cost(tiles, row_tiles, column_tiles, steps), kReading * floats(column_tiles)) +
         kSplitting * floats(row_tiles);
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
  if (params.m == 0 || params.n == 0) return;
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
  deal_out(order.room != 0);
  // Where blocks of terms come once only.
  splits_late_ = shares_.largest() <= schedule_.most_panels;
  left_floats_ = row_blocks_.largest() * (splits_late_ ? schedule_.depths.largest() : steps) * panel_step;
  sum_floats_ = row_blocks_.largest() * kWidth * kWidth * schedule_.kept_panels(columns_.count());
  for (std::size_t count = 1; count <= MatrixTiles::kMost; ++count) {
    for (std::size_t step = 0; step < schedule_.depths.largest(); ++step)
      offsets_[count - 1].push_back(static_cast<std::int32_t>(step * tiles_.step_floats(count)));
  }
}

/// Workers share the columns, or rows: for that, blocks of them may be smaller. Columns that are made are
/// made once.
void TileProduct::deal_out(bool makes_columns) {
  const auto shares_for = [&](const Split& blocks) {
    return fewest_parts(columns_.count(), blocks.parts, workers_);
  };
  shares_ = shares_for(row_blocks_);
  const Split more_blocks(row_blocks_.total, divide_up(row_blocks_.total, workers_));
  if (makes_columns || more_blocks.parts <= row_blocks_.parts) return;
  const Split fewer_shares = shares_for(more_blocks);
  const TilePanels rows(params_.m);
  const auto cycles = [&](const Split& blocks, const Split& shares) {
    return cycles_of(tiles_, steps(), {rows, blocks}, {columns_, shares});
  };
  if (cycles(more_blocks, fewer_shares) >= cycles(row_blocks_, shares_)) return;
  row_blocks_ = more_blocks;
  shares_ = fewer_shares;
}

std::size_t TileProduct::scratch_bytes() const { return scratch_bytes_for(workers_ * slot_floats()); }

std::size_t TileProduct::slot_floats() const {
  return worker_stride(workers_, left_floats_ + sum_floats_ + room_);
}

void TileProduct::run(const float* a, const TileColumns& columns, const float* residual, float* out,
                      std::byte* scratch) const {
  if (params_.m == 0 || params_.n == 0) return;
  const Call call{a, columns, epilogue_.residual() ? residual : nullptr, out};
  float* const slots = aligned_scratch(scratch);
  const std::size_t tasks = row_blocks_.parts * shares_.parts;
  const double cycles = tile_product_cost(tiles_, TilePanels(params_.m).tiles(), columns_.tiles(), steps());
  const std::size_t cost = static_cast<std::size_t>(cycles) / tasks + 1;
  for_each_group(row_blocks_.parts, shares_.parts, cost, workers_, [&](const GroupRange& range) {
    tiles_.begin();
    multiply(call, range, slots + range.worker * slot_floats());
    tiles_.end();
  });
}

/// Steps [begin, end) of a panel of rows.
void TileProduct::split(const Call& call, const Left& left, std::size_t panel, std::size_t begin,
                        std::size_t end) const {
  const float* const from = call.a + (left.first_row + panel * kWidth) * params_.k;
  const std::size_t tiles = left.rows.tiles(panel);
  for (std::size_t step = begin; step < end; ++step) {
    const std::size_t depth = schedule_.depths.part_of(step);
    const std::size_t first = schedule_.depths.begin(depth);
    const std::size_t before = (first - left.first_step) * left.rows.tiles() +
                               panel * MatrixTiles::kMost * schedule_.depths.size(depth) +
                               (step - first) * tiles;
    const std::size_t term = step * tiles_.step_terms;
    tiles_.split_rows(from + term, params_.k, left.rows.size(panel),
                      std::min(tiles_.step_terms, params_.k - term), tiles,
                      left.split + before * tiles_.step_floats(1));
  }
}

void TileProduct::multiply(const Call& call, const GroupRange& range, float* slot) const {
  const std::size_t first_row = row_blocks_.begin(range.group) * kWidth;
  const std::size_t end_row = std::min(params_.m, row_blocks_.begin(range.group + 1) * kWidth);
  Left left{first_row, TilePanels(end_row - first_row), slot};
  float* const sums = slot + left_floats_;
  const TilePlace first{0, shares_.begin(range.first)};
  if (const float* const found = call.columns.find(first))
    fetch_rows(found, 0, 1, schedule_.size(first, columns_) * tiles_.step_floats(1));
  const bool splits_again = splits_late_ && schedule_.depths.parts > 1;
  bool are_split = range.continues && !splits_again;
  const auto body = [&](const TilePlace& place, std::size_t kept, const TilePlace* next) {
    if (!are_split || (splits_again && kept == 0)) {
      if (splits_again) left.first_step = schedule_.depths.begin(place.depth);
      const std::size_t end = splits_again ? schedule_.depths.begin(place.depth + 1) : steps();
      for (std::size_t panel = 0; panel < left.rows.count(); ++panel)
        split(call, left, panel, left.first_step, end);
      are_split = true;
    }
    multiply_panel(call, left, place, sums + kept * left.rows.count() * kWidth * kWidth, sums + sum_floats_,
                   next);
  };
  schedule_.for_each(first.panel, shares_.begin(range.last), body);
}

/// Columns at a place by all panels of rows. `next`: what comes after these columns, or nullptr.
void TileProduct::multiply_panel(const Call& call, const Left& left, const TilePlace& place, float* sums,
                                 float* room, const TilePlace* next) const {
  const std::size_t column_tiles = columns_.tiles(place.panel);
  const float* const ahead = next == nullptr ? nullptr : call.columns.find(*next);
  TileSum sum;
  sum.steps = schedule_.depths.size(place.depth);
  sum.packed = call.columns.make(place, room);
  sum.placed = left.split + (schedule_.depths.begin(place.depth) - left.first_step) * left.rows.tiles() *
                                tiles_.step_floats(1);
  sum.placed_stride = MatrixTiles::kSize;
  sum.placed_next = MatrixTiles::kFloats;
  for (std::size_t panel = 0; panel < left.rows.count(); ++panel, sums += kWidth * kWidth) {
    const std::size_t row_tiles = left.rows.tiles(panel);
    sum.fetch_share(ahead, schedule_.size(place, columns_) * tiles_.step_floats(1), panel, left.rows.count());
    sum.offsets = offsets_[row_tiles - 1].data();
    sum.placed_part = row_tiles * MatrixTiles::kFloats;
    tiles_.multiply_placed_rows[row_tiles - 1][column_tiles - 1](sum, sums, kWidth, place.depth != 0);
    sum.placed += sum.steps * row_tiles * tiles_.step_floats(1);
    if (schedule_.is_last(place))
      finish(call, left.first_row + panel * kWidth, left.rows.size(panel), place.panel, sums);
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
