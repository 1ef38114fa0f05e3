// Tiles of bytes of which the sums become levels: lanes of them, or rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/integer_kernels.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

constexpr std::size_t kTerms = kMostLaneTerms;

/// Both operands of a tile, and what is done to its sums.
class LevelTile {
 public:
  LevelTile(const GemmKernels& kernels, std::size_t rows, std::size_t vectors, std::size_t columns)
      : kernels_(kernels),
        rows_(rows),
        vectors_(vectors),
        columns_(columns),
        width_(vectors * kernels.lanes),
        a_(kDepth * rows * kTerms),
        b_(kDepth * width_ * kTerms),
        scale_(rows),
        bias_(rows) {
    test::fill_random(a_, -128, 128, 1);
    test::fill_random(b_, 0, 256, 2);
    test::fill_random(scale_, 0.0002, 0.002, 3);
    test::fill_random(bias_, 20, 200, 4);
  }

  /// Tile::joins; how many bytes are wrong.
  [[nodiscard]] std::size_t count_wrong_lanes() const {
    GuardedBuffer<std::uint8_t> out(rows_ / kTerms * columns_ * kTerms, 4);
    Tile tile = plain_tile();
    tile.joins = true;
    // Of four rows, the first is one of lanes: so many floats lie between these.
    tile.stride = columns_ / kTerms;
    tile.out = reinterpret_cast<float*>(out.data());
    multiply(tile);
    std::size_t wrong = out.guards_intact() ? 0 : 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / (columns_ * kTerms) * kTerms + i % kTerms;
      wrong += out[i] != level(row, i / kTerms % columns_, bias_[row]) ? 1 : 0;
    }
    return wrong;
  }

  /// Tile::levels, of sums that go on from others or not.
  [[nodiscard]] std::size_t count_wrong_rows(bool accumulate) const {
    const std::size_t stride = columns_ + 3;
    std::vector<float> sums(rows_ * columns_);
    test::fill_random(sums, -20, 250, 5);
    const std::vector<float> before = sums;
    GuardedBuffer<std::uint8_t> out((rows_ - 1) * stride + columns_, 1);
    std::fill(out.begin(), out.end(), std::uint8_t{99});
    Tile tile = plain_tile();
    tile.accumulate = accumulate;
    tile.stride = columns_;
    tile.out = sums.data();
    tile.levels = out.data();
    tile.levels_stride = stride;
    multiply(tile);
    std::size_t wrong = out.guards_intact() && sums == before ? 0 : 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / stride;
      const std::size_t column = i % stride;
      const bool is_between = column >= columns_;
      const float start = accumulate && !is_between ? before[row * columns_ + column] : bias_[row];
      wrong += out[i] != (is_between ? 99 : level(row, column, start)) ? 1 : 0;
    }
    return wrong;
  }

 private:
  static constexpr std::size_t kDepth = 5;
  static constexpr float kLow = 2;
  static constexpr float kHigh = 253;

  [[nodiscard]] Tile plain_tile() const {
    Tile tile;
    tile.columns = columns_;
    tile.finish = true;
    tile.row_scale = scale_.data();
    tile.row_bias = bias_.data();
    tile.low = kLow;
    tile.high = kHigh;
    return tile;
  }
  void multiply(const Tile& tile) const {
    kernels_.packed[rows_ - 1][vectors_ - 1](kDepth, reinterpret_cast<const float*>(a_.data()), 0,
                                             reinterpret_cast<const float*>(b_.data()), tile);
  }
  [[nodiscard]] std::uint8_t level(std::size_t row, std::size_t column, float start) const {
    int sum = 0;
    for (std::size_t term = 0; term < kDepth * kTerms; ++term) {
      const std::size_t k = term / kTerms;
      const std::size_t byte = term % kTerms;
      sum += a_[(k * rows_ + row) * kTerms + byte] * b_[(k * width_ + column) * kTerms + byte];
    }
    const float value = std::fma(static_cast<float>(sum), scale_[row], start);
    return static_cast<std::uint8_t>(std::nearbyint(std::clamp(value, kLow, kHigh)));
  }

  const GemmKernels& kernels_;
  std::size_t rows_;
  std::size_t vectors_;
  std::size_t columns_;
  std::size_t width_;  ///< of the panel of columns
  std::vector<std::int8_t> a_;
  std::vector<std::uint8_t> b_;
  std::vector<float> scale_;
  std::vector<float> bias_;
};

}  // namespace

TEST_CASE("Sums of bytes become lanes and rows of levels in their tiles", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const GemmKernels* const kernels = gemm_integer_kernels(LaneForm::quads);
  if (kernels == nullptr) return;
  for (const std::size_t rows : {4, 8}) {
    if (rows > kernels->max_rows) continue;
    for (std::size_t vectors = 1; vectors <= kernels->max_vectors; ++vectors) {
      for (std::size_t missing = 0; missing < kernels->lanes; ++missing) {
        const std::size_t columns = vectors * kernels->lanes - missing;
        INFO(rows << " x " << columns);
        const LevelTile tile(*kernels, rows, vectors, columns);
        if (columns % kMostLaneTerms == 0) CHECK(tile.count_wrong_lanes() == 0);
        if (!can_store_levels(*kernels, rows)) continue;
        CHECK(tile.count_wrong_rows(false) == 0);
        CHECK(tile.count_wrong_rows(true) == 0);
      }
    }
  }
}

}  // namespace ir::kernels
