// What the lanes of operands are, and the inner loop of matrix products over them. Included inside a
// foreach_target file, after highway.h.
#if defined(KERNELS_MATMUL_MULTIPLY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_MATMUL_MULTIPLY_INL_H_
#undef KERNELS_MATMUL_MULTIPLY_INL_H_
#else
#define KERNELS_MATMUL_MULTIPLY_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/base/processor.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/quads-inl.h"
#include "kernels/weights/integer_weights.h"

// Whether one instruction multiplies pairs of 16-bit integers and adds up both products, and floats are
// slower. SSE4 has it, too, but is there to run at all.
#undef KERNELS_HAVE_PAIRS
#if HWY_TARGET == HWY_AVX2
#define KERNELS_HAVE_PAIRS 1
#else
#define KERNELS_HAVE_PAIRS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

// Accumulators, one panel vector each and a broadcast must fit the registers; more accumulators than
// 2 FMA x 4 cycles hide the latency.
#if HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kMaxRows = 6, kMaxVectors = 2;
#elif HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
inline constexpr std::size_t kMaxRows = 4, kMaxVectors = 2;
#else
inline constexpr std::size_t kMaxRows = 8, kMaxVectors = 3;
#endif
static_assert(kMaxRows <= GemmKernels::kRowsLimit && kMaxVectors <= GemmKernels::kVectorsLimit);
static_assert(kLanes <= GemmKernels::kLanesLimit);

/// A lane is a float. Sums begin with the biases of their rows.
struct FloatTerms {
  using Sum = V;
  static constexpr bool kLevels = false;  ///< whether Tile::joins and levels count
  template <std::size_t kRows, std::size_t kVectors>
  static HWY_INLINE void start(Sum (&sums)[kRows][kVectors], const Tile& tile) {
    start_tile(sums, tile);
  }
  static HWY_INLINE Sum add_product(V factor, V column, Sum sum) { return hn::MulAdd(factor, column, sum); }
  /// Sums as floats, there or in `values`.
  template <std::size_t kRows, std::size_t kVectors>
  static HWY_INLINE auto& values_of(Sum (&sums)[kRows][kVectors], V (&)[kRows][kVectors], const Tile&) {
    return sums;
  }
};

#if KERNELS_HAVE_PAIRS || defined(KERNELS_DOT_QUADS)
/// A lane is some integers (integer_kernels.h). What sums are worth, and biases, come in the end.
struct IntegerTerms {
  static constexpr bool kLevels = false;
  using DSum = hn::ScalableTag<std::int32_t>;
  using Sum = hn::Vec<DSum>;
  template <std::size_t kRows, std::size_t kVectors>
  static HWY_INLINE void start(Sum (&sums)[kRows][kVectors], const Tile&) {
    Sum zero = hn::Zero(DSum());
#if HWY_COMPILER_GCC_ACTUAL
    // If it knew that the first products are added to 0, it would go through the loop half a turn ahead, for
    // which there are not enough registers.
    asm("" : "+v"(zero.raw));
#endif
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = zero;
    }
  }
  template <std::size_t kRows, std::size_t kVectors>
  static HWY_INLINE auto& values_of(Sum (&sums)[kRows][kVectors], V (&values)[kRows][kVectors],
                                    const Tile& tile) {
    const D d;
    V products[kRows][kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) products[r][v] = hn::ConvertTo(d, sums[r][v]);
      if (tile.column_scale == nullptr) continue;
      const V scale = load_edge(tile.column_scale + v * kLanes, std::min(tile.columns - v * kLanes, kLanes));
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) products[r][v] = hn::Mul(products[r][v], scale);
    }
    start_tile(values, tile);
    const float one = 1;
    const float* const row_scale = tile.row_scale == nullptr ? &one : tile.row_scale;
    const std::size_t step = tile.row_scale == nullptr ? 0 : 1;
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      const V scale = hn::Set(d, row_scale[r * step]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        values[r][v] = hn::MulAdd(products[r][v], scale, values[r][v]);
      }
    }
    return values;
  }
};
#endif

