#include "kernels/matmul/gemm_kernels.h"

#include <utility>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/processor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/gemm_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/matmul/multiply-inl.h"
#include "kernels/matmul/pack_columns-inl.h"
#include "kernels/matmul/stage_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t kBlockVectors = HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 ? 32 : 16;

// The fewer blocks of k, the fewer times outputs are read and written again, but panels of columns that leave
// no room in the first-level cache come from the second one for every panel of rows. A large one, which then
// keeps more of everything else, gives them fast enough for AVX-512 (Emerald Rapids).
std::size_t block_depth() {
#if HWY_TARGET == HWY_AVX2
  return first_level_cache() / 2 / (kMaxVectors * kLanes * sizeof(float));
#elif HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  return 256;
#else
  return second_level_cache() < (std::size_t{2} << 20) ? 192 : 512;
#endif
}

template <std::size_t kRows, std::size_t kVectors>
void MultiplyPlaced(std::size_t depth, const float* HWY_RESTRICT a, const RowPlace* rows,
                    const float* HWY_RESTRICT b, const Tile& tile) {
  const D d;
  V sums[kRows][kVectors];
  const float* from[kRows];
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    from[r] = a + rows[r].from;
    fetch_tile_row<kVectors>(tile.out + rows[r].to);
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  Fetching<kVectors * kLanes> fetching(tile.fetch, tile.fetch_step, b);
  for (std::size_t k = 0; k < depth; ++k) {
    fetching.next_term();
    V columns[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * kLanes);
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, from[r][k]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
      }
    }
    b += kVectors * kLanes;
  }
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    float* const to = tile.out + rows[r].to;
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Add(sums[r][v], hn::LoadU(d, to + v * kLanes)), d, to + v * kLanes);
    }
  }
}

void PackColumns(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                 float* packed) {
  pack_columns(from, stride, depth, columns, {divide_up(columns, kLanes), kMaxVectors}, packed,
               [](std::size_t) HWY_ATTR { return [](V v) HWY_ATTR { return v; }; });
}

void PackMappedColumns(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                       const TermMap& map, float* packed) {
  // A copy, which the stores cannot change.
  pack_columns(from, stride, depth, columns, {divide_up(columns, kLanes), kMaxVectors}, packed,
               [map](std::size_t k) HWY_ATTR { return Mapped(map, k); });
}

void MapRows(const float* from, std::size_t stride, std::size_t rows, std::size_t columns, const TermMap& map,
             float* to, std::size_t to_stride) {
  for (std::size_t row = 0; row < rows; ++row) {
    if (row + kRowsAhead < rows) fetch_row(from + (row + kRowsAhead) * stride, columns);
    map_unary(D(), from + row * stride, to + row * to_stride, columns, Mapped(map, row));
  }
}

void PackColumnsTransposed(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                           float* packed) {
  const Split panels(divide_up(columns, kLanes), kMaxVectors);
  for (std::size_t panel = 0; panel < panels.parts; ++panel) {
    const std::size_t first = panels.begin(panel) * kLanes;
    const std::size_t width = panels.size(panel) * kLanes;
    const std::size_t present = std::min(width, columns - first);
    float* to = packed + first * depth;
    const float* const rows = from + first * stride;
    std::size_t j = 0;
    for (; j + kLanes <= present; j += kLanes) {
      pack_rows_as_columns(D(), rows + j * stride, stride, depth, to + j, width);
    }
    for (; j + 4 <= present; j += 4) {
      pack_rows_as_columns(hn::Full128<float>(), rows + j * stride, stride, depth, to + j, width);
    }
    for (; j < width; ++j) {
      for (std::size_t k = 0; k < depth; ++k) {
        to[k * width + j] = j < present ? rows[j * stride + k] : 0.0F;
      }
    }
  }
}

// Rows of which depth runs along the memory. Groups from the last one on: each but the last fills vectors.
HWY_INLINE void pack_deep_rows(const float* from, std::size_t stride, std::size_t depth, std::size_t rows,
                               float* packed) {
  using Group = hn::CappedTag<float, 8>;  // about as many rows as a panel has
  constexpr std::size_t kGroup = hn::MaxLanes(Group());
  std::size_t r = rows / kGroup * kGroup;
  const std::size_t rest = rows - r;
  const auto pack_rest = [&](auto d) HWY_ATTR {
    pack_last_rows(d, from + r * stride, stride, rest, depth, packed + r, rows);
  };
  if (rest > 4) pack_rest(Group());
  if (rest > 0 && rest <= 4) pack_rest(hn::Full128<float>());
  while (r > 0) {
    r -= kGroup;
    pack_rows_as_columns(Group(), from + r * stride, stride, depth, packed + r, rows);
  }
}

