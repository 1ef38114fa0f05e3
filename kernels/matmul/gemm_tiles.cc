// Rows are split into parts of floats as a worker needs them, weights once. Blocks of terms are such that
// those of all rows stay in the second-level cache while weights pass by.
#include "kernels/matmul/gemm_tiles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/base/processor.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

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

class TilesGemm final : public Gemm {
 public:
  TilesGemm(const GemmParams& params, const MatrixTiles& tiles, const float* constant,
            const Epilogue& epilogue)
      : tiles_(tiles),
        params_(params),
        epilogue_(epilogue, params),
        columns_(params.n),
        steps_(divide_up(params.k, tiles_.step_terms)),
        row_blocks_(divide_up(params.m, kWidth), most_row_panels(tiles_, steps_)),
        workers_(params.max_threads != 0 ? params.max_threads : static_cast<std::size_t>(thread_slots())) {
    const std::size_t panel_step = tiles_.step_floats(MatrixTiles::kMost);
    const std::size_t near = second_level_cache() / 2 / sizeof(float);
    schedule_.most_panels = kMostPanels;
    schedule_.depths = Split(steps_, std::max<std::size_t>(near / (row_blocks_.largest() * panel_step), 1));
    shares_ = fewest_parts(columns_.count(), row_blocks_.parts, workers_);
    left_floats_ = row_blocks_.largest() * steps_ * panel_step;
    sum_floats_ = row_blocks_.largest() * kWidth * kWidth * schedule_.kept_panels(columns_.count());
    for (std::size_t count = 1; count <= MatrixTiles::kMost; ++count) {
      for (std::size_t step = 0; step < schedule_.depths.largest(); ++step)
        offsets_[count - 1].push_back(static_cast<std::int32_t>(step * tiles_.step_floats(count)));
    }
    weights_ = packed_once({constant, params.k * params.n},
                           {kMatrixTiles, {&tiles_}, {params.k, params.n, params.transpose_b ? 1U : 0U}},
                           columns_.tiles() * steps_ * tiles_.step_floats(1),
                           [&](float* to) { pack(constant, to); });
  }

