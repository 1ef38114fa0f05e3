// Products in matrix tiles of both kinds. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_MATMUL_MATRIX_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_MATMUL_MATRIX_TILES_INL_H_
#undef KERNELS_MATMUL_MATRIX_TILES_INL_H_
#else
#define KERNELS_MATMUL_MATRIX_TILES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "hwy/highway.h"
#include "kernels/base/fetch.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/matmul/matrix_tiles.h"

// Whether they may be there.
#undef KERNELS_HAVE_MATRIX_TILES
#if HWY_TARGET == HWY_AVX3 && defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define KERNELS_HAVE_MATRIX_TILES

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

// Names of registers are part of the instructions, and no compiler keeps anything in these.
#define KERNELS_LOAD_TILE(tile, from, stride_bytes) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"(stride_bytes) : "memory")
#define KERNELS_STORE_TILE(tile, to, stride_bytes) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"(stride_bytes) : "memory")
#define KERNELS_CLEAR_TILE(tile) asm volatile("tilezero %%tmm" #tile ::)
#define KERNELS_PRODUCT_OF(instruction, sum, left, right) \
  asm volatile(instruction " %%tmm" #right ", %%tmm" #left ", %%tmm" #sum ::)
// Of bytes, those of rows are unsigned.
#define KERNELS_MULTIPLY_TILES(sum, left, right)       \
  if constexpr (kParts > 1) {                          \
    KERNELS_PRODUCT_OF("tdpbf16ps", sum, left, right); \
  } else {                                             \
    KERNELS_PRODUCT_OF("tdpbusd", sum, left, right);   \
  }

constexpr std::size_t kSize = MatrixTiles::kSize;
constexpr std::size_t kTileFloats = MatrixTiles::kFloats;
static_assert(kTileFloats == kSize * kSize && kLanes == kSize);
constexpr std::size_t kRowBytes = kSize * sizeof(float);

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
inline constexpr PartPair kPairsOfParts<1>[] = {{0, 0}};
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

#undef KERNELS_LOAD_TILE
#undef KERNELS_STORE_TILE
#undef KERNELS_CLEAR_TILE
#undef KERNELS_MULTIPLY_TILES
#undef KERNELS_PRODUCT_OF

template <std::size_t kParts, bool kPlacedRows, std::size_t kRows>
constexpr void add_row_count(MatrixTiles::Multiply (&multiply)[MatrixTiles::kMost]) {
  multiply[0] = MultiplyTiles<kParts, kPlacedRows, kRows, 1>;
  multiply[1] = MultiplyTiles<kParts, kPlacedRows, kRows, 2>;
}

/// Of floats that are sums of so many parts, or of bytes, which have one: what multiplies.
template <std::size_t kParts>
constexpr MatrixTiles products_of_parts() {
  MatrixTiles tiles;
  tiles.parts = kParts;
  tiles.products = std::size(kPairsOfParts<kParts>);
  tiles.step_terms = kParts == 1 ? kSize : MatrixTiles::kStepTerms;
  tiles.begin = Begin;
  tiles.end = End;
  add_row_count<kParts, true, 1>(tiles.multiply_placed_rows[0]);
  add_row_count<kParts, true, 2>(tiles.multiply_placed_rows[1]);
  if constexpr (kParts > 1) {
    add_row_count<kParts, false, 1>(tiles.multiply_placed_columns[0]);
    add_row_count<kParts, false, 2>(tiles.multiply_placed_columns[1]);
  }
  return tiles;
}

/// out(r, c) = clamp(value + biases + residual); `values(v, c, load)` makes those of floats, or of sums of
/// integers, from column c on.
template <class Values>
HWY_INLINE void finish_tiles(const float* from, std::size_t stride, std::size_t rows, const Tile& tile,
                             const Values& values) {
  const D d;
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  const auto finish = [&](std::size_t row, std::size_t column, const auto& load) HWY_ATTR {
    V v = values(load(from + column), column, load);
    if (tile.row_bias != nullptr) v = hn::Add(v, hn::Set(d, tile.row_bias[row]));
    if (tile.column_bias != nullptr) v = hn::Add(v, load(tile.column_bias + column));
    if (tile.residual != nullptr) v = hn::Add(v, load(tile.residual + row * tile.stride + column));
    return clamp(low, high, v);
  };
  const std::size_t whole = tile.columns / kLanes * kLanes;
  const std::size_t rest = tile.columns - whole;
  const auto load_whole = [](const float* at) HWY_ATTR { return hn::LoadU(D(), at); };
  const auto load_rest = [rest](const float* at) HWY_ATTR { return load_edge(at, rest); };
  for (std::size_t row = 0; row < rows; ++row, from += stride) {
    float* const out = tile.out + row * tile.stride;
    for (std::size_t column = 0; column < whole; column += kLanes)
      hn::StoreU(finish(row, column, load_whole), d, out + column);
    if (rest != 0) store_edge(finish(row, whole, load_rest), out + whole, rest);
  }
}

void FinishFloats(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  finish_tiles(from, stride, rows, tile, [](V v, auto&&...) HWY_ATTR { return v; });
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#endif  // KERNELS_MATMUL_MATRIX_TILES_INL_H_
