#include "kernels/winograd/winograd_channels.h"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/winograd_channels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/matmul/multiply-inl.h"
#include "kernels/winograd/winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Pairs [kPair, kPair + kPairs) of rows.
template <std::size_t kOutputs, std::size_t kPair, std::size_t kPairs>
HWY_INLINE void filter_rows(const float* filters, std::size_t count, std::size_t vectors, float* to,
                            std::size_t point_stride) {
  constexpr std::size_t kSamples = kOutputs + 2;
  constexpr std::size_t kRows = 2 * kPairs;
  const D d;
  const std::size_t width = vectors * kLanes;
  for (std::size_t term = 0; term < count; ++term, filters += 8 * width) {
    for (std::size_t v = 0; v < vectors; ++v, filters += kLanes, to += kLanes) {
      V along[kRows][3];
      KERNELS_UNROLL for (std::size_t x = 0; x < 3; ++x) {
        V taps[3];
        KERNELS_UNROLL for (std::size_t y = 0; y < 3; ++y) {
          taps[y] = hn::LoadU(d, filters + (3 * y + x) * width);
        }
        V down[kSamples];
        Transform<kOutputs>::filter(taps, down);
        KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
          along[i][x] = down[WinogradChannels::row_at(kSamples, 2 * kPair + i)];
        }
      }
      KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
        V points[kSamples];
        Transform<kOutputs>::filter(along[i], points);
        KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) {
          hn::StoreU(points[j], d, to + (i * kSamples + j) * point_stride);
        }
      }
    }
  }
}

// With the number of vectors as a constant, so that taps lie at constant offsets.
template <std::size_t kOutputs, std::size_t kPair>
void FilterRows(const float* filters, std::size_t count, std::size_t vectors, float* to,
                std::size_t point_stride) {
  static_assert(kMaxVectors == 2 || kMaxVectors == 3);
  switch (vectors) {
    case 1:
      return filter_rows<kOutputs, kPair, 1>(filters, count, 1, to, point_stride);
    case 2:
      return filter_rows<kOutputs, kPair, 1>(filters, count, 2, to, point_stride);
    default:
      return filter_rows<kOutputs, kPair, 1>(filters, count, kMaxVectors, to, point_stride);
  }
}

template <std::size_t kOutputs>
void AllFilterRows(const float* filters, std::size_t count, std::size_t vectors, float* to,
                   std::size_t point_stride) {
  filter_rows<kOutputs, 0, (kOutputs + 2) / 2>(filters, count, vectors, to, point_stride);
}

template <std::size_t kOutputs>
HWY_INLINE void scaled_output(V (&points)[kOutputs + 2], V (&sums)[kOutputs]) {
  KERNELS_UNROLL for (std::size_t i = 0; i < kOutputs + 2; ++i) {
    points[i] = hn::Mul(points[i], hn::Set(D(), Transform<kOutputs>::kFilterScale[i]));
  }
  Transform<kOutputs>::output(points, sums);
}

template <std::size_t kOutputs>
void Output(const float* points, std::size_t point_stride, std::size_t vectors, const TileOutputs& outputs) {
  constexpr std::size_t kSamples = kOutputs + 2;
  const D d;
  for (std::size_t channel = 0; channel < vectors * kLanes; channel += kLanes) {
    V half_done[kOutputs][kSamples];
    KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) {
      V column[kSamples];
      V sums[kOutputs];
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
        column[i] = hn::LoadU(d, points + (i * kSamples + j) * point_stride + channel);
      }
      scaled_output<kOutputs>(column, sums);
      KERNELS_UNROLL for (std::size_t i = 0; i < kOutputs; ++i) half_done[i][j] = sums[i];
    }
    for (std::size_t y = 0; y < outputs.rows; ++y) {
      V row[kSamples];
      V sums[kOutputs];
      KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) row[j] = half_done[y][j];
      scaled_output<kOutputs>(row, sums);
      float* const to = outputs.to + y * outputs.row_stride + channel;
      KERNELS_UNROLL for (std::size_t x = 0; x < kOutputs; ++x) {
        if (x < outputs.columns) hn::StoreU(sums[x], d, to + x * outputs.column_stride);
      }
    }
  }
}

template <std::size_t kOutputs, std::size_t... kPairs>
constexpr WinogradChannels make_channels(std::index_sequence<kPairs...>) {
  WinogradChannels channels;
  channels.outputs = kOutputs;
  ((channels.filter_rows[kPairs] = FilterRows<kOutputs, kPairs>), ...);
  channels.all_filter_rows = AllFilterRows<kOutputs>;
  channels.output = Output<kOutputs>;
  return channels;
}

}  // namespace

const std::array<WinogradChannels, 2>* Channels() {
  static constexpr std::array<WinogradChannels, 2> kAll{make_channels<2>(std::make_index_sequence<2>()),
                                                        make_channels<4>(std::make_index_sequence<3>())};
  return &kAll;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(Channels);

const std::array<WinogradChannels, 2>& winograd_channels() { return *HWY_DYNAMIC_DISPATCH(Channels)(); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
