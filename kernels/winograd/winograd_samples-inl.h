// Winograd's transform of the image for long vectors, of two of which any lanes are picked by one
// instruction: samples come straight from the image, a vector of a row at a time. Included inside a
// foreach_target file, after highway.h.
#if defined(KERNELS_WINOGRAD_WINOGRAD_SAMPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_WINOGRAD_WINOGRAD_SAMPLES_INL_H_
#undef KERNELS_WINOGRAD_WINOGRAD_SAMPLES_INL_H_
#else
#define KERNELS_WINOGRAD_WINOGRAD_SAMPLES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/base/fetch.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/winograd/winograd-inl.h"
#include "kernels/winograd/winograd_rows-inl.h"
#include "kernels/winograd/winograd_transforms.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Lanes of a vector of samples that come from one row of the image: lane i is sample from + i of it.
struct SampleRun {
  std::ptrdiff_t from = 0;
  std::uint32_t row = 0;    ///< of the first row of samples that the tile sees
  std::uint32_t lanes = 0;  ///< which, as bits
};

HWY_INLINE hn::Mask<D> mask_of(const std::uint32_t& bits) {
  return hn::LoadMaskBits(D(), reinterpret_cast<const std::uint8_t*>(&bits));
}

/// Where the samples of a vector of tiles are: kOutputs vectors have the first kOutputs of each tile. The two
/// behind them are the first ones of the next tile; where that is of another row or vector, the tile is an
/// end, and one more vector has those of all ends, pair by pair.
template <std::size_t kOutputs>
class SampleVectors {
 public:
  static constexpr std::size_t kVectors = kOutputs + 1;
  /// Of a row of tiles: with one, all tiles were ends, which are too many for a vector.
  static constexpr std::size_t kLeastColumns = 2;

  /// For the tiles of a block from `first` on.
  HWY_INLINE SampleVectors(const TileSamples& samples, const TileBlockSize& block, std::size_t first) {
    constexpr std::size_t kTiles = kLanes / kOutputs;
    const std::size_t count = std::min(kLanes, block.tiles() - first);
    const std::size_t first_row = first / block.columns;
    const std::size_t first_column = first % block.columns;
    std::size_t row = first_row;
    std::size_t column = first_column;
    for (std::size_t tile = 0; tile < count;) {
      const std::size_t of_vector = std::min(kTiles - tile % kTiles, count - tile);
      const std::size_t side_by_side = std::min(of_vector, block.columns - column);
      add(tile / kTiles, samples, row * kOutputs, column * kOutputs, tile % kTiles * kOutputs,
          side_by_side * kOutputs);
      tile += side_by_side;
      column += side_by_side;
      if (column == block.columns) {
        column = 0;
        ++row;
      }
    }
    row = first_row;
    column = first_column;
    std::int32_t lane = 0;
    for (std::size_t tile = 0; tile < count; ++tile) {
      ++column;
      const bool ends_row = column == block.columns;
      if (ends_row || tile + 1 == kLanes) {
        add(kOutputs, samples, row * kOutputs, column * kOutputs, static_cast<std::size_t>(lane), 2);
        ends_ |= 1U << tile;
        for (auto& lanes : end_lanes_) lanes[tile] = lane++;
      }
      if (!ends_row) continue;
      column = 0;
      ++row;
    }
  }

