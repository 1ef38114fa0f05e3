// Lanes of bytes on their way to matrix tiles, and sums of their products on the way out.
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/byte_tiles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/matrix_tiles-inl.h"
#include "kernels/matmul/quads-inl.h"
#include "kernels/weights/integer_weights.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

#ifdef KERNELS_HAVE_MATRIX_TILES
namespace {

void CopyRows(const float* from, std::size_t row_stride, std::size_t rows, std::size_t lanes,
              std::size_t tiles, float* to) {
  const D d;
  for (std::size_t row = 0; row < rows; ++row, from += row_stride, to += kSize)
    hn::StoreU(lanes == kSize ? hn::LoadU(d, from) : load_edge(from, lanes), d, to);
  std::fill_n(to, (tiles * kSize - rows) * kSize, 0.0F);
}

void CopyColumns(const float* from, std::size_t stride, std::size_t lanes, std::size_t columns, float* to,
                 std::size_t to_stride, std::size_t) {
  const D d;
  for (std::size_t lane = 0; lane < kSize; ++lane, from += stride, to += to_stride) {
    std::size_t column = 0;
    if (lane < lanes) {
      for (; column + kLanes <= columns; column += kLanes)
        hn::StoreU(hn::LoadU(d, from + column), d, to + column);
    }
    for (; column < columns; column += kLanes) {
      const std::size_t count = std::min(kLanes, columns - column);
      hn::StoreU(lane < lanes ? load_edge(from + column, count) : hn::Zero(d), d, to + column);
    }
  }
}

void TurnLines(const float* from, std::size_t stride, std::size_t lanes, std::size_t columns, float* to,
               std::size_t to_stride) {
  const D d;
  constexpr std::size_t kColumns = 4;
  const RepeatedLastRow lines{{from, stride}, lanes - 1};
  for (std::size_t column = 0; column < columns; column += kColumns) {
    V turned[kColumns];
    load_transposed(
        d, [&](std::size_t i) HWY_ATTR { return lines(i) + column; }, turned);
    KERNELS_UNROLL for (std::size_t i = 0; i < kColumns; ++i) {
      if (column + i < columns) store_edge(turned[i], to + (column + i) * to_stride, lanes);
    }
  }
}

/// The integers in the memory of some floats, as floats.
HWY_INLINE V converted(V sums) { return hn::ConvertTo(D(), hn::BitCast(hn::RebindToSigned<D>(), sums)); }

void FinishSums(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  const auto worth = [&](V sums, std::size_t row, std::size_t column, const auto& load) HWY_ATTR {
    V v = converted(sums);
    if (tile.row_scale != nullptr) v = hn::Mul(v, hn::Set(D(), tile.row_scale[row]));
    if (tile.column_scale != nullptr) v = hn::Mul(v, load(tile.column_scale + column));
    return v;
  };
  finish_tiles(from, stride, rows, tile, worth);
}

void MoveResults(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  finish_tiles(from, stride, rows, tile, [](V v, auto&&...) HWY_ATTR { return v; });
}

constexpr std::size_t kTogether = kMostLaneTerms;

void StoreLevels(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  const D d;
  const hn::Repartition<double, D> pairs;
  const LevelBounds bounds(tile.low, tile.high);
  for (std::size_t column = 0; column < tile.columns; column += kLanes) {
    const std::size_t columns = std::min(kLanes, tile.columns - column);
    const V scale = load_edge(tile.column_scale + column, columns);
    const V bias = load_edge(tile.column_bias + column, columns);
    for (std::size_t row = 0; row < rows; row += kSize) {
      // What is not there is the last one again.
      const RepeatedLastRow lines{{from + row * stride + column, stride}, rows - row - 1};
      V levels[kTogether];
      KERNELS_UNROLL for (std::size_t i = 0; i < kTogether; ++i) {
        V values[kTogether];
        KERNELS_UNROLL for (std::size_t k = 0; k < kTogether; ++k) values[k] =
            hn::MulAdd(converted(hn::LoadU(d, lines(i * kTogether + k))), scale, bias);
        levels[i] = bounds.levels_of_rows(values);
      }
      // Four channels in each: one of every block of 128 bits.
      V turned[kTogether];
      interleave_four(d, pairs, levels, turned);
      std::uint8_t* const to = tile.levels + column * tile.levels_stride + row;
      KERNELS_UNROLL for (std::size_t i = 0; i < kTogether; ++i) LevelBounds::store_blocks(
          turned[i], to + i * tile.levels_stride, kTogether * tile.levels_stride, std::min(kSize, rows - row),
          divide_up(columns - std::min(columns, i), kTogether));
    }
  }
}

}  // namespace

const MatrixTiles* ByteTilesOfTarget() {
  static constexpr MatrixTiles kTiles = [] {
    MatrixTiles tiles = products_of_parts<1>();
    tiles.split_rows = CopyRows;
    tiles.split_columns = CopyColumns;
    tiles.turn_lines = TurnLines;
    tiles.finish = FinishSums;
    tiles.move = MoveResults;
    tiles.store_levels = StoreLevels;
    return tiles;
  }();
  return &kTiles;
}
#else
const MatrixTiles* ByteTilesOfTarget() { return nullptr; }
#endif

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(ByteTilesOfTarget);

const MatrixTiles* byte_tiles() {
  return may_use_matrix_tiles() ? HWY_DYNAMIC_DISPATCH(ByteTilesOfTarget)() : nullptr;
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
