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

using Bytes = hn::Repartition<std::uint8_t, D>;
using VBytes = hn::Vec<Bytes>;
constexpr std::size_t kBlock = 16;  ///< bytes of 128 bits

/// Squares of 16 x 16 bytes, one in each block of 128 bits, transposed.
HWY_INLINE void transpose_blocks(VBytes (&v)[kBlock]) {
  const Bytes d;
  KERNELS_UNROLL for (std::size_t half = kBlock / 2; half != 0; half /= 2) {
    VBytes mixed[kBlock];
    KERNELS_UNROLL for (std::size_t i = 0; i < kBlock / 2; ++i) {
      mixed[2 * i] = hn::InterleaveLower(d, v[i], v[i + kBlock / 2]);
      mixed[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kBlock / 2]);
    }
    KERNELS_UNROLL for (std::size_t i = 0; i < kBlock; ++i) v[i] = mixed[i];
  }
}

/// `load(from)` gives 128 bits of each of four rows.
template <class Load>
HWY_INLINE VBytes load_four(const std::uint8_t* const* rows, std::size_t distance, std::size_t at,
                            const Load& load) {
  const auto block = [&](std::size_t i) HWY_ATTR { return load(rows[i * distance] + at).raw; };
  __m512i v = _mm512_castsi128_si512(block(0));
  v = _mm512_inserti32x4(v, block(1), 1);
  v = _mm512_inserti32x4(v, block(2), 2);
  return VBytes{_mm512_inserti32x4(v, block(3), 3)};
}

/// Of up to 16 rows, 64 columns at a time: four columns of each vector become rows.
void turn_few_rows(const std::uint8_t* const* rows, std::size_t lanes, std::size_t columns, float* to,
                   std::size_t to_stride) {
  const Bytes d;
  const hn::Full128<float> of_row;
  for (std::size_t column = 0; column < columns; column += hn::MaxLanes(d)) {
    const std::size_t count = std::min(hn::MaxLanes(d), columns - column);
    VBytes v[kBlock];
    KERNELS_UNROLL for (std::size_t i = 0; i < kBlock; ++i) {
      const std::uint8_t* const from = rows[i] + column;
      v[i] = count == hn::MaxLanes(d) ? hn::LoadU(d, from) : load_n(d, from, count);
    }
    transpose_blocks(v);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const __m512 row = _mm512_castsi512_ps(v[i].raw);
      const __m128 of_columns[4] = {_mm512_castps512_ps128(row), _mm512_extractf32x4_ps(row, 1),
                                    _mm512_extractf32x4_ps(row, 2), _mm512_extractf32x4_ps(row, 3)};
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t at = k * kBlock + i;
        if (at < count)
          store_n(hn::Vec<decltype(of_row)>{of_columns[k]}, of_row, to + (column + at) * to_stride, lanes);
      }
    }
  }
}

void TurnBytes(const std::uint8_t* const* rows, std::size_t lanes, std::size_t columns, float* to,
               std::size_t to_stride) {
  if (lanes <= kBlock / kMostLaneTerms) return turn_few_rows(rows, lanes, columns, to, to_stride);
  const D d;
  const hn::Full128<std::uint8_t> block;
  for (std::size_t column = 0; column < columns; column += kBlock) {
    const std::size_t count = std::min(kBlock, columns - column);
    VBytes v[kBlock];
    if (count == kBlock) {
      const auto load = [&](const std::uint8_t* from) HWY_ATTR { return hn::LoadU(block, from); };
      KERNELS_UNROLL for (std::size_t i = 0; i < kBlock; ++i) v[i] =
          load_four(rows + i, kBlock, column, load);
    } else {
      const auto load = [&](const std::uint8_t* from) HWY_ATTR { return load_n(block, from, count); };
      KERNELS_UNROLL for (std::size_t i = 0; i < kBlock; ++i) v[i] =
          load_four(rows + i, kBlock, column, load);
    }
    transpose_blocks(v);
    for (std::size_t i = 0; i < count; ++i)
      store_edge(hn::BitCast(d, v[i]), to + (column + i) * to_stride, lanes);
  }
}

/// The integers in the memory of some floats, as floats.
HWY_INLINE V converted(V sums) { return hn::ConvertTo(D(), hn::BitCast(hn::RebindToSigned<D>(), sums)); }

void FinishSums(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  const auto worth = [&](V sums, std::size_t column, const auto& load) HWY_ATTR {
    const V v = converted(sums);
    return tile.column_scale == nullptr ? v : hn::Mul(v, load(tile.column_scale + column));
  };
  finish_tiles(from, stride, rows, tile, worth);
}

constexpr std::size_t kTogether = kMostLaneTerms;

/// What sums of a column become on their way to levels.
struct Steps {
  V scale;
  V bias;
};

/// The levels of up to 16 rows and columns; kWhole: as many.
template <bool kWhole, class Rows>
HWY_INLINE void store_square(const LevelBounds<true>& bounds, const Rows& lines, const Steps& steps,
                             std::uint8_t* to, std::size_t stride, std::size_t rows, std::size_t columns) {
  const D d;
  V levels[kTogether];
  KERNELS_UNROLL for (std::size_t i = 0; i < kTogether; ++i) {
    V values[kTogether];
    KERNELS_UNROLL for (std::size_t k = 0; k < kTogether; ++k) values[k] =
        hn::MulAdd(converted(hn::LoadU(d, lines(i * kTogether + k))), steps.scale, steps.bias);
    levels[i] = bounds.levels_of_rows(values);
  }
  // Four columns in each: one of every block of 128 bits.
  V turned[kTogether];
  interleave_four(d, hn::Repartition<double, D>(), levels, turned);
  KERNELS_UNROLL for (std::size_t i = 0; i < kTogether; ++i, to += stride) {
    if constexpr (kWhole) {
      bounds.store_blocks(turned[i], to, kTogether * stride);
    } else {
      const std::size_t blocks = divide_up(columns - std::min(columns, i), kTogether);
      bounds.store_blocks(turned[i], to, kTogether * stride, rows, blocks);
    }
  }
}

void StoreLevels(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  const LevelBounds<true> bounds(tile.low, tile.high);
  const std::size_t all_columns = tile.columns;
  const std::size_t to_stride = tile.levels_stride;
  const float* const scale = tile.column_scale;
  const float* const bias = tile.column_bias;
  std::uint8_t* to = tile.levels;
  for (std::size_t column = 0; column < all_columns; column += kLanes, to += kLanes * to_stride) {
    const std::size_t columns = std::min(kLanes, all_columns - column);
    const Steps steps{load_edge(scale + column, columns), load_edge(bias + column, columns)};
    const float* sums = from + column;
    std::size_t row = 0;
    if (columns == kLanes) {
      for (; row + kSize <= rows; row += kSize, sums += kSize * stride)
        store_square<true>(bounds, EvenRows{sums, stride}, steps, to + row, to_stride, kSize, kLanes);
    }
    for (; row < rows; row += kSize, sums += kSize * stride) {
      // What is not there is the last one again.
      const RepeatedLastRow lines{{sums, stride}, rows - row - 1};
      store_square<false>(bounds, lines, steps, to + row, to_stride, std::min(kSize, rows - row), columns);
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
    tiles.turn_bytes = TurnBytes;
    tiles.finish = FinishSums;
    tiles.move = FinishFloats;
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
