// What a matrix product or convolution does to its sums while they are still in registers or cache.
#ifndef KERNELS_MATMUL_EPILOGUE_H_
#define KERNELS_MATMUL_EPILOGUE_H_

#include <cstddef>
#include <limits>

#include "kernels/elementwise/fake_quantize.h"

namespace ir::kernels {

/// out = post(clamp(sum + bias + residual, low, high)), in this order; absent parts are skipped.
/// A NaN survives the clamp.
struct Epilogue {
  /// One value per output channel of a convolution, per row or column of a Gemm (GemmParams::bias_axis);
  /// copied when the kernel is prepared. nullptr: no bias.
  const float* bias = nullptr;
  /// Only of sums of integers (integer_weights.h), which take it from there: what one is worth in the
  /// sums of each output channel, or column of a Gemm.
  const float* scale = nullptr;
  /// Whether `run` gets a residual: a tensor laid out as `out`, added to the sums. It may be `out` itself
  /// (the same address), but must not overlap it otherwise.
  bool residual = false;
  /// Relu is [0, infinity).
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  /// Applied in place to finished, contiguous, cache-warm spans; each element is covered exactly once. Called
  /// from several threads, and the borders of the spans carry no meaning: it must work element by element.
  void (*post)(float* data, std::size_t count, std::size_t channel, const void* context) = nullptr;
  /// Whether each span has to be of one output channel, `channel`; else that has no meaning. Not for Gemm.
  bool post_by_channel = false;
  /// Handed to `post`; must outlive the prepared kernel.
  const void* post_context = nullptr;
  /// Of convolutions: results become levels of it, bytes, in the end. Copied when the kernel is prepared;
  /// Quantization::has_bytes() has to be true. Empty: results are floats.
  ChannelQuantization levels = {};
};

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_EPILOGUE_H_
