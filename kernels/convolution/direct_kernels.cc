#include "kernels/convolution/direct_kernels.h"

#include <iterator>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution/direct_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/matmul/multiply-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

// Fewer rows leave registers for more vectors, which share each weight.
#if HWY_TARGET == HWY_AVX2
constexpr std::size_t kDirectVectors[] = {8, 6, 4, 3, 2, 2};
#elif HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
constexpr std::size_t kDirectVectors[] = {6, 4, 3, 2};
#else
constexpr std::size_t kDirectVectors[] = {8, 8, 6, 6, 4, 4, 3, 3};
#endif
// Of tiles of one vector of channels, and of two: as many as there are registers for sums and for addresses.
// Of 0 there is no such tile: too few sums to keep the units busy.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
constexpr std::size_t kPositions[] = {0, 6};
#else
constexpr std::size_t kPositions[] = {10, 8};
#endif
static_assert(std::size(kPositions) == DirectKernels::kChannelVectors);
static_assert(kPositions[0] <= DirectKernels::kPositionsLimit);
static_assert(std::size(kDirectVectors) == kMaxRows);
static_assert(kMaxRows <= DirectKernels::kRowsLimit && kDirectVectors[0] <= DirectKernels::kVectorsLimit);

template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void store_vectors(V (&sums)[kRows][kVectors], const OutputVector* vectors,
                              const std::int32_t* orders, const Tile& tile) {
  const D d;
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
    if (vectors[v].order != OutputVector::kAllLanes) {
      const auto lanes = hn::SetTableIndices(d, orders + static_cast<std::size_t>(vectors[v].order) * kLanes);
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        sums[r][v] = hn::TableLookupLanes(sums[r][v], lanes);
      }
    }
    if (tile.residual != nullptr) {
      const auto count = static_cast<std::size_t>(vectors[v].count);
      const float* const residual = tile.residual + vectors[v].to;
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        sums[r][v] = hn::Add(sums[r][v], load_edge(residual + r * tile.stride, count));
      }
    }
  }
  clamp_sums(sums, tile.low, tile.high);
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
    const auto count = static_cast<std::size_t>(vectors[v].count);
    float* const to = tile.out + vectors[v].to;
    if (count == kLanes) {
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) hn::StoreU(sums[r][v], d, to + r * tile.stride);
    } else {
      store_edges(sums, v, to, tile.stride, count);
    }
  }
  clear_upper_halves();
}

template <class Terms, std::size_t kRows, std::size_t kVectors>
void MultiplyDirect(const DirectSum& sum, const OutputVector* vectors, const Tile& tile) {
  const D d;
  typename Terms::Sum sums[kRows][kVectors];
  Terms::start(sums, tile);
  const float* samples[kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) samples[v] = sum.image + vectors[v].from;
  const float* weights = sum.weights;
  const std::int32_t* const offsets = sum.offsets;
  const std::size_t depth = sum.depth;
  Fetching<kRows> fetching(sum.fetch, sum.fetch_step, weights);
  for (std::size_t k = 0; k < depth; ++k) {
    fetching.next_term();
    const std::ptrdiff_t offset = offsets[k];
    // The fewer of both stay in registers.
    if constexpr (kRows >= kVectors) {
      V columns[kVectors];
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) columns[v] =
          hn::LoadU(d, samples[v] + offset);
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        const V factor = hn::Set(d, weights[r]);
        KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
          sums[r][v] = Terms::add_product(factor, columns[v], sums[r][v]);
        }
      }
    } else {
      V factors[kRows];
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) factors[r] = hn::Set(d, weights[r]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        V column = hn::LoadU(d, samples[v] + offset);
        if constexpr (kRows > 1) column = keep(column);
        KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
          sums[r][v] = Terms::add_product(factors[r], column, sums[r][v]);
        }
      }
    }
    weights += kRows;
  }
  V converted[kRows][kVectors];
  store_vectors(Terms::values_of(sums, converted, tile), vectors, sum.orders, tile);
}