// Rows side by side in memory. Whole vectors, of which the next line overwrites what is too much, as far as
// there is a next line in both.
HWY_INLINE void pack_short_lines(const float* from, std::size_t stride, std::size_t depth, std::size_t rows,
                                 float* packed) {
  const D d;
  std::size_t k = 0;
  if (rows <= kLanes && stride >= rows) {
    const std::size_t beyond = kLanes - rows;
    const std::size_t lines_beyond = divide_up(beyond, rows);
    for (; k + lines_beyond < depth; ++k) hn::StoreU(hn::LoadU(d, from + k * stride), d, packed + k * rows);
  }
  for (; k < depth; ++k) std::copy_n(from + k * stride, rows, packed + k * rows);
}

void PackRows(const float* from, std::size_t row_stride, std::size_t k_stride, std::size_t depth,
              const Split& split, float* packed) {
  for (std::size_t panel = 0; panel < split.parts; ++panel) {
    const float* const first = from + split.begin(panel) * row_stride;
    const std::size_t rows = split.size(panel);
    if (depth == 0) continue;
    if (row_stride == 1) {
      pack_short_lines(first, k_stride, depth, rows, packed);
    } else if (k_stride == 1) {
      pack_deep_rows(first, row_stride, depth, rows, packed);
    } else {
      for (std::size_t k = 0; k < depth; ++k) {
        for (std::size_t r = 0; r < rows; ++r) packed[k * rows + r] = first[r * row_stride + k * k_stride];
      }
    }
    packed += rows * depth;
  }
}

// The number of pieces is a constant in the usual cases, so that offsets and masks stay in registers.
template <std::size_t kPieces>
HWY_INLINE void pack_fixed_pieces(const float* from, const std::int32_t* offsets, std::size_t depth,
                                  const Piece* pieces, std::size_t columns, float* packed,
                                  std::size_t packed_stride) {
  const D d;
  const auto present = hn::FirstN(d, columns);
  const float* bases[kPieces];
  hn::Mask<D> before[kPieces];
  for (std::size_t p = 0; p < kPieces; ++p) {
    bases[p] = from + pieces[p].offset;
    before[p] = hn::FirstN(d, pieces[p].lane);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    const std::ptrdiff_t offset = offsets[k];
    V v = hn::LoadU(d, bases[0] + offset);
    KERNELS_UNROLL for (std::size_t p = 1; p < kPieces; ++p) {
      v = hn::IfThenElse(before[p], v, hn::LoadU(d, bases[p] + offset));
    }
    hn::StoreU(hn::IfThenElseZero(present, v), d, packed + k * packed_stride);
  }
}

void PackPieces(const float* from, const std::int32_t* offsets, std::size_t depth, const Piece* pieces,
                std::size_t piece_count, std::size_t columns, float* packed, std::size_t packed_stride) {
  switch (piece_count) {
    case 1:
      return pack_fixed_pieces<1>(from, offsets, depth, pieces, columns, packed, packed_stride);
    case 2:
      return pack_fixed_pieces<2>(from, offsets, depth, pieces, columns, packed, packed_stride);
    case 3:
      return pack_fixed_pieces<3>(from, offsets, depth, pieces, columns, packed, packed_stride);
    case 4:
      return pack_fixed_pieces<4>(from, offsets, depth, pieces, columns, packed, packed_stride);
    default:
      break;
  }
  const D d;
  const auto present = hn::FirstN(d, columns);
  for (std::size_t k = 0; k < depth; ++k) {
    const float* base = from + offsets[k];
    V v = hn::LoadU(d, base + pieces[0].offset);
    for (std::size_t p = 1; p < piece_count; ++p) {
      v = hn::IfThenElse(hn::FirstN(d, pieces[p].lane), v, hn::LoadU(d, base + pieces[p].offset));
    }
    hn::StoreU(hn::IfThenElseZero(present, v), d, packed + k * packed_stride);
  }
}

void StageRows(const float* from, const StagedRows& rows, const StagedChannels& channels, float* to) {
  stage_rows(from, rows, channels, to);
}

constexpr std::size_t kGemvRowsAhead = 16;

