#include "kernels/matmul/matrix_tiles.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "kernels/base/processor.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matrix_tiles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/gemm-inl.h"

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

/// Which parts of rows and columns are multiplied, smaller products first: each pair differs from the one
/// before in one of them, and only what differs is loaded.
struct PartPair {
  std::size_t row;
  std::size_t column;
};
template <std::size_t kParts>
inline constexpr PartPair kPairsOfParts[] = {{0, 1}, {0, 0}, {1, 0}};
template <>
inline constexpr PartPair kPairsOfParts<3>[] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};

/// Adds the products of pairs of parts [kFirst, kLast) for all steps. Sums are in tiles 0 to 3, row by row,
/// operands in 4 and 5 (rows) and 6 and 7 (columns). A tile takes 16 cycles, and its sum is there after 52:
/// four of them in turn.
template <std::size_t kParts, bool kPlacedRows, std::size_t kRows, std::size_t kColumns, std::size_t kFirst,
          std::size_t kLast>
HWY_INLINE void add_products(const TileSum& sum) {
  constexpr auto& kProducts = kPairsOfParts<kParts>;
  constexpr std::size_t kPackedPart = (kPlacedRows ? kColumns : kRows) * kTileFloats;
  const std::size_t placed_bytes = sum.placed_stride * sizeof(float);
  const std::size_t row_bytes = kPlacedRows ? placed_bytes : kRowBytes;
  const std::size_t column_bytes = kPlacedRows ? kRowBytes : placed_bytes;
  const std::size_t next_row = kPlacedRows ? sum.placed_next : kTileFloats;
  const std::size_t next_column = kPlacedRows ? kTileFloats : sum.placed_next;
  const std::size_t row_part = kPlacedRows ? sum.placed_part : kPackedPart;
  const std::size_t column_part = kPlacedRows ? kPackedPart : sum.placed_part;
  const float* packed = sum.packed;
  const float* fetch = sum.fetch;
  const std::size_t fetched = sum.fetch_lines * kFloatsPerLine;
  const std::size_t fetch_distance = fetched * sum.steps;
  for (std::size_t step = 0; step < sum.steps; ++step) {
    const float* const placed = sum.placed + sum.offsets[step];
    const float* const rows = kPlacedRows ? placed : packed;
    const float* const columns = kPlacedRows ? packed : placed;
    KERNELS_UNROLL for (std::size_t i = kFirst; i < kLast; ++i) {
      const auto [row, column] = kProducts[i];
      const bool loads_rows = i == kFirst || row != kProducts[i - 1].row;
      const bool loads_columns = i == kFirst || column != kProducts[i - 1].column;
      if constexpr (kFirst == 0) {
        // A few streams at a time: what waits for memory at once is limited.
        const std::size_t first_stream = i * sum.fetch_streams / kLast;
        const std::size_t last_stream = (i + 1) * sum.fetch_streams / kLast;
        fetch_rows(fetch + first_stream * fetch_distance, fetch_distance, last_stream - first_stream,
                   fetched);
      }
      if (loads_rows) KERNELS_LOAD_TILE(4, rows + row * row_part, row_bytes);
      if (loads_columns) KERNELS_LOAD_TILE(6, columns + column * column_part, column_bytes);
      KERNELS_MULTIPLY_TILES(0, 4, 6);
      if constexpr (kRows == 2) {
        if (loads_rows) KERNELS_LOAD_TILE(5, rows + row * row_part + next_row, row_bytes);
        KERNELS_MULTIPLY_TILES(2, 5, 6);
      }
      if constexpr (kColumns == 2) {
        if (loads_columns) KERNELS_LOAD_TILE(7, columns + column * column_part + next_column, column_bytes);
        KERNELS_MULTIPLY_TILES(1, 4, 7);
        if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(3, 5, 7);
      }
    }
    fetch += fetched;
    packed += kParts * kPackedPart;
  }
}

