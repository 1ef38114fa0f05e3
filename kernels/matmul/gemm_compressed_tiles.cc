// Products with compressed weights in matrix tiles: a panel of weights becomes floats, and these parts of
// floats, once for all rows of a block.
#include <algorithm>

#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/tile_product.h"
#include "kernels/weights/packed_codes.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kWidth = TilePanels::kWidth;
/// Of a panel: with its floats, they stay in the second-level cache, with those of all rows and the sums of
/// so many panels.
constexpr std::size_t kMostSteps = 16;
constexpr std::size_t kMostPanels = 16;

/// Those of one run.
class CodeColumns final : public TileColumns {
 public:
  CodeColumns(const MatrixTiles& tiles, const CompressedForm& form, const CompressedRows& weights,
              const TileProduct& product)
      : tiles_(tiles), form_(form), weights_(weights), product_(product) {}

  /// Floats that make() needs: the codes', packed ones, and parts of them.
  static std::size_t room(const MatrixTiles& tiles) {
    return kMostSteps * (2 * kWidth * tiles.step_terms + tiles.step_floats(MatrixTiles::kMost));
  }

  const float* make(const TilePlace& place, float* room) const override {
    const TilePanels& columns = product_.columns();
    const Split& depths = product_.schedule().depths;
    const std::size_t terms = tiles_.step_terms;
    const std::size_t first = depths.begin(place.depth) * terms;
    const std::size_t count = std::min(form_.terms, depths.begin(place.depth + 1) * terms) - first;
    const std::size_t width = columns.size(place.panel);
    const std::size_t stride = columns.tiles(place.panel) * MatrixTiles::kSize;
    float* const floats = room + kMostSteps * kWidth * terms;
    float* const parts = floats + kMostSteps * kWidth * terms;
    pack_code_floats(form_, weights_, {place.panel * kWidth, width, first, count}, room, floats);
    for (std::size_t term = 0; term < count; term += terms) {
      split_panel(tiles_, floats + term * stride, stride, std::min(terms, count - term), width,
                  parts + term / terms * tiles_.step_floats(columns.tiles(place.panel)));
    }
    return parts;
  }
  const float* find(const TilePlace&) const override { return nullptr; }

 private:
  const MatrixTiles& tiles_;
  const CompressedForm& form_;
  const CompressedRows& weights_;
  const TileProduct& product_;
};

class TilesCompressedGemm final : public CompressedGemm {
 public:
  TilesCompressedGemm(std::size_t rows, const CompressedForm& form, const MatrixTiles& tiles,
                      const Epilogue& epilogue)
      : tiles_(tiles),
        form_(form),
        product_(product_of(rows, form), tiles, epilogue,
                 {kMostSteps, kMostPanels, CodeColumns::room(tiles)}) {}

  std::string_view algorithm() const override { return kCompressedTiles; }
  std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  void run(const float* a, const CompressedRows& weights, const float* residual, float* out,
           std::byte* scratch) const override {
    product_.run(a, CodeColumns(tiles_, form_, weights, product_), residual, out, scratch);
  }

 private:
  const MatrixTiles& tiles_;
  CompressedForm form_;
  TileProduct product_;
};

}  // namespace

std::unique_ptr<CompressedGemm> create_tiles_compressed_gemm(std::size_t rows, const CompressedForm& form,
                                                             const MatrixTiles& tiles,
                                                             const Epilogue& epilogue) {
  return std::make_unique<TilesCompressedGemm>(rows, form, tiles, epilogue);
}

}  // namespace ir::kernels