/// Columns [begin, ...) by kVectors vectors at a time, as many as there are; returns the next one.
template <std::size_t kVectors>
HWY_INLINE std::size_t add_rows(const float* x, const float* b, std::size_t stride, std::size_t k,
                                std::size_t begin, const Tile& tile) {
  const D d;
  constexpr std::size_t kWidth = kVectors * kLanes;
  std::size_t j = begin;
  for (; j + kWidth <= tile.columns; j += kWidth) {
    V sums[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    for (std::size_t i = 0; i < k; ++i) {
      const V factor = hn::Set(d, x[i]);
      const float* row = b + i * stride + j;
      // Rows are often pages apart.
      if (i + kGemvRowsAhead < k) fetch_row(row + kGemvRowsAhead * stride, kWidth);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[v] = hn::MulAdd(factor, hn::LoadU(d, row + v * kLanes), sums[v]);
      }
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(finish_vector(sums[v], tile, j + v * kLanes, kLanes), d, tile.out + j + v * kLanes);
    }
  }
  return j;
}

void Gemv(const float* x, const float* b, std::size_t stride, std::size_t k, const Tile& tile) {
  std::size_t j = add_rows<8>(x, b, stride, k, 0, tile);
  j = add_rows<4>(x, b, stride, k, j, tile);
  for (; j < tile.columns; j += kLanes) {
    const std::size_t count = std::min(kLanes, tile.columns - j);
    V sum = hn::Zero(D());
    for (std::size_t i = 0; i < k; ++i) {
      sum = hn::MulAdd(hn::Set(D(), x[i]), load_edge(b + i * stride + j, count), sum);
    }
    store_edge(finish_vector(sum, tile, j, count), tile.out + j, count);
  }
}

/// Some columns of FinishTransposed, of which `tile` is: whole vectors, or less than one.
template <class DF>
HWY_NOINLINE void finish_columns(DF d, const EvenRows& columns, std::size_t rows, const Tile& tile) {
  constexpr std::size_t kRows = 4;
  constexpr std::size_t kWidth = hn::MaxLanes(DF());
  const auto low = hn::Set(d, tile.low);
  const auto high = hn::Set(d, tile.high);
  // Compilers do not see that stores leave a tile alone.
  const float* const bias = tile.row_bias;
  const float* const residual = tile.residual;
  float* const out = tile.out;
  const std::size_t stride = tile.stride;
  const std::size_t count = std::min(kWidth, tile.columns);
  const std::size_t end = tile.columns;
  const auto finish = [&](hn::Vec<DF> v, std::size_t row, std::size_t x) HWY_ATTR {
    const std::size_t at = row * stride + x;
    if (bias != nullptr) v = hn::Add(v, hn::Set(d, bias[row]));
    if (residual != nullptr) v = hn::Add(v, load_n(d, residual + at, count));
    store_n(at_most(high, at_least(low, v)), d, out + at, count);
  };
  const RepeatedLastRow some{columns, count - 1};
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    for (std::size_t x = 0; x < end; x += kWidth) {
      hn::Vec<DF> v[kRows];
      if (count < kWidth) {
        load_transposed(
            d, [&](std::size_t i) HWY_ATTR { return some(i) + row; }, v);
      } else {
        load_transposed(d, EvenRows{columns(x) + row, columns.stride}, v);
      }
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) finish(v[r], row + r, x);
    }
  }
  for (; row < rows; ++row) {
    for (std::size_t x = 0; x < end; x += kWidth) {
      HWY_ALIGN float values[kWidth] = {};
      for (std::size_t i = 0; i < count; ++i) values[i] = columns(x + i)[row];
      finish(hn::Load(d, values), row, x);
    }
  }
}

void FinishTransposed(const float* from, std::size_t stride, std::size_t rows, const Tile& tile) {
  const hn::CappedTag<float, 4> few;
  Tile part = tile;
  const EvenRows columns{from, stride};
  for (std::size_t first = 0; first < tile.columns; first += part.columns) {
    part.out = tile.out + first;
    if (tile.residual != nullptr) part.residual = tile.residual + first;
    // As many whole vectors as leave their lines in the first-level cache, or what is left behind the last
    // one.
    const std::size_t left = std::min(tile.columns - first, GemmKernels::kPlaneLimit);
    part.columns = left < kLanes ? left : left / kLanes * kLanes;
    if (part.columns > hn::MaxLanes(few)) {
      finish_columns(D(), {columns(first), stride}, rows, part);
    } else {
      finish_columns(few, {columns(first), stride}, rows, part);
    }
  }
  clear_upper_halves();
}