template <std::size_t kParts, bool kPlacedRows, std::size_t kRows, std::size_t kColumns>
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
  constexpr std::size_t kCount = std::size(kPairsOfParts<kParts>);
  if constexpr (kParts > 2) {
    // Sums of small products first: to add each of them to a large one would round as often again.
    add_products<kParts, kPlacedRows, kRows, kColumns, 0, kCount - 1>(sum);
    add_products<kParts, kPlacedRows, kRows, kColumns, kCount - 1, kCount>(sum);
  } else {
    add_products<kParts, kPlacedRows, kRows, kColumns, 0, kCount>(sum);
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

/// Parts, `distance` apart, of which all but the last are rounded; of some NaN they are numbers. What is left
/// at last is cut off after it has grown by about half of a unit of what stays, which comes close to rounding
/// and leaves a NaN one.
template <std::size_t kParts>
HWY_INLINE void split(V first, V second, float* to, std::size_t distance) {
  const D d;
  const DU du;
  const VU half = hn::Set(du, 0x8000);
  KERNELS_UNROLL for (std::size_t part = 0; part + 1 < kParts; ++part, to += distance) {
    const VU first_rounded = hn::Add(hn::BitCast(du, first), half);
    const VU second_rounded = hn::Add(hn::BitCast(du, second), half);
    hn::StoreU(paired(first_rounded, second_rounded), d, to);
    first = hn::Sub(first, hn::BitCast(d, upper_halves(first_rounded)));
    second = hn::Sub(second, hn::BitCast(d, upper_halves(second_rounded)));
  }
  const V growth = hn::Set(d, 1 + 0.7F / 256);
  hn::StoreU(paired(hn::BitCast(du, hn::Mul(first, growth)), hn::BitCast(du, hn::Mul(second, growth))), d,
             to);
}

template <std::size_t kParts>
void SplitRows(const float* from, std::size_t row_stride, std::size_t rows, std::size_t terms,
               std::size_t tiles, float* to) {
  const D d;
  const std::size_t part = tiles * kTileFloats;
  const std::size_t first = std::min(terms, kPairs);
  const std::size_t second = terms - first;
  for (std::size_t row = 0; row < rows; ++row, from += row_stride, to += kPairs) {
    if (second == kPairs) {
      split<kParts>(hn::LoadU(d, from), hn::LoadU(d, from + kPairs), to, part);
    } else {
      split<kParts>(load_edge(from, first), load_edge(from + first, second), to, part);
    }
  }
  for (std::size_t row = rows; row < tiles * kSize; ++row, to += kPairs)
    split<kParts>(hn::Zero(d), hn::Zero(d), to, part);
}

template <std::size_t kParts>
void SplitColumns(const float* from, std::size_t stride, std::size_t terms, std::size_t columns, float* to,
                  std::size_t to_stride, std::size_t to_part) {
  const D d;
  for (std::size_t pair = 0; pair < kPairs; ++pair, to += to_stride) {
    const float* const first = from + pair * stride;
    const float* const second = first + kPairs * stride;
    const bool has_first = pair < terms;
    const bool has_second = pair + kPairs < terms;
    std::size_t column = 0;
    if (has_second) {
      for (; column + kLanes <= columns; column += kLanes)
        split<kParts>(hn::LoadU(d, first + column), hn::LoadU(d, second + column), to + column, to_part);
    }
    for (; column < columns; column += kLanes) {
      const std::size_t count = std::min(kLanes, columns - column);
      split<kParts>(has_first ? load_edge(first + column, count) : hn::Zero(d),
                    has_second ? load_edge(second + column, count) : hn::Zero(d), to + column, to_part);
    }
  }
}

template <std::size_t kParts>
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
    KERNELS_UNROLL for (std::size_t i = 0; i < kColumns; ++i, to += kParts * kPairs)
        split<kParts>(first[i], second[i], to, kPairs);
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

template <std::size_t kParts, bool kPlacedRows, std::size_t kRows>
constexpr void add_row_count(MatrixTiles::Multiply (&multiply)[MatrixTiles::kMost]) {
  multiply[0] = MultiplyTiles<kParts, kPlacedRows, kRows, 1>;
  multiply[1] = MultiplyTiles<kParts, kPlacedRows, kRows, 2>;
}

template <std::size_t kParts>
constexpr MatrixTiles tiles_of_parts() {
  MatrixTiles tiles;
  tiles.parts = kParts;
  tiles.products = std::size(kPairsOfParts<kParts>);
  tiles.begin = Begin;
  tiles.end = End;
  add_row_count<kParts, true, 1>(tiles.multiply_placed_rows[0]);
  add_row_count<kParts, true, 2>(tiles.multiply_placed_rows[1]);
  add_row_count<kParts, false, 1>(tiles.multiply_placed_columns[0]);
  add_row_count<kParts, false, 2>(tiles.multiply_placed_columns[1]);
  tiles.split_rows = SplitRows<kParts>;
  tiles.split_columns = SplitColumns<kParts>;
  tiles.split_lines = SplitLines<kParts>;
  tiles.finish = FinishTiles;
  return tiles;
}

}  // namespace

const MatrixTiles* MatrixTilesOfTarget(bool whole) {
  static constexpr MatrixTiles kTwoParts = tiles_of_parts<2>();
  static constexpr MatrixTiles kThreeParts = tiles_of_parts<3>();
  return whole ? &kThreeParts : &kTwoParts;
}
#else
const MatrixTiles* MatrixTilesOfTarget(bool) { return nullptr; }
#endif

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(MatrixTilesOfTarget);

namespace {

std::atomic<bool> are_allowed{true};

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

void allow_matrix_tiles(bool allowed) { are_allowed = allowed; }

const MatrixTiles* matrix_tiles(bool whole) {
  static const bool may_use = may_use_matrix_tiles();
  return may_use && are_allowed ? HWY_DYNAMIC_DISPATCH(MatrixTilesOfTarget)(whole) : nullptr;
}

double tile_product_cost(const MatrixTiles& tiles, std::size_t row_tiles, std::size_t column_tiles,
                         std::size_t steps) {
  constexpr double kProduct = 16 * 1.25;
  // Of a tile: to begin with and to store it, and to begin the second round of three parts.
  const double start = tiles.parts == 2 ? 60 : 290;
  return static_cast<double>(row_tiles * column_tiles) *
         (kProduct * static_cast<double>(tiles.products * steps) + start);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