#if KERNELS_HAVE_PAIRS
struct PairTerms : IntegerTerms {
  static HWY_INLINE Sum add_product(V factor, V column, Sum sum) {
    const hn::ScalableTag<std::int16_t> d;
    Sum unused = sum;
    return hn::ReorderWidenMulAccumulate(DSum(), hn::BitCast(d, factor), hn::BitCast(d, column), sum, unused);
  }
};
#endif

#ifdef KERNELS_DOT_QUADS
/// kUnsignedRows: the bytes of rows are the unsigned ones, else those of columns.
template <bool kUnsignedRows>
struct QuadTerms : IntegerTerms {
  static constexpr bool kLevels = !kUnsignedRows;
  static HWY_INLINE Sum add_product(V factor, V column, Sum sum) {
    if constexpr (kUnsignedRows) {
      asm(KERNELS_DOT_QUADS : "+v"(sum.raw) : "v"(factor.raw), "v"(column.raw));
    } else {
      asm(KERNELS_DOT_QUADS : "+v"(sum.raw) : "v"(column.raw), "v"(factor.raw));
    }
    return sum;
  }
};
#endif

/// make.template operator()<Terms, TermsOfUnsignedRows>() for lanes of that form; nullptr where floats are
/// multiplied as fast, or nothing multiplies such lanes.
template <class Make>
auto with_integer_terms([[maybe_unused]] LaneForm form, [[maybe_unused]] const Make& make)
    -> decltype(make.template operator()<FloatTerms, FloatTerms>()) {
#ifdef KERNELS_DOT_QUADS
  if (form == LaneForm::quads && dots_integers(kLanes))
    return make.template operator()<QuadTerms<false>, QuadTerms<true>>();
#endif
#if KERNELS_HAVE_PAIRS
  if (form == LaneForm::pairs) return make.template operator()<PairTerms, PairTerms>();
#endif
  return nullptr;
}

template <std::size_t kVectors>
HWY_INLINE void fetch_tile_row(const float* out) {
  KERNELS_UNROLL for (std::size_t x = 0; x < kVectors * kLanes; x += kFloatsPerLine) {
    fetch_to_first_level(out + x);
  }
}

/// What is fetched while a tile is summed, term by term: all lines that a step touches, which is at most
/// `kFloats` long. Most steps touch one; to fetch others for nothing takes a twentieth of the time of tiles
/// of AVX-512 on Intel's cores, where loads are as busy as multiply-adds.
template <std::size_t kFloats>
class Fetching {
 public:
  /// `step` floats from `from` on for each term. `near`: memory that is read anyway, which costs the least
  /// where nothing is to be fetched.
  HWY_INLINE Fetching(const float* from, std::size_t step, const float* near)
      : from_(from != nullptr ? from : near), step_(from != nullptr ? step : 0) {}
  HWY_INLINE void next_term() {
    fetch_to_second_level(from_);
    std::size_t step = step_;
#if defined(__GNUC__)
    asm("" : "+r"(step));  // not known to be the same for all terms, or there would be two loops
#endif
    if (kFloats > kFloatsPerLine && step > kFloatsPerLine) {
      KERNELS_UNROLL for (std::size_t x = kFloatsPerLine; x < kFloats; x += kFloatsPerLine) {
        fetch_to_second_level(from_ + x);
      }
    }
    from_ += step_;
  }

 private:
  const float* from_;
  std::size_t step_;
};

/// Adds the products of one term: of row r at a[r * row_stride] with each vector of columns.
template <class Terms, std::size_t kRows, std::size_t kVectors>
HWY_INLINE void add_term(typename Terms::Sum (&sums)[kRows][kVectors], const V (&columns)[kVectors],
                         const float* HWY_RESTRICT a, std::size_t row_stride) {
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    const V factor = hn::Set(D(), a[r * row_stride]);
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = Terms::add_product(factor, columns[v], sums[r][v]);
    }
  }
}

// Few tiles are the first to read differences of columns; for small ones, those are made ahead.
template <std::size_t kRows, std::size_t kVectors>
inline constexpr bool kSubtracts = (kRows + 1 >= kMaxRows) && (kVectors == kMaxVectors);

