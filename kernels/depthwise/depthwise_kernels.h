// The inner loops of depthwise convolution of what is staged, per SIMD target; those of depthwise_direct.h
// read planes as they lie. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_DEPTHWISE_KERNELS_H_
#define KERNELS_DEPTHWISE_DEPTHWISE_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// The window of a depthwise convolution, of which samples are `row_stride` floats apart down a column.
struct DepthwiseTaps {
  const std::int32_t* offsets = nullptr;
  const float* weights = nullptr;
  std::size_t count = 0;
  /// Not 0, and all taps are rows of so many: tap i is i / columns * row_stride + i % columns * column_step
  /// behind the first.
  std::size_t columns = 0;
  std::size_t column_step = 1;
};

/// For r in [0, rows) and x in [0, tile.columns): out(r, x) = epilogue(sum over the taps t of weights[t] *
/// from[r * row_stride + step * x + offsets[t]]), the bias being tile.row_bias[0] for all of them. May read
/// up to step * kLanesLimit floats past the last of a row.
using DepthwiseKernel = void (*)(const float* from, std::size_t row_stride, const DepthwiseTaps& taps,
                                 std::size_t rows, const Tile& tile);

/// That of the SIMD target that dispatch picks now, for a step of 1 or 2.
DepthwiseKernel depthwise_kernel(std::size_t step);

/// Which samples of a plane each output sees through which taps: output i those of taps [ends[i - 1],
/// ends[i]).
struct PlaneTaps {
  struct Tap {
    std::uint32_t sample;
    std::uint32_t tap;
  };
  std::vector<Tap> taps;
  std::vector<std::uint32_t> ends;
};

/// For one vector of channels, or two: results[output][channels] = sum over its taps of samples[sample][
/// channels] * weights[tap][channels].
using DepthwiseChannelsKernel = void (*)(const PlaneTaps& plane, const float* samples, const float* weights,
                                         float* results);
using DepthwiseChannelsKernels = std::array<DepthwiseChannelsKernel, 2>;

/// Those of the SIMD target that dispatch picks now.
const DepthwiseChannelsKernels& depthwise_channels_kernels();

/// The same for windows of kHeldTaps taps, whose weights stay in registers: output i sees through tap t the
/// sample that begins plane[i * kHeldTaps + t] floats behind the first for each vector of channels. Where
/// there is none, that is one of zeros.
inline constexpr std::size_t kHeldTaps = 9;
using PlaneWindows = std::vector<std::uint32_t>;
using DepthwiseWindowsKernel = void (*)(const PlaneWindows& plane, const float* samples, const float* weights,
                                        float* results);
using DepthwiseWindowsKernels = std::array<DepthwiseWindowsKernel, 2>;

/// Those of the SIMD target that dispatch picks now.
const DepthwiseWindowsKernels& depthwise_windows_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_DEPTHWISE_KERNELS_H_
