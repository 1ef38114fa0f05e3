// The inner loops of depthwise convolution of bytes, of which a lane holds those of four channels, per SIMD
// target. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_DEPTHWISE_LANES_H_
#define KERNELS_DEPTHWISE_DEPTHWISE_LANES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// Taps of a row of a window, of which one instruction adds up so many.
constexpr std::size_t tap_groups(std::size_t side) { return divide_up(side, 4); }

/// What a lane of four channels goes through.
struct LaneWindow {
  /// [rows of the window][tap_groups][channels][taps of a group], zeros where there are no more taps.
  const std::int8_t* weights = nullptr;
  /// Of each channel: what 1 is worth in its sums, in steps of the results, and what is added then.
  const float* scale = nullptr;
  const float* bias = nullptr;
  /// Bounds of the results, whole numbers from 0 to 255.
  float low = 0;
  float high = 0;
};

/// Lanes of a channel's rows, so many floats apart.
struct LaneRows {
  const float* first = nullptr;
  std::size_t stride = 0;
};

/// For r in [0, rows) and x in [0, columns): lane out[r * columns + x] = clamp(round(scale * sum + bias),
/// low, high) of each channel, with the sum over its window at image[r * step * stride + x * step], of
/// unsigned bytes by signed weights. May read up to 2 * kLanesLimit lanes past the last of a row.
using DepthwiseLanesKernel = void (*)(const LaneRows& image, const LaneWindow& window, std::size_t rows,
                                      std::size_t columns, float* out);

/// Of the SIMD target that dispatch picks now, for windows of `side` x `side` taps which are `step` samples
/// apart; nullptr: it does not multiply bytes, or there is none for these.
DepthwiseLanesKernel depthwise_lanes_kernel(std::size_t side, std::size_t step);

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_DEPTHWISE_LANES_H_
