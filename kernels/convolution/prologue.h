// What a convolution does to its image on the way into the product.
#ifndef KERNELS_CONVOLUTION_PROLOGUE_H_
#define KERNELS_CONVOLUTION_PROLOGUE_H_

#include <limits>

namespace ir::kernels {

/// The convolution of clamp(image * scale[c] + shift[c], low, high), with one rounding before the clamp where
/// the target has a fused multiply-add; absent parts are skipped. Zeros of the padding stay zeros. A NaN
/// survives the clamp.
struct Prologue {
  /// One value per input channel, copied when the kernel is prepared. nullptr: none, or that of each run.
  const float* scale = nullptr;
  /// Every run brings its own: ConvolutionInputs::scale.
  bool runtime_scale = false;
  /// The scale of a run is that of all images: [1, in_channels].
  bool repeats_scale = false;
  /// There is one image, that of each run is [1, in_channels, in_dims...]; the batch counts its scales.
  bool repeats_image = false;
  /// One value per input channel; copied, too.
  const float* shift = nullptr;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  [[nodiscard]] bool is_empty() const {
    return scale == nullptr && !runtime_scale && shift == nullptr &&
           low == -std::numeric_limits<float>::infinity() && high == std::numeric_limits<float>::infinity();
  }
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_PROLOGUE_H_