template <std::size_t kCount, std::size_t kVectors>
void MultiplyChannels(const DirectSum& sum, const std::int32_t* positions, float* out, std::size_t stride,
                      bool accumulate) {
  const D d;
  V sums[kCount][kVectors];
  const float* samples[kCount];
  KERNELS_UNROLL for (std::size_t p = 0; p < kCount; ++p) {
    samples[p] = sum.image + positions[p];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      sums[p][v] = accumulate ? hn::LoadU(d, out + p * stride + v * kLanes) : hn::Zero(d);
    }
  }
  const float* weights = sum.weights;
  const std::int32_t* const offsets = sum.offsets;
  const std::size_t depth = sum.depth;
  Fetching<kVectors * kLanes> fetching(sum.fetch, sum.fetch_step, weights);
  for (std::size_t k = 0; k < depth; ++k) {
    fetching.next_term();
    const std::ptrdiff_t offset = offsets[k];
    V columns[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, weights + v * kLanes);
    KERNELS_UNROLL for (std::size_t p = 0; p < kCount; ++p) {
      const V sample = hn::Set(d, samples[p][offset]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[p][v] = hn::MulAdd(sample, columns[v], sums[p][v]);
      }
    }
    weights += kVectors * kLanes;
  }
  KERNELS_UNROLL for (std::size_t p = 0; p < kCount; ++p) {
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[p][v], d, out + p * stride + v * kLanes);
    }
  }
}

template <class Terms, std::size_t kRows, std::size_t... kVectors>
void add_row_count(DirectKernels& kernels, std::index_sequence<kVectors...>) {
  kernels.max_vectors[kRows] = sizeof...(kVectors);
  ((kernels.multiply[kRows][kVectors] = MultiplyDirect<Terms, kRows + 1, kVectors + 1>), ...);
}

/// `kVectors` are those of a tile of one row, of two, ...
template <class Terms, const auto& kVectors, std::size_t... kRows>
DirectKernels make_kernels(std::index_sequence<kRows...>) {
  DirectKernels kernels;
  kernels.max_rows = sizeof...(kRows);
  (add_row_count<Terms, kRows>(kernels, std::make_index_sequence<kVectors[kRows]>()), ...);
  return kernels;
}

template <class Terms, const auto& kVectors>
DirectKernels tiles_of() {
  return make_kernels<Terms, kVectors>(std::make_index_sequence<std::size(kVectors)>());
}

template <std::size_t... kVectors>
DirectKernels with_channels(DirectKernels kernels, std::index_sequence<kVectors...>) {
  const auto add = [&]<std::size_t kVector>() {
    if constexpr (kPositions[kVector] != 0)
      kernels.channels[kVector] = MultiplyChannels<kPositions[kVector], kVector + 1>;
    kernels.positions[kVector] = kPositions[kVector];
  };
  (add.template operator()<kVectors>(), ...);
  return kernels;
}

}  // namespace

const DirectKernels* DirectTiles() {
  static const DirectKernels kernels = with_channels(tiles_of<FloatTerms, kDirectVectors>(),
                                                     std::make_index_sequence<std::size(kPositions)>());
  return &kernels;
}
const DirectKernels* DirectIntegerTiles(LaneForm form) {
  return with_integer_terms(form, []<class Terms, class>() -> const DirectKernels* {
    static const DirectKernels kernels = tiles_of<Terms, kDirectVectors>();
    return &kernels;
  });
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(DirectTiles);
HWY_EXPORT(DirectIntegerTiles);

const DirectKernels& direct_kernels() { return *HWY_DYNAMIC_DISPATCH(DirectTiles)(); }
const DirectKernels& direct_kernels_of(LaneForm form) {
  return form == LaneForm::floats ? direct_kernels() : *HWY_DYNAMIC_DISPATCH(DirectIntegerTiles)(form);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