  /// `rows`: of samples of the block. `next`: floats from each of them to what is transformed next to it, and
  /// fetched meanwhile; 0: nothing.
  HWY_INLINE void transform(const float* const* rows, std::ptrdiff_t next, float* to,
                            std::size_t point_stride) const {
    const D d;
    const hn::RebindToSigned<D> di;
    V down[kSamples][kVectors];
    const SampleRun* run = runs_;
    KERNELS_UNROLL for (std::size_t n = 0; n < kVectors; ++n) {
      V column[kSamples];
      V transformed[kSamples];
      load(run, run + run_counts_[n], rows, next, column);
      run += run_counts_[n];
      Transform<kOutputs>::input(column, transformed);
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) down[i][n] = transformed[i];
    }
    const auto last_lane = hn::Set(di, static_cast<std::int32_t>(kLanes) - 1);
    const auto next_tile = hn::IndicesFromVec(d, hn::Min(hn::Iota(di, 1), last_lane));
    const auto ends = mask_of(ends_);
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      V along[kSamples];
      V transformed[kSamples];
      split_strided<kOutputs>(down[i], along);
      KERNELS_UNROLL for (std::size_t j = 0; j < 2; ++j) {
        const V of_ends = hn::TableLookupLanes(down[i][kOutputs], hn::SetTableIndices(d, end_lanes_[j]));
        along[kOutputs + j] = hn::IfThenElse(ends, of_ends, hn::TableLookupLanes(along[j], next_tile));
      }
      Transform<kOutputs>::input(along, transformed);
      KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) {
        hn::StoreU(transformed[j], d, to + (i * kSamples + j) * point_stride);
      }
    }
  }

 private:
  static constexpr std::size_t kSamples = kOutputs + 2;
  static constexpr std::size_t kMostEnds = kLanes / kLeastColumns;

  /// Of the rows from `row` on, `count` samples from `sample` on go to lanes of a vector, those outside of
  /// the image nowhere.
  HWY_INLINE void add(std::size_t vector, const TileSamples& samples, std::size_t row, std::size_t sample,
                      std::size_t lane, std::size_t count) {
    const std::size_t begin = std::max(sample, samples.left);
    const std::size_t end = std::min(sample + count, samples.left + samples.width);
    if (begin >= end) return;
    SampleRun& run = runs_[run_count_++];
    run.from = static_cast<std::ptrdiff_t>(sample) - static_cast<std::ptrdiff_t>(samples.left + lane);
    run.row = static_cast<std::uint32_t>(row);
    run.lanes = ((1U << (end - begin)) - 1) << (lane + begin - sample);
    ++run_counts_[vector];
  }

  /// The samples of a vector in all rows that its tiles see.
  static HWY_INLINE void load(const SampleRun* run, const SampleRun* end, const float* const* rows,
                              std::ptrdiff_t next, V (&column)[kSamples]) {
    const D d;
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) column[i] = hn::Zero(d);
    for (bool is_first = true; run != end; ++run, is_first = false) {
      const float* const* const from = rows + run->row;
      const auto mask = mask_of(run->lanes);
      if (is_first) {
        KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
          column[i] = hn::MaskedLoad(mask, d, from[i] + run->from);
        }
      } else {
        KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
          column[i] = hn::Or(column[i], hn::MaskedLoad(mask, d, from[i] + run->from));
        }
      }
      if (next == 0) continue;
      // The first two rows are those that the tiles above see last.
      KERNELS_UNROLL for (std::size_t i = 2; i < kSamples; ++i) {
        fetch_to_second_level(from[i] + run->from + next);
      }
    }
  }

  std::uint32_t ends_ = 0;                  ///< which tiles, as bits
  std::int32_t end_lanes_[2][kLanes] = {};  ///< of each end: the lanes of its pair
  std::uint8_t run_counts_[kVectors] = {};
  std::uint8_t run_count_ = 0;
  SampleRun runs_[kLanes + kMostEnds];  ///< vector by vector
};

template <std::size_t kOutputs>
HWY_INLINE void transform_samples(const TileSamples& samples, const TileBlockSize& block,
                                  const TileVector* vectors, std::size_t channel, float* columns,
                                  std::size_t point_stride, float* scratch) {
  using Vectors = SampleVectors<kOutputs>;
  // Rows of two tiles ask for most: their share of a vector, and rows of samples of their own.
  static_assert(sizeof(Vectors) + kLanes / Vectors::kLeastColumns * kOutputs * sizeof(void*) <=
                2 * (kOutputs + 2) * kLanes * kOutputs * sizeof(float));
  auto* const sample_vectors = reinterpret_cast<Vectors*>(scratch);
  const std::size_t count = divide_up(block.tiles(), kLanes);
  for (std::size_t v = 0; v < count; ++v) sample_vectors[v] = Vectors(samples, block, v * kLanes);
  const auto rows = reinterpret_cast<const float**>(sample_vectors + count);
  for (std::size_t c = 0; c < samples.channels; ++c) {
    for (std::size_t i = 0; i < block.rows * kOutputs + 2; ++i) rows[i] = samples.row(i, c);
    for (std::size_t v = 0; v < count; ++v) {
      sample_vectors[v].transform(rows, samples.next_to(c),
                                  columns + vectors[v].to + (channel + c) * vectors[v].channel_stride,
                                  point_stride);
    }
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_WINOGRAD_WINOGRAD_SAMPLES_INL_H_
