// Weights are packed once.
#include "kernels/matmul/gemm_tiles.h"

#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/tile_product.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kWidth = TilePanels::kWidth;

class TilesGemm final : public Gemm, private TileColumns {
 public:
  TilesGemm(const GemmParams& params, const MatrixTiles& tiles, const float* constant,
            const Epilogue& epilogue)
      : tiles_(tiles), params_(params), product_(params, tiles, epilogue, {0, kMostPanels, 0}) {
    weights_ = packed_once({constant, params.k * params.n},
                           {kMatrixTiles, {&tiles_}, {params.k, params.n, params.transpose_b ? 1U : 0U}},
                           columns().tiles() * steps() * tiles_.step_floats(1),
                           [&](float* to) { pack(constant, to); });
  }

  std::string_view algorithm() const override { return kMatrixTiles; }
  std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    product_.run(a, *this, residual, out, scratch);
  }

 private:
  /// Columns that are gone through with a block of rows for each block of terms in turn.
  static constexpr std::size_t kMostPanels = 24;

  [[nodiscard]] const TilePanels& columns() const { return product_.columns(); }
  [[nodiscard]] std::size_t steps() const { return product_.steps(); }

  const float* make(const TilePlace& place, float*) const override { return find(place); }
  const float* find(const TilePlace& place) const override {
    return weights_.get() + product_.schedule().offset(place, columns()) * tiles_.step_floats(1);
  }

  /// [panel of columns][step]
  void pack(const float* from, float* to) const {
    const auto column = [](std::size_t panel) { return panel * kWidth; };
    const auto term = [&](std::size_t step) { return step * tiles_.step_terms; };
    pack_operand_in_pieces(
        from, params_.transpose_b, {columns().count(), params_.n, column}, {steps(), params_.k, term},
        [&](const PartRange& panels, const PartRange& some) { pack_steps(from, panels, some, to); });
  }

  void pack_steps(const float* from, const PartRange& panels, const PartRange& some, float* to) const {
    parallel_for(panels.last - panels.first, 1, [&](std::size_t begin, std::size_t end) {
      AlignedFloats block(tiles_.step_terms * kWidth);
      for (std::size_t panel = panels.first + begin; panel < panels.first + end; ++panel) {
        const std::size_t tiles = columns().tiles(panel);
        for (std::size_t step = some.first; step < some.last; ++step) {
          float* const packed =
              to + (panel * MatrixTiles::kMost * steps() + step * tiles) * tiles_.step_floats(1);
          pack_step(from, panel, step * tiles_.step_terms, block.data(), packed);
        }
      }
    });
  }
  void pack_step(const float* from, std::size_t panel, std::size_t term, float* block, float* packed) const {
    const std::size_t terms = std::min(tiles_.step_terms, params_.k - term);
    const std::size_t width = columns().size(panel);
    if (!params_.transpose_b)
      return split_panel(tiles_, from + term * params_.n + panel * kWidth, params_.n, terms, width, packed);
    split_turned_panel(tiles_, gemm_kernels(), from + panel * kWidth * params_.k + term, params_.k, terms,
                       width, block, packed);
  }

  const MatrixTiles& tiles_;
  GemmParams params_;
  TileProduct product_;
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
