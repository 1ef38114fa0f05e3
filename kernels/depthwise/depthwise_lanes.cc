#include "kernels/depthwise/depthwise_lanes.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise/depthwise_lanes.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/multiply-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

#ifdef KERNELS_DOT_QUADS

using Terms = QuadTerms<false>;
using Sum = Terms::Sum;

/// Four lanes that follow one another share a block of a vector. Of these, the first ones of all blocks have
/// their sums in one vector, a channel in each lane; the second ones in the next.
constexpr std::size_t kOfBlock = 4;

/// Lanes that windows see with tap kTap, kStep lanes apart.
template <std::size_t kTap, std::size_t kStep>
HWY_INLINE V samples_of_tap(const float* from) {
  const D d;
  if constexpr (kStep == 1) return hn::LoadU(d, from + kTap);
  static_assert(kStep <= 2);
  const float* const pair = from + kTap / 2 * 2;
  const V lower = hn::LoadU(d, pair);
  const V upper = hn::LoadU(d, pair + kLanes);
  return kTap % 2 == 0 ? hn::ConcatEven(d, upper, lower) : hn::ConcatOdd(d, upper, lower);
}

/// The samples of up to four taps from kFirst on, those of a channel side by side.
template <std::size_t kFirst, std::size_t kEnd, std::size_t kStep>
HWY_INLINE void join_taps(const float* from, V (&joined)[kOfBlock]) {
  const hn::Repartition<std::uint8_t, D> bytes;
  const hn::Repartition<std::uint16_t, D> pairs;
  const auto samples = [&]<std::size_t kTap>(std::integral_constant<std::size_t, kTap>) HWY_ATTR {
    if constexpr (kFirst + kTap >= kEnd) return hn::Zero(bytes);
    return hn::BitCast(bytes, samples_of_tap<kFirst + kTap, kStep>(from));
  };
  hn::Vec<decltype(bytes)> quads[kOfBlock];
  interleave_four(
      bytes, pairs,
      {samples(std::integral_constant<std::size_t, 0>()), samples(std::integral_constant<std::size_t, 1>()),
       samples(std::integral_constant<std::size_t, 2>()), samples(std::integral_constant<std::size_t, 3>())},
      quads);
  KERNELS_UNROLL for (std::size_t i = 0; i < kOfBlock; ++i) joined[i] = hn::BitCast(D(), quads[i]);
}

/// One vector of outputs of all rows, the first at `out`: every row of samples is joined once, and added to
/// the sums of all rows that see it.
template <std::size_t kSide, std::size_t kStep>
HWY_INLINE void convolve_down(const LaneRows& image, const LaneWindow& window, std::size_t rows,
                              std::size_t columns, std::size_t stored, float* out) {
  const D d;
  constexpr std::size_t kGroups = tap_groups(kSide);
  constexpr std::size_t kOpen = (kSide + kStep - 1) / kStep;  // rows that see a row of samples, at most
  Sum sums[kOpen][kOfBlock];                                  // of the uppermost one that is not finished ...
  KERNELS_UNROLL for (std::size_t r = 0; r < kOpen; ++r) {
    KERNELS_UNROLL for (std::size_t i = 0; i < kOfBlock; ++i) sums[r][i] = hn::Zero(Terms::DSum());
  }
  const float* from = image.first;
  const std::size_t stride = image.stride;
  const auto* const weights = reinterpret_cast<const float*>(window.weights);
  const V scale = hn::LoadDup128(d, window.scale);
  const V bias = hn::LoadDup128(d, window.bias);
  const LevelBounds<> bounds(window.low, window.high);
  const auto add_row = [&]<std::size_t kRow>(std::integral_constant<std::size_t, kRow>) HWY_ATTR {
    const auto add_group = [&]<std::size_t kGroup>(std::integral_constant<std::size_t, kGroup>) HWY_ATTR {
      V joined[kOfBlock];
      join_taps<4 * kGroup, kSide, kStep>(from, joined);
      KERNELS_UNROLL for (std::size_t r = 0; r < kOpen; ++r) {
        const std::size_t line = kRow + (kOpen - 1 - r) * kStep;
        if (line >= kSide) continue;
        const V factor = hn::LoadDup128(d, weights + (line * kGroups + kGroup) * 4);
        KERNELS_UNROLL for (std::size_t i = 0; i < kOfBlock; ++i) {
          sums[r][i] = Terms::add_product(factor, joined[i], sums[r][i]);
        }
      }
    };
    add_group(std::integral_constant<std::size_t, 0>());
    if constexpr (kGroups == 2) add_group(std::integral_constant<std::size_t, 1>());
    static_assert(kGroups <= 2);
    from += stride;
  };
  for (std::size_t row = 0; row < rows + kOpen - 1; ++row) {
    add_row(std::integral_constant<std::size_t, 0>());
    // The last window, whose side is odd, ends before the second row of a step.
    if constexpr (kStep == 2) {
      if (row + 1 < rows + kOpen - 1) add_row(std::integral_constant<std::size_t, 1>());
    }
    if (row + 1 >= kOpen) {
      V values[kOfBlock];
      KERNELS_UNROLL for (std::size_t i = 0; i < kOfBlock; ++i) {
        values[i] = hn::MulAdd(hn::ConvertTo(d, sums[0][i]), scale, bias);
      }
      store_edge(bounds.levels_of_blocks(values), out, stored);
      out += columns;
    }
    KERNELS_UNROLL for (std::size_t i = 0; i < kOfBlock; ++i) {
      KERNELS_UNROLL for (std::size_t r = 0; r + 1 < kOpen; ++r) sums[r][i] = sums[r + 1][i];
      sums[kOpen - 1][i] = hn::Zero(Terms::DSum());
    }
  }
}

template <std::size_t kSide, std::size_t kStep>
void ConvolveLanes(const LaneRows& image, const LaneWindow& window, std::size_t rows, std::size_t columns,
                   float* out) {
  for (std::size_t next = 0; next < columns; next += kLanes) {
    const std::size_t column = columns >= kLanes ? std::min(next, columns - kLanes) : next;
    const std::size_t stored = std::min(kLanes, columns - column);
    convolve_down<kSide, kStep>({image.first + column * kStep, image.stride}, window, rows, columns, stored,
                                out + column);
  }
}

#endif

}  // namespace

DepthwiseLanesKernel LanesKernel([[maybe_unused]] std::size_t side, [[maybe_unused]] std::size_t step) {
#ifdef KERNELS_DOT_QUADS
  if (dots_integers(kLanes)) {
    if (side == 3 && step == 1) return ConvolveLanes<3, 1>;
    if (side == 3 && step == 2) return ConvolveLanes<3, 2>;
    if (side == 5 && step == 1) return ConvolveLanes<5, 1>;
    if (side == 5 && step == 2) return ConvolveLanes<5, 2>;
  }
#endif
  return nullptr;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(LanesKernel);

DepthwiseLanesKernel depthwise_lanes_kernel(std::size_t side, std::size_t step) {
  return HWY_DYNAMIC_DISPATCH(LanesKernel)(side, step);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