  std::string_view algorithm() const override { return kMatrixTiles; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * slot_floats()); }

  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    if (params_.m == 0 || params_.n == 0) return;
    float* const slots = aligned_scratch(scratch);
    const std::size_t tasks = row_blocks_.parts * shares_.parts;
    // A tile does as much as sixteen vectors.
    const std::size_t cost = params_.m * params_.n / 64 * params_.k / (16 * tasks) + 1;
    for_each_group(row_blocks_.parts, shares_.parts, cost, workers_, [&](const GroupRange& range) {
      tiles_.begin();
      multiply({a, epilogue_.residual() ? residual : nullptr, out, slots + range.worker * slot_floats()},
               range);
      tiles_.end();
    });
  }

 private:
  /// Columns that are gone through with a block of rows for each block of terms in turn.
  static constexpr std::size_t kMostPanels = 24;

  struct Call {
    const float* a;
    const float* residual;
    float* out;
    float* slot;
  };

  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(workers_, left_floats_ + sum_floats_);
  }

  void multiply(const Call& call, const GroupRange& range) const {
    const std::size_t first_row = row_blocks_.begin(range.group) * kWidth;
    const TilePanels rows(std::min(params_.m, row_blocks_.begin(range.group + 1) * kWidth) - first_row);
    const std::size_t begin = shares_.begin(range.first);
    const std::size_t end = shares_.begin(range.last);
    fetch_rows(weights_at({0, begin}), 0, 1, schedule_.size({0, begin}, columns_) * tiles_.step_floats(1));
    if (!range.continues) split_rows(call, first_row, rows);
    schedule_.for_each(begin, end, [&](const TilePlace& place, std::size_t kept, const TilePlace* next) {
      multiply_panel(call, first_row, rows, place, kept, next == nullptr ? nullptr : weights_at(*next));
    });
  }

  /// [block of terms][panel of rows][step]
  void split_rows(const Call& call, std::size_t first_row, const TilePanels& rows) const {
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

  /// For all panels of rows, into the `kept`-th of the sums that are kept. `next`: weights that are read
  /// after these, or nullptr.
  void multiply_panel(const Call& call, std::size_t first_row, const TilePanels& rows, const TilePlace& place,
                      std::size_t kept, const float* next) const {
    const std::size_t column_tiles = columns_.tiles(place.panel);
    TileSum sum;
    sum.steps = schedule_.depths.size(place.depth);
    sum.packed = weights_at(place);
    sum.placed = call.slot + schedule_.depths.begin(place.depth) * rows.tiles() * tiles_.step_floats(1);
    sum.placed_stride = MatrixTiles::kSize;
    sum.placed_next = MatrixTiles::kFloats;
    for (std::size_t row_panel = 0; row_panel < rows.count(); ++row_panel) {
      const std::size_t row_tiles = rows.tiles(row_panel);
      float* const sums = call.slot + left_floats_ + (kept * rows.count() + row_panel) * kWidth * kWidth;
      sum.fetch_share(next, schedule_.size(place, columns_) * tiles_.step_floats(1), row_panel, rows.count());
      sum.offsets = offsets_[row_tiles - 1].data();
      sum.placed_part = row_tiles * MatrixTiles::kFloats;
      tiles_.multiply_placed_rows[row_tiles - 1][column_tiles - 1](sum, sums, kWidth, place.depth != 0);
      sum.placed += sum.steps * row_tiles * tiles_.step_floats(1);
      if (schedule_.is_last(place))
        finish(call, first_row + row_panel * kWidth, rows.size(row_panel), place.panel, sums);
    }
  }

  void finish(const Call& call, std::size_t row, std::size_t rows, std::size_t panel, float* sums) const {
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

  [[nodiscard]] const float* weights_at(const TilePlace& place) const {
    return weights_.get() + schedule_.offset(place, columns_) * tiles_.step_floats(1);
  }

  /// [panel of columns][step]
  void pack(const float* from, float* to) const {
    const auto column = [](std::size_t panel) { return panel * kWidth; };
    const auto term = [&](std::size_t step) { return step * tiles_.step_terms; };
    pack_operand_in_pieces(
        from, params_.transpose_b, {columns_.count(), params_.n, column}, {steps_, params_.k, term},
        [&](const PartRange& panels, const PartRange& steps) { pack_steps(from, panels, steps, to); });
  }

  void pack_steps(const float* from, const PartRange& panels, const PartRange& steps, float* to) const {
    parallel_for(panels.last - panels.first, 1, [&](std::size_t begin, std::size_t end) {
      AlignedFloats block(tiles_.step_terms * kWidth);
      for (std::size_t panel = panels.first + begin; panel < panels.first + end; ++panel) {
        const std::size_t tiles = columns_.tiles(panel);
        for (std::size_t step = steps.first; step < steps.last; ++step) {
          float* const packed =
              to + (panel * MatrixTiles::kMost * steps_ + step * tiles) * tiles_.step_floats(1);
          pack_step(from, panel, step * tiles_.step_terms, block.data(), packed);
        }
      }
    });
  }
  void pack_step(const float* from, std::size_t panel, std::size_t term, float* block, float* packed) const {
    const std::size_t terms = std::min(tiles_.step_terms, params_.k - term);
    const std::size_t columns = columns_.size(panel);
    if (!params_.transpose_b)
      return split_panel(tiles_, from + term * params_.n + panel * kWidth, params_.n, terms, columns, packed);
    // One panel of two vectors, or of one.
    gemm_kernels().pack_columns_transposed(from + panel * kWidth * params_.k + term, params_.k, terms,
                                           columns, block);
    split_panel(tiles_, block, columns_.tiles(panel) * MatrixTiles::kSize, terms, columns, packed);
  }

  const MatrixTiles& tiles_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  TilePanels columns_;
  std::size_t steps_;
  Split row_blocks_;  ///< of panels of rows
  TileSchedule schedule_;
  Split shares_;  ///< of panels of columns
  std::size_t workers_;
  std::size_t left_floats_ = 0;
  std::size_t sum_floats_ = 0;
  /// Of steps of a panel of one tile, and of two.
  std::array<std::vector<std::int32_t>, MatrixTiles::kMost> offsets_;
  PackedFloats weights_;
};

}  // namespace

bool takes_tiles(const GemmParams& params) {
  return matrix_tiles(params.whole_floats) != nullptr && params.constant == GemmConstant::b &&
         params.batch.empty() && !params.transpose_a && params.m > 1 && params.n != 0 && params.k != 0;
}

double tiles_gemm_cost(const GemmParams& params, const MatrixTiles& tiles) {
  constexpr double kStart = 4000;
  // Of one float: to split rows, and to finish results.
  const double splitting = 0.2 * static_cast<double>(tiles.parts);
  constexpr double kFinishing = 0.25;
  const std::size_t steps = divide_up(params.k, tiles.step_terms);
  return kStart +
         tile_product_cost(tiles, TilePanels(params.m).tiles(), TilePanels(params.n).tiles(), steps) +
         splitting * static_cast<double>(params.m * steps * tiles.step_terms) +
         kFinishing * static_cast<double>(params.m * params.n);
}

std::unique_ptr<Gemm> create_tiles_gemm(const GemmParams& params, const MatrixTiles& tiles,
                                        const float* constant, const Epilogue& epilogue) {
  return std::make_unique<TilesGemm>(params, tiles, constant, epilogue);
}

}  // namespace ir::kernels
