// out = init + a B for a few rows at a time and a B that is packed once: the matrix product of recurrent
// sequences (rnn_kernels.h). Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
#undef KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
#else
#define KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <span>

#include "hwy/highway.h"
#include "kernels/base/aligned_floats.h"
#include "kernels/base/divide.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/sequence/rnn_kernels.h"
#include "kernels/weights/packing_pieces.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Most rows of `a` in one product, and vectors of a panel: accumulators, vectors and a broadcast fill the
/// sixteen registers of AVX2; AVX-512 has twice as many.
inline constexpr std::size_t kProductRows = kOldProcessor ? 2 : 6;
static_assert(kProductRows <= ProductRows::kMost);
#if HWY_TARGET == HWY_AVX3
inline constexpr std::size_t kPanelVectors = 4;
#else
inline constexpr std::size_t kPanelVectors = 2;
#endif
inline constexpr std::size_t kPanelWidth = kPanelVectors * kLanes;

inline void pack_panels(const ColumnBlocks& columns, float* packed) {
  const auto column_at = [&](std::size_t column) {
    return columns.matrix +
           (columns.order[column / columns.block] * columns.block + column % columns.block) * columns.depth;
  };
  const D d;
  const std::size_t depth = columns.depth;
  const std::size_t count = columns.columns();
  std::size_t blocks_packed = 0;
  for (std::size_t first = 0; first < divide_up(count, kPanelWidth) * kPanelWidth; first += kLanes) {
    float* const to = packed + first / kPanelWidth * depth * kPanelWidth + first % kPanelWidth;
    if (first + kLanes <= count && first / columns.block == (first + kLanes - 1) / columns.block) {
      pack_rows_as_columns(d, column_at(first), depth, depth, to, kPanelWidth);
    } else {
      for (std::size_t i = 0; i < kLanes; ++i) {
        const float* const from = first + i < count ? column_at(first + i) : nullptr;
        for (std::size_t k = 0; k < depth; ++k) to[k * kPanelWidth + i] = from != nullptr ? from[k] : 0.0F;
      }
    }
    for (; (blocks_packed + 1) * columns.block <= std::min(first + kLanes, count); ++blocks_packed) {
      const float* const block = columns.matrix + columns.order[blocks_packed] * columns.block_floats();
      PackingListener::tell(std::as_bytes(std::span(block, columns.block_floats())), Rereads::never);
    }
  }
}

/// Few accumulators would wait for each other: so many steps along depth have some of their own. That does
/// not depend on whether panels come in pairs.
constexpr std::size_t sums_of(std::size_t rows) { return rows * kPanelVectors <= 6 ? 2 : 1; }

template <bool kFetches, std::size_t kSums, std::size_t kRows, std::size_t kAll>
HWY_INLINE void accumulate(const float* const* a, std::size_t depth, const PackedMatrix::Columns& columns,
                           V (&sums)[kSums][kRows][kAll]) {
  const D d;
  const std::size_t panel_size = kPanelWidth * depth;
  const float* rows[kRows];
  KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) rows[i] = a[i];
  const auto add_step = [&](std::size_t k, V(&to)[kRows][kAll]) HWY_ATTR {
    const float* const from = columns.data + k * kPanelWidth;
    if constexpr (kFetches) {
      for (std::size_t i = 0; i < kPanelWidth; i += kFloatsPerLine)
        fetch_to_second_level(columns.next + k * kPanelWidth + i);
    }
    V vectors[kAll];
    KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
      vectors[v] = hn::LoadU(d, from + v / kPanelVectors * panel_size + v % kPanelVectors * kLanes);
    }
    KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
      const V factor = hn::Set(d, rows[i][k]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
        to[i][v] = hn::MulAdd(factor, vectors[v], to[i][v]);
      }
    }
  };
  std::size_t k = 0;
  for (; k + kSums <= depth; k += kSums) {
    KERNELS_UNROLL for (std::size_t sum = 0; sum < kSums; ++sum) add_step(k + sum, sums[sum]);
  }
  for (; k < depth; ++k) add_step(k, sums[0]);
}

/// Rows [0, kRows) times the columns of kPanels panels.
template <std::size_t kRows, std::size_t kPanels, bool kFetches>
void multiply_tile(const ProductRows& rows, std::size_t depth, const PackedMatrix::Columns& columns) {
  const D d;
  constexpr std::size_t kSums = sums_of(kRows);
  constexpr std::size_t kAll = kPanels * kPanelVectors;
  const bool is_whole = columns.count == kPanels * kPanelWidth;
  V sums[kSums][kRows][kAll];
  const auto count_of = [&](std::size_t v) {
    return std::min(std::max(columns.count, v * kLanes) - v * kLanes, kLanes);
  };
  KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
    KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
      const float* const from = rows.init[i] + columns.first + v * kLanes;
      sums[0][i][v] = is_whole ? hn::LoadU(d, from) : load_edge(from, count_of(v));
      KERNELS_UNROLL for (std::size_t sum = 1; sum < kSums; ++sum) sums[sum][i][v] = hn::Zero(d);
    }
  }
  accumulate<kFetches>(rows.a.data(), depth, columns, sums);
  KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
    KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
      KERNELS_UNROLL for (std::size_t sum = 1; sum < kSums; ++sum) {
        sums[0][i][v] = hn::Add(sums[0][i][v], sums[sum][i][v]);
      }
      float* const to = rows.out[i] + columns.first + v * kLanes;
      if (is_whole) {
        hn::StoreU(sums[0][i][v], d, to);
      } else {
        store_edge(sums[0][i][v], to, count_of(v));
      }
    }
  }
}

/// Narrow panels in pairs, which share the broadcasts of the only row.
inline void multiply_row(const PackedMatrix& matrix, const ProductRows& rows, const RnnPanels& panels) {
  constexpr std::size_t kPanels = kPanelVectors == 2 ? 2 : 1;
  std::size_t panel = panels.begin;
  for (; panel + kPanels <= panels.end; panel += kPanels)
    multiply_tile<1, kPanels, false>(rows, matrix.depth(), matrix.columns_of(panel, kPanels));
  for (; panel < panels.end; ++panel)
    multiply_tile<1, 1, false>(rows, matrix.depth(), matrix.columns_of(panel, 1));
}

template <std::size_t kMostRows>
void multiply_rows(const ProductRows& rows, std::size_t depth, const PackedMatrix::Columns& columns,
                   bool fetches_next) {
  if constexpr (kMostRows > 2) {
    if (rows.count < kMostRows) return multiply_rows<kMostRows - 1>(rows, depth, columns, fetches_next);
  }
  if constexpr (!kOldProcessor) {
    if (fetches_next) return multiply_tile<kMostRows, 1, true>(rows, depth, columns);
  }
  multiply_tile<kMostRows, 1, false>(rows, depth, columns);
}

inline void multiply_panels(const PackedMatrix& matrix, const ProductRows& rows, const RnnPanels& panels) {
  if (rows.count == 1) {
    multiply_row(matrix, rows, panels);
  } else {
    for (std::size_t panel = panels.begin; panel < panels.end; ++panel)
      multiply_rows<kProductRows>(rows, matrix.depth(), matrix.columns_of(panel, 1), panels.fetches_next);
  }
  clear_upper_halves();
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