/// Long rows, several at a time: each is a stream that the hardware follows.
template <std::size_t kRows>
HWY_INLINE void dot_rows(const float* x, const float* b, std::size_t stride, std::size_t k, float* out) {
  const D d;
  V sums[kRows];
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    const V factor = hn::LoadU(d, x + i);
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      sums[r] = hn::MulAdd(factor, hn::LoadU(d, b + r * stride + i), sums[r]);
    }
  }
  if (i < k) {
    const V factor = load_edge(x + i, k - i);
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      sums[r] = hn::MulAdd(factor, load_edge(b + r * stride + i, k - i), sums[r]);
    }
  }
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) out[r] = hn::GetLane(hn::SumOfLanes(d, sums[r]));
}

/// A short row: the hardware has hardly found the stream when it ends. Rows lie one behind the other, mostly,
/// so that what comes `ahead` floats behind is read soon.
HWY_INLINE float dot_row(const float* x, const float* row, std::size_t k, std::size_t ahead) {
  const D d;
  constexpr std::size_t kVectors = 4;
  V sums[kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kVectors * kLanes <= k; i += kVectors * kLanes) {
    for (std::size_t line = 0; line < kVectors * kLanes; line += kFloatsPerLine)
      fetch_to_first_level(row + i + ahead + line);
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t at = i + v * kLanes;
      sums[v] = hn::MulAdd(hn::LoadU(d, x + at), hn::LoadU(d, row + at), sums[v]);
    }
  }
  for (; i + kLanes <= k; i += kLanes)
    sums[0] = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, row + i), sums[0]);
  if (i < k) sums[1] = hn::MulAdd(load_edge(x + i, k - i), load_edge(row + i, k - i), sums[1]);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}

void GemvTransposed(const float* x, const float* b, std::size_t stride, std::size_t k, const Tile& tile) {
  const D d;
  constexpr std::size_t kRows = 4;
  constexpr std::size_t kLongRow = 8192;
  const std::size_t ahead = stream_ahead() / sizeof(float);
  for (std::size_t j = 0; j < tile.columns; j += kLanes) {
    const std::size_t count = std::min(kLanes, tile.columns - j);
    HWY_ALIGN float sums[kLanes] = {};
    std::size_t i = 0;
    for (; k >= kLongRow && i + kRows <= count; i += kRows)
      dot_rows<kRows>(x, b + (j + i) * stride, stride, k, sums + i);
    for (; i < count; ++i) sums[i] = dot_row(x, b + (j + i) * stride, k, ahead);
    store_edge(finish_vector(hn::Load(d, sums), tile, j, count), tile.out + j, count);
  }
}

template <std::size_t kRows, std::size_t... kVectors>
void add_row_count(GemmKernels& kernels, std::index_sequence<kVectors...>) {
  ((kernels.packed[kRows][kVectors] = Multiply<FloatTerms, kRows + 1, kVectors + 1, true, true>), ...);
  ((kernels.direct[kRows][kVectors] = Multiply<FloatTerms, kRows + 1, kVectors + 1, false, true>), ...);
  ((kernels.direct_columns[kRows][kVectors] = Multiply<FloatTerms, kRows + 1, kVectors + 1, true, false>),
   ...);
  ((kernels.placed[kRows][kVectors] = MultiplyPlaced<kRows + 1, kVectors + 1>), ...);
}

template <std::size_t... kRows>
GemmKernels make_kernels(std::index_sequence<kRows...>) {
  GemmKernels kernels;
  kernels.lanes = kLanes;
  kernels.turns = kLanes == GemmKernels::kLanesLimit && splits_long_vectors() ? 2 : 1;
  kernels.max_rows = kMaxRows;
  kernels.max_vectors = kMaxVectors;
  kernels.block_depth = block_depth();
  kernels.block_vectors = kBlockVectors;
  (add_row_count<kRows>(kernels, std::make_index_sequence<kMaxVectors>()), ...);
  kernels.pack_rows = PackRows;
  kernels.pack_columns = PackColumns;
  kernels.pack_mapped_columns = PackMappedColumns;
  kernels.pack_columns_transposed = PackColumnsTransposed;
  kernels.pack_pieces = PackPieces;
  kernels.finish_transposed = FinishTransposed;
  kernels.map_rows = MapRows;
  kernels.stage_rows = StageRows;
  kernels.gemv = Gemv;
  kernels.gemv_transposed = GemvTransposed;
  return kernels;
}

}  // namespace

const GemmKernels* Kernels() {
  static const GemmKernels kernels = make_kernels(std::make_index_sequence<kMaxRows>());
  return &kernels;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(Kernels);

const GemmKernels& gemm_kernels() { return *HWY_DYNAMIC_DISPATCH(Kernels)(); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
