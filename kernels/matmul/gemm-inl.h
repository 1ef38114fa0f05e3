// Register tiles of float sums and how they are stored. Included inside a foreach_target file, after
// highway.h.
#if defined(KERNELS_MATMUL_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_MATMUL_GEMM_INL_H_
#undef KERNELS_MATMUL_GEMM_INL_H_
#else
#define KERNELS_MATMUL_GEMM_INL_H_
#endif

#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/base/simd-inl.h"
#include "kernels/matmul/gemm_kernels.h"

#ifndef KERNELS_UNROLL
// Register tiles must be unrolled completely, or the accumulators live in memory.
#if HWY_COMPILER_CLANG
#define KERNELS_UNROLL _Pragma("clang loop unroll(full)")
#define KERNELS_UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define KERNELS_UNROLL _Pragma("GCC unroll 16")
#define KERNELS_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
inline constexpr std::size_t kLanes = hn::MaxLanes(D());

/// Whether there are 32 registers of vectors, not 16.
inline constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64;

// Partial vectors.
HWY_INLINE V load_edge(const float* from, std::size_t count) { return load_n(D(), from, count); }
HWY_INLINE void store_edge(V v, float* to, std::size_t count) { store_n(v, D(), to, count); }

// Rows that are pages apart are fetched so far ahead, because no hardware fetches across pages.
inline constexpr std::size_t kRowsAhead = 6;

HWY_INLINE V clamp(V low, V high, V v) { return at_most(high, at_least(low, v)); }

/// A vector of results of a single row, from column `j` on: what the tile asks for is added, then clamped.
HWY_INLINE V finish_vector(V v, const Tile& tile, std::size_t j, std::size_t count) {
  const D d;
  if (tile.row_bias != nullptr) v = hn::Add(v, hn::Set(d, tile.row_bias[0]));
  if (tile.column_bias != nullptr) v = hn::Add(v, load_edge(tile.column_bias + j, count));
  if (tile.residual != nullptr) v = hn::Add(v, load_edge(tile.residual + j, count));
  return clamp(hn::Set(d, tile.low), hn::Set(d, tile.high), v);
}

/// What sums begin with: the biases of their rows, or nothing.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void start_sums(V (&sums)[kRows][kVectors], const float* row_bias) {
  const D d;
  if (row_bias == nullptr) {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
    }
  } else {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      const V bias = hn::Set(d, row_bias[r]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = bias;
    }
  }
}

/// What is loaded once is to stay in a register: GCC would rather load it again for each use.
[[maybe_unused]] HWY_INLINE V keep(V v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  auto raw = v.raw;
  asm("" : "+v"(raw));
  return V{raw};
#else
  return v;
#endif
}

/// The same for a tile.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void start_tile(V (&sums)[kRows][kVectors], const Tile& tile) {
  start_sums(sums, tile.accumulate ? nullptr : tile.row_bias);
}

/// clamp() of all sums, as far as there are bounds.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void clamp_sums(V (&sums)[kRows][kVectors], float low, float high) {
  const D d;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (low > -kInfinity) {
    const V bound = hn::Set(d, low);
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = at_least(bound, sums[r][v]);
    }
  }
  if (high < kInfinity) {
    const V bound = hn::Set(d, high);
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = at_most(bound, sums[r][v]);
    }
  }
}

/// The first `count` lanes of each of some rows of vectors. Not inline: tiles of every size end here.
template <class DF>
HWY_NOINLINE void store_short_rows(DF, const float* lanes, std::size_t rows, float* to, std::size_t stride,
                                   std::size_t count) {
  for (std::size_t r = 0; r < rows; ++r)
    copy_few<hn::MaxLanes(DF())>(lanes + r * hn::MaxLanes(DF()), to + r * stride, count);
}

/// The same of vector `v` of sums.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void store_edges(const V (&sums)[kRows][kVectors], std::size_t v, float* to, std::size_t stride,
                            std::size_t count) {
  if constexpr (kStoresMasks) {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) store_edge(sums[r][v], to + r * stride, count);
  } else {
    HWY_ALIGN float lanes[kRows * kLanes];
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) hn::Store(sums[r][v], D(), lanes + r * kLanes);
    store_short_rows(D(), lanes, kRows, to, stride, count);
  }
}

/// Adds what the tile asks for to the sums, which began as start_tile says, and stores them; kEdge: the last
/// vector is partial.
template <std::size_t kRows, std::size_t kVectors, bool kEdge>
HWY_INLINE void store_tile(V (&sums)[kRows][kVectors], const Tile& tile) {
  const D d;
  const std::size_t rest = tile.columns - (kVectors - 1) * kLanes;
  const auto load = [=](const float* from, std::size_t v) HWY_ATTR {
    if (kEdge && v == kVectors - 1) return load_edge(from + v * kLanes, rest);
    return hn::LoadU(d, from + v * kLanes);
  };
  if (tile.accumulate) {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::Add(sums[r][v], load(tile.out + r * tile.stride, v));
      }
    }
  } else {
    if (tile.column_bias != nullptr) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        const V bias = load(tile.column_bias, v);
        KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) sums[r][v] = hn::Add(sums[r][v], bias);
      }
    }
    if (tile.residual != nullptr) {
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
          sums[r][v] = hn::Add(sums[r][v], load(tile.residual + r * tile.stride, v));
        }
      }
    }
  }
  if (tile.finish) clamp_sums(sums, tile.low, tile.high);
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    float* row = tile.out + r * tile.stride;
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      if (!kEdge || v < kVectors - 1) {
        hn::StoreU(sums[r][v], d, row + v * kLanes);
      } else if constexpr (kStoresMasks) {
        store_edge(sums[r][v], row + v * kLanes, rest);
      }
    }
  }
  if constexpr (kEdge && !kStoresMasks) {
    store_edges(sums, kVectors - 1, tile.out + (kVectors - 1) * kLanes, tile.stride, rest);
    clear_upper_halves();
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_MATMUL_GEMM_INL_H_
