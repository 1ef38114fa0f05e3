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
constexpr std::size_t kTileFloats = kSize * kPairs;
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

HWY_INLINE const float* row_of_tiles(const float* from, std::size_t stride) { return from + kSize * stride; }
HWY_INLINE float* row_of_tiles(float* from, std::size_t stride) { return from + kSize * stride; }

/// Sums are in tiles 0 to 3, row by row, operands in 4 and 5 (rows) and 6 and 7 (columns). The lower halves
/// of columns come first and those of rows last, so that upper halves are loaded once.
template <std::size_t kRows, std::size_t kColumns>
void MultiplyTiles(const TileSum& sum, float* out, std::size_t stride, bool accumulate) {
  const std::size_t out_bytes = stride * sizeof(float);
  if (accumulate) {
    KERNELS_LOAD_TILE(0, out, out_bytes);
    if constexpr (kColumns == 2) KERNELS_LOAD_TILE(1, out + kSize, out_bytes);
    if constexpr (kRows == 2) KERNELS_LOAD_TILE(2, row_of_tiles(out, stride), out_bytes);
    if constexpr (kRows * kColumns == 4) KERNELS_LOAD_TILE(3, row_of_tiles(out, stride) + kSize, out_bytes);
  } else {
    KERNELS_CLEAR_TILE(0);
    KERNELS_CLEAR_TILE(1);
    KERNELS_CLEAR_TILE(2);
    KERNELS_CLEAR_TILE(3);
  }
  const std::size_t right_bytes = sum.right_stride * sizeof(float);
  const float* left = sum.left;
  const float* fetch = sum.fetch;
  for (std::size_t step = 0; step < sum.steps; ++step) {
    const float* const upper = sum.right + sum.offsets[step];
    const float* const lower = upper + sum.right_lower;
    KERNELS_LOAD_TILE(4, left, kRowBytes);
    KERNELS_LOAD_TILE(6, lower, right_bytes);
    KERNELS_MULTIPLY_TILES(0, 4, 6);
    if constexpr (kRows == 2) {
      KERNELS_LOAD_TILE(5, left + kTileFloats, kRowBytes);
      KERNELS_MULTIPLY_TILES(2, 5, 6);
    }
    if constexpr (kColumns == 2) {
      KERNELS_LOAD_TILE(7, lower + kSize, right_bytes);
      KERNELS_MULTIPLY_TILES(1, 4, 7);
      if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(3, 5, 7);
    }
    KERNELS_LOAD_TILE(6, upper, right_bytes);
    KERNELS_MULTIPLY_TILES(0, 4, 6);
    if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(2, 5, 6);
    if constexpr (kColumns == 2) {
      KERNELS_LOAD_TILE(7, upper + kSize, right_bytes);
      KERNELS_MULTIPLY_TILES(1, 4, 7);
      if constexpr (kRows == 2) KERNELS_MULTIPLY_TILES(3, 5, 7);
    }
    left += kRows * kTileFloats;
    KERNELS_LOAD_TILE(4, left, kRowBytes);
    KERNELS_MULTIPLY_TILES(0, 4, 6);
    if constexpr (kColumns == 2) KERNELS_MULTIPLY_TILES(1, 4, 7);
    if constexpr (kRows == 2) {
      KERNELS_LOAD_TILE(5, left + kTileFloats, kRowBytes);
      KERNELS_MULTIPLY_TILES(2, 5, 6);
      if constexpr (kColumns == 2) KERNELS_MULTIPLY_TILES(3, 5, 7);
    }
    left += kRows * kTileFloats;
    for (std::size_t i = 0; i < sum.fetch_step; i += kFloatsPerLine) fetch_to_second_level(fetch + i);
    fetch += sum.fetch_step;
  }
  KERNELS_STORE_TILE(0, out, out_bytes);
  if constexpr (kColumns == 2) KERNELS_STORE_TILE(1, out + kSize, out_bytes);
  if constexpr (kRows == 2) KERNELS_STORE_TILE(2, row_of_tiles(out, stride), out_bytes);
  if constexpr (kRows * kColumns == 4) KERNELS_STORE_TILE(3, row_of_tiles(out, stride) + kSize, out_bytes);
}

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

HWY_INLINE VU upper_halves(VU v) { return hn::And(v, hn::Set(DU(), 0xFFFF0000)); }

/// `second` gives the upper halves of lanes.
HWY_INLINE V paired(VU first, VU second) {
  return hn::BitCast(D(), hn::Or(hn::ShiftRight<16>(first), upper_halves(second)));
}

/// Upper halves are rounded. What is left of a number has either sign, so it can be cut off. Of some NaN the
/// upper half is a number, the lower one never.
HWY_INLINE void split(V first, V second, float* upper, float* lower) {
  const D d;
  const DU du;
  const VU half = hn::Set(du, 0x8000);
  const VU first_rounded = hn::Add(hn::BitCast(du, first), half);
  const VU second_rounded = hn::Add(hn::BitCast(du, second), half);
  hn::StoreU(paired(first_rounded, second_rounded), d, upper);
  const V first_rest = hn::Sub(first, hn::BitCast(d, upper_halves(first_rounded)));
  const V second_rest = hn::Sub(second, hn::BitCast(d, upper_halves(second_rounded)));
  hn::StoreU(paired(hn::BitCast(du, first_rest), hn::BitCast(du, second_rest)), d, lower);
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

void FinishTiles(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  const D d;
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  for (std::size_t row = 0; row < rows; ++row, from += stride) {
    const V bias = tile.row_bias == nullptr ? hn::Zero(d) : hn::Set(d, tile.row_bias[row]);
    float* const out = tile.out + row * tile.stride;
    const float* const residual = tile.residual == nullptr ? nullptr : tile.residual + row * tile.stride;
    for (std::size_t column = 0; column < tile.columns; column += kLanes) {
      const std::size_t count = std::min(kLanes, tile.columns - column);
      V v = hn::Add(load_edge(from + column, count), bias);
      if (tile.column_bias != nullptr) v = hn::Add(v, load_edge(tile.column_bias + column, count));
      if (residual != nullptr) v = hn::Add(v, load_edge(residual + column, count));
      store_edge(clamp(low, high, v), out + column, count);
    }
  }
}

#undef KERNELS_LOAD_TILE
#undef KERNELS_STORE_TILE
#undef KERNELS_CLEAR_TILE
#undef KERNELS_MULTIPLY_TILES

}  // namespace

const MatrixTiles* MatrixTilesOfTarget() {
  static constexpr MatrixTiles kTiles{
      Begin,
      End,
      {{MultiplyTiles<1, 1>, MultiplyTiles<1, 2>}, {MultiplyTiles<2, 1>, MultiplyTiles<2, 2>}},
      SplitRows,
      SplitColumns,
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
