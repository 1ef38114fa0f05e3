#include "kernels/depthwise/tiled_stage.h"

#include <utility>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kSize = MatrixTiles::kSize;
constexpr std::size_t kWidth = TilePanels::kWidth;

}  // namespace

TiledStage::TiledStage(const ConvolutionStage& stage, const MatrixTiles& tiles, Borders rows, Borders terms,
                       std::size_t most_positions)
    : tiles_(tiles),
      rows_(std::move(rows)),
      terms_(std::move(terms)),
      pair_stride_(spread_pairs(most_positions)),
      step_stride_(tiles.parts * kSize * pair_stride_),
      epilogue_(stage.epilogue, stage.params.out_channels) {
  panels_.push_back(0);
  for (std::size_t panel = 0; panel < panels(); ++panel)
    panels_.push_back(panels_.back() + panel_floats(panel));
  for (std::size_t step = 0; step < steps(); ++step)
    offsets_.push_back(static_cast<std::int32_t>(step * step_stride_));
  const float* const weights = stage.weights.floats();
  PackedForm form{"tiled_stage", {&tiles_}, rows_};
  form.numbers.insert(form.numbers.end(), terms_.begin(), terms_.end());
  weights_ = packed_once({weights, rows_.back() * terms_.back()}, std::move(form), panels_.back(),
                         [&](float* to) { pack(weights, to); });
}

std::size_t TiledStage::row_tiles(std::size_t panel) const { return divide_up(row_count(panel), kSize); }

std::size_t TiledStage::panel_floats(std::size_t panel) const {
  return steps() * row_tiles(panel) * tiles_.step_floats(1);
}

const float* TiledStage::weights_of(std::size_t panel) const { return weights_.get() + panels_[panel]; }

/// [panel][step]
void TiledStage::pack(const float* weights, float* to) const {
  const std::size_t channels = terms_.back();
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    for (std::size_t step = 0; step < steps(); ++step, to += row_tiles(panel) * tiles_.step_floats(1)) {
      tiles_.split_rows(weights + rows_[panel] * channels + terms_[step], channels, row_count(panel),
                        terms_[step + 1] - terms_[step], row_tiles(panel), to);
    }
  }
}

void TiledStage::split(const float* from, std::size_t stride, std::size_t step, std::size_t positions,
                       float* split) const {
  tiles_.split_columns(from, stride, terms_[step + 1] - terms_[step], positions, split + step * step_stride_,
                       pair_stride_, kSize * pair_stride_);
}

void TiledStage::run(std::size_t panel, const float* split, std::size_t positions, const Target& target,
                     float* sums) const {
  const TilePanels columns(positions);
  Tile tile;
  tile.stride = target.stride;
  epilogue_.set_up(tile, BiasAxis::row, rows_[panel], 0);
  TileSum sum;
  sum.steps = steps();
  sum.packed = weights_of(panel);
  sum.offsets = offsets_.data();
  sum.placed_stride = pair_stride_;
  sum.placed_part = kSize * pair_stride_;
  sum.placed_next = kSize;
  const float* const next = panel + 1 < panels() ? weights_of(panel + 1) : nullptr;
  for (std::size_t part = 0; part < columns.count(); ++part) {
    const std::size_t first = part * kWidth;
    sum.placed = split + first;
    sum.fetch_share(next, panel_floats(panel), part, columns.count());
    tiles_.multiply_placed_columns[row_tiles(panel) - 1][columns.tiles(part) - 1](sum, sums, kWidth, false);
    tile.out = target.out + first;
    tile.residual = target.residual == nullptr ? nullptr : target.residual + first;
    tile.columns = columns.size(part);
    tiles_.finish(sums, kWidth, row_count(panel), tile);
  }
}

}  // namespace ir::kernels
