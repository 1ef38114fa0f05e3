#include "kernels/matrix_tiles.h"

#include <algorithm>

#include "kernels/processor.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix_tiles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/gemm-inl.h"
#include "kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 && defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
namespace {

// Names of registers are part of the instructions, and no compiler keeps anything in these.
#define KERNELS_LOAD_TILE(tile, from, stride_bytes) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"(stride_bytes) : "memory")
#define KERNELS_STORE_TILE(tile, to, stride_bytes) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"(stride_bytes) : "memory")
#define KERNELS_CLEAR_TILE(tile) asm volatile("tilezero %%tmm" #tile ::)
#define KERNELS_MULTIPLY_TILES(sum, left, right) \
  asm volatile("tdpbf16ps %%tmm" #right ", %%tmm" #left ", %%tmm" #sum ::)

constexpr std::size_t kSize = MatrixTiles::kSize;
constexpr std::size_t kStepTerms = MatrixTiles::kStepTerms;
constexpr std::size_t kPairs = kStepTerms / 2;
constexpr std::size_t kTileFloats = MatrixTiles::kFloats;
static_assert(kTileFloats == kSize * kPairs);
constexpr std::size_t kRowBytes = kPairs * sizeof(float);
static_assert(kLanes == kSize && kLanes == kPairs);

/// What ldtilecfg reads.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

void Begin() {
  static constexpr TileConfiguration kConfiguration = [] {
    TileConfiguration configuration;
    for (std::size_t tile = 0; tile < 8; ++tile) {
      configuration.row_bytes[tile] = kRowBytes;
      configuration.rows[tile] = kSize;
    }
    return configuration;
  }();
  asm volatile("ldtilecfg %0" ::"m"(kConfiguration));
}

void End() { asm volatile("tilerelease" ::); }

/// Sums are in tiles 0 to 3, row by row, operands in 4 and 5 (rows) and 6 and 7 (columns). The lower halves
/// of columns come first and those of rows last, so that upper halves are loaded once.
template <bool kPlacedRows, std::size_t kRows, std::size_t kColumns>
void MultiplyTiles(const TileSum& sum, float* out, std::size_t stride, bool accumulate) {
  const std::size_t out_bytes = stride * sizeof(float);
  float* const second_row = out + kSize * stride;
  if (accumulate) {
    KERNELS_LOAD_TILE(0, out, out_bytes);
    if constexpr (kColumns == 2) KERNELS_LOAD_TILE(1, out + kSize, out_bytes);
    if constexpr (kRows == 2) KERNELS_LOAD_TILE(2, second_row, out_bytes);
    if constexpr (kRows * kColumns == 4) KERNELS_LOAD_TILE(3, second_row + kSize, out_bytes);
  } else {
    KERNELS_CLEAR_TILE(0);
    KERNELS_CLEAR_TILE(1);
    KERNELS_CLEAR_TILE(2);
    KERNELS_CLEAR_TILE(3);
  }
  constexpr std::size_t kFetches = 4;  // per step
  constexpr std::size_t kPackedLower = (kPlacedRows ? kColumns : kRows) * kTileFloats;
  const std::size_t placed_bytes = sum.placed_stride * sizeof(float);
  const std::size_t row_bytes = kPlacedRows ? placed_bytes : kRowBytes;
  const std::size_t column_bytes = kPlacedRows ? kRowBytes : placed_bytes;
  const std::size_t next_row = kPlacedRows ? sum.placed_next : kTileFloats;
  const std::size_t next_column = kPlacedRows ? kTileFloats : sum.placed_next;
  const std::size_t lower_rows = kPlacedRows ? sum.placed_lower : kPackedLower;
  const std::size_t lower_columns = kPlacedRows ? kPackedLower : sum.placed_lower;
  const float* packed = sum.packed;
  const float* fetch = sum.fetch;
  const std::size_t fetched = sum.fetch_lines * kFloatsPerLine;
  const std::size_t fetch_distance = fetched * sum.steps;
  for (std::size_t step = 0; step < sum.steps; ++step) {
    const float* const placed = sum.placed + sum.offsets[step];
    const float* const rows = kPlacedRows ? placed : packed;
    const float* const columns = kPlacedRows ? packed : placed;
    // A few streams at a time: what waits for memory at once is limited.
    const auto fetch_part = [&](std::size_t part) __attribute__((always_inline)) {
      const std::size_t first = part * sum.fetch_streams / kFetches;
      const std::size_t last = (part + 1) * sum.fetch_streams / kFetches;
      fetch_rows(fetch + first * fetch_distance, fetch_distance, last - first, fetched);
    };
    fetch_part(0);
    KERNELS_LOAD_TILE(4, rows, row_bytes);
    KERNELS_LOAD_TILE(6, columns + lower_columns, column_bytes);
    KERNELS_MULTIPLY_TILES(0, 4, 6);
    if constexpr (kRows == 2) {
      KERNELS_LOAD_TILE(5, rows + next_row, row_bytes);
      KERNELS_MULTIPLY_TILES(2, 5, 6);
    }
    if constexpr (kColumns == 2) {
      KERNELS_LOAD_TILE(7, columns + lower_columns + next_column, column_bytes);
      KERNELS_MULTIPLY_TILES(1, 4, 7);
      if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(3, 5, 7);
    }
    fetch_part(1);
    KERNELS_LOAD_TILE(6, columns, column_bytes);
    KERNELS_MULTIPLY_TILES(0, 4, 6);
    if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(2, 5, 6);
    fetch_part(2);
    if constexpr (kColumns == 2) {
      KERNELS_LOAD_TILE(7, columns + next_column, column_bytes);
      KERNELS_MULTIPLY_TILES(1, 4, 7);
      if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(3, 5, 7);
    }
    KERNELS_LOAD_TILE(4, rows + lower_rows, row_bytes);
    KERNELS_MULTIPLY_TILES(0, 4, 6);
    if constexpr (kRows == 2) {
      KERNELS_LOAD_TILE(5, rows + lower_rows + next_row, row_bytes);
      KERNELS_MULTIPLY_TILES(2, 5, 6);
    }
    if constexpr (kColumns == 2) {
      KERNELS_MULTIPLY_TILES(1, 4, 7);
      if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(3, 5, 7);
    }
    fetch_part(3);
    fetch += fetched;
    packed += 2 * kPackedLower;
  }
  KERNELS_STORE_TILE(0, out, out_bytes);
  if constexpr (kColumns == 2) KERNELS_STORE_TILE(1, out + kSize, out_bytes);
  if constexpr (kRows == 2) KERNELS_STORE_TILE(2, second_row, out_bytes);
  if constexpr (kRows * kColumns == 4) KERNELS_STORE_TILE(3, second_row + kSize, out_bytes);
}

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

HWY_INLINE VU upper_halves(VU v) { return hn::And(v, hn::Set(DU(), 0xFFFF0000)); }

/// `second` gives the upper halves of lanes.
HWY_INLINE V paired(VU first, VU second) {
  return hn::BitCast(D(), hn::Or(hn::ShiftRight<16>(first), upper_halves(second)));
}

/// Upper halves are rounded; of some NaN they are numbers. What is left is cut off to a half after it has
/// grown by about half of a unit of that, which comes close to rounding and leaves a NaN one.
HWY_INLINE void split(V first, V second, float* upper, float* lower) {
  const D d;
  const DU du;
  const VU half = hn::Set(du, 0x8000);
  const V growth = hn::Set(d, 1 + 0.7F / 256);
  const VU first_rounded = hn::Add(hn::BitCast(du, first), half);
  const VU second_rounded = hn::Add(hn::BitCast(du, second), half);
  hn::StoreU(paired(first_rounded, second_rounded), d, upper);
  const V first_rest = hn::Sub(first, hn::BitCast(d, upper_halves(first_rounded)));
  const V second_rest = hn::Sub(second, hn::BitCast(d, upper_halves(second_rounded)));
  hn::StoreU(
      paired(hn::BitCast(du, hn::Mul(first_rest, growth)), hn::BitCast(du, hn::Mul(second_rest, growth))), d,
      lower);
}

void SplitRows(const float* from, std::size_t row_stride, std::size_t rows, std::size_t terms,
               std::size_t tiles, float* to) {
  const D d;
  const std::size_t lower = tiles * kTileFloats;
  const std::size_t first = std::min(terms, kPairs);
  const std::size_t second = terms - first;
  for (std::size_t row = 0; row < rows; ++row, from += row_stride, to += kPairs) {
    if (second == kPairs) {
      split(hn::LoadU(d, from), hn::LoadU(d, from + kPairs), to, to + lower);
    } else {
      split(load_edge(from, first), load_edge(from + first, second), to, to + lower);
    }
  }
  for (std::size_t row = rows; row < tiles * kSize; ++row, to += kPairs)
    split(hn::Zero(d), hn::Zero(d), to, to + lower);
}

void SplitColumns(const float* from, std::size_t stride, std::size_t terms, std::size_t columns, float* to,
                  std::size_t to_stride, std::size_t to_lower) {
  const D d;
  for (std::size_t pair = 0; pair < kPairs; ++pair, to += to_stride) {
    const float* const first = from + pair * stride;
    const float* const second = first + kPairs * stride;
    const bool has_first = pair < terms;
    const bool has_second = pair + kPairs < terms;
    std::size_t column = 0;
    if (has_second) {
      for (; column + kLanes <= columns; column += kLanes)
        split(hn::LoadU(d, first + column), hn::LoadU(d, second + column), to + column,
              to + to_lower + column);
    }
    for (; column < columns; column += kLanes) {
      const std::size_t count = std::min(kLanes, columns - column);
      split(has_first ? load_edge(first + column, count) : hn::Zero(d),
            has_second ? load_edge(second + column, count) : hn::Zero(d), to + column,
            to + to_lower + column);
    }
  }
}

void SplitLines(const float* from, std::size_t stride, std::size_t terms, std::size_t columns, float* to) {
  const D d;
  constexpr std::size_t kColumns = 4;
  const RepeatedLastRow lines{{from, stride}, terms - 1};
  for (std::size_t column = 0; column < columns; column += kColumns) {
    V first[kColumns];
    V second[kColumns];
    if (terms == kStepTerms) {
      load_transposed(d, EvenRows{from + column, stride}, first);
      load_transposed(d, EvenRows{from + kPairs * stride + column, stride}, second);
    } else {
      load_transposed(
          d, [&](std::size_t i) HWY_ATTR { return lines(i) + column; }, first);
      load_transposed(
          d, [&](std::size_t i) HWY_ATTR { return lines(kPairs + i) + column; }, second);
    }
    KERNELS_UNROLL for (std::size_t i = 0; i < kColumns; ++i, to += kStepTerms)
        split(first[i], second[i], to, to + kPairs);
  }
}

void FinishTiles(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  const D d;
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  const auto finish = [&](V v, V bias, std::size_t row, std::size_t column, const auto& load) HWY_ATTR {
    v = hn::Add(v, bias);
    if (tile.column_bias != nullptr) v = hn::Add(v, load(tile.column_bias + column));
    if (tile.residual != nullptr) v = hn::Add(v, load(tile.residual + row * tile.stride + column));
    return clamp(low, high, v);
  };
  const std::size_t whole = tile.columns / kLanes * kLanes;
  const std::size_t rest = tile.columns - whole;
  const auto load_whole = [](const float* values) HWY_ATTR { return hn::LoadU(D(), values); };
  const auto load_rest = [rest](const float* values) HWY_ATTR { return load_edge(values, rest); };
  for (std::size_t row = 0; row < rows; ++row, from += stride) {
    const V bias = tile.row_bias == nullptr ? hn::Zero(d) : hn::Set(d, tile.row_bias[row]);
    float* const out = tile.out + row * tile.stride;
    for (std::size_t column = 0; column < whole; column += kLanes)
      hn::StoreU(finish(load_whole(from + column), bias, row, column, load_whole), d, out + column);
    if (rest != 0)
      store_edge(finish(load_rest(from + whole), bias, row, whole, load_rest), out + whole, rest);
  }
}

#undef KERNELS_LOAD_TILE
#undef KERNELS_STORE_TILE
#undef KERNELS_CLEAR_TILE
#undef KERNELS_MULTIPLY_TILES

}  // namespace

const MatrixTiles* MatrixTilesOfTarget() {
  static constexpr MatrixTiles kTiles{Begin,
                                      End,
                                      {{MultiplyTiles<true, 1, 1>, MultiplyTiles<true, 1, 2>},
                                       {MultiplyTiles<true, 2, 1>, MultiplyTiles<true, 2, 2>}},
                                      {{MultiplyTiles<false, 1, 1>, MultiplyTiles<false, 1, 2>},
                                       {MultiplyTiles<false, 2, 1>, MultiplyTiles<false, 2, 2>}},
                                      SplitRows,
                                      SplitColumns,
                                      SplitLines,
                                      FinishTiles};
  return &kTiles;
}
#else
const MatrixTiles* MatrixTilesOfTarget() { return nullptr; }
#endif

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(MatrixTilesOfTarget);

namespace {

/// Linux lets a program use them once it has asked: they are kilobytes more to save for each of its threads.
bool may_use_matrix_tiles() {
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
  if (!has_bfloat16_tiles()) return false;
  constexpr long kAskForState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

const MatrixTiles* matrix_tiles() {
  static const bool may_use = may_use_matrix_tiles();
  return may_use ? HWY_DYNAMIC_DISPATCH(MatrixTilesOfTarget)() : nullptr;
}

double tile_product_cost(std::size_t row_tiles, std::size_t column_tiles, std::size_t steps) {
  constexpr double kThreeProducts = 3 * 16 * 1.2;
  constexpr double kResults = 40;  // to begin with, and to store
  return static_cast<double>(row_tiles * column_tiles) *
         (kThreeProducts * static_cast<double>(steps) + kResults);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