#ifdef KERNELS_DOT_QUADS
/// What Tile::joins or Tile::levels asks for.
template <class Sum, std::size_t kRows, std::size_t kVectors>
HWY_INLINE void store_levels(const Sum (&sums)[kRows][kVectors], const Tile& tile) {
  const D d;
  const LevelBounds<> bounds(tile.low, tile.high);
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; r += kMostLaneTerms) {
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      const bool is_whole = v + 1 < kVectors || tile.columns == kVectors * kLanes;
      const std::size_t count = is_whole ? kLanes : tile.columns - v * kLanes;
      float* const row = tile.out + r * tile.stride + v * kLanes;
      V values[kMostLaneTerms];
      KERNELS_UNROLL for (std::size_t i = 0; i < kMostLaneTerms; ++i) {
        const V so_far =
            tile.accumulate ? load_edge(row + i * tile.stride, count) : hn::Set(d, tile.row_bias[r + i]);
        values[i] = hn::MulAdd(hn::ConvertTo(d, sums[r + i][v]), hn::Set(d, tile.row_scale[r + i]), so_far);
      }
#if HWY_TARGET == HWY_AVX3
      if (kRows == 2 * kMostLaneTerms && tile.levels != nullptr) {
        std::uint8_t* const to = tile.levels + r * tile.levels_stride + v * kLanes;
        bounds.store_rows(values, to, tile.levels_stride, count);
        continue;
      }
#endif
      store_edge(bounds.levels_of_rows(values), row, count);
    }
  }
}
#endif

/// A GemmKernels::Multiply. Columns that are not packed may be after all, with a stride of 0.
template <class Terms, std::size_t kRows, std::size_t kVectors, bool kPackedRows, bool kPackedColumns>
void Multiply(std::size_t depth, const float* HWY_RESTRICT a, std::size_t stride, const float* HWY_RESTRICT b,
              const Tile& tile) {
  const D d;
  constexpr bool kFloatPanels = kPackedColumns && std::is_same_v<Terms, FloatTerms>;
  typename Terms::Sum sums[kRows][kVectors];
  Terms::start(sums, tile);
  // By the time that the sums are ready, the memory for them is, too.
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) fetch_tile_row<kVectors>(tile.out + r * tile.stride);
  Fetching<kVectors * kLanes> fetching(tile.fetch, tile.fetch_step, b);
  const std::size_t column_step = kPackedColumns || stride == 0 ? kVectors * kLanes : stride;
  const std::size_t row_step = kPackedColumns && stride != 0 ? stride : kRows;
  if (kFloatPanels && kPackedRows && kSubtracts<kRows, kVectors> && tile.minus != nullptr) {
    // Multiply-adds keep their units busy; the rest of the core subtracts meanwhile.
    const float* minus = tile.minus;
    float* difference = tile.difference;
    for (std::size_t k = 0; k < depth; ++k) {
      fetching.next_term();
      V columns[kVectors];
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        columns[v] = hn::Sub(hn::LoadU(d, b + v * kLanes), hn::LoadU(d, minus + v * kLanes));
        hn::StoreU(columns[v], d, difference + v * kLanes);
      }
      add_term<Terms>(sums, columns, a, 1);
      a += row_step;
      b += column_step;
      minus += column_step;
      difference += column_step;
    }
    depth = 0;
  }
  // Cores that start four instructions a cycle would spend a tenth of them on the loop itself.
  KERNELS_UNROLL_TWICE for (std::size_t k = 0; k < depth; ++k) {
    fetching.next_term();
    V columns[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * kLanes);
    add_term<Terms>(sums, columns, a, kPackedRows ? 1 : stride);
    a += kPackedRows ? row_step : 1;
    b += column_step;
  }
#ifdef KERNELS_DOT_QUADS
  if constexpr (Terms::kLevels && kRows % kMostLaneTerms == 0) {
    if (tile.joins || tile.levels != nullptr) return store_levels(sums, tile);
  }
#endif
  V converted[kRows][kVectors];
  auto& values = Terms::values_of(sums, converted, tile);
  if (kFloatPanels && tile.addend != nullptr) {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        values[r][v] = hn::Add(values[r][v], hn::LoadU(d, tile.addend + (r * kVectors + v) * kLanes));
      }
    }
  }
  if (tile.columns == kVectors * kLanes) {
    store_tile<kRows, kVectors, false>(values, tile);
  } else {
    store_tile<kRows, kVectors, true>(values, tile);
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_MATMUL_MULTIPLY_INL_H_
