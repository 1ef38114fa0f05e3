// Normalisations by statistics of the input itself, and batch normalisation. All in f32, parallel over
// groups.
#ifndef KERNELS_REDUCTION_NORMALIZATION_H_
#define KERNELS_REDUCTION_NORMALIZATION_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/axes.h"

namespace ir::kernels {

/// Where epsilon joins the deviation: 1 / sqrt(var + eps) or 1 / (sqrt(var) + eps).
enum class MvnEps : std::uint8_t { inside_sqrt, outside_sqrt };

struct MvnParams {
  double eps = 0;
  MvnEps eps_mode = MvnEps::inside_sqrt;
  bool normalize_variance = true;
};

/// out = (in - mean) [/ deviation] over the reduced axes of `plan`; MVN-6 (MVN-1: inside_sqrt). The variance
/// is the mean of squared deviations from the rounded mean (two passes). `in == out` is allowed.
void mvn(const AxesPlan& plan, const MvnParams& params, const float* in, float* out);

struct LayerNormParams {
  std::size_t rows = 0;  ///< contiguous ones
  std::size_t length = 0;
  double eps = 0;
  bool centered = true;  ///< else the mean is taken for 0: x / sqrt(mean of squares + eps)
};

/// MVN inside_sqrt over each row, times scale[i] plus shift[i]; either may be null. `in == out` is allowed.
void layer_norm(const LayerNormParams& params, const float* scale, const float* shift, const float* in,
                float* out);

/// How epsilon keeps a norm away from 0: sqrt(sum + eps) or sqrt(max(sum, eps)).
enum class NormEps : std::uint8_t { add, max };

/// out = in / norm, the norm being over the reduced axes of `plan`; NormalizeL2-1. Without axes (none
/// reduced) every element is its own group. `in == out` is allowed. GRN-1 is this over the channel axis with
/// `add` and eps = bias.
void normalize_l2(const AxesPlan& plan, double eps, NormEps eps_mode, const float* in, float* out);

/// What a batch normalisation does to each channel; BatchNormInference-5.
struct BatchNormValues {
  const float* gamma = nullptr;
  const float* beta = nullptr;
  const float* mean = nullptr;
  const float* variance = nullptr;
  double eps = 0;
};

/// Batch normalisation folded to one multiplication and one addition per channel, in double before rounding:
/// scale = gamma / sqrt(variance + eps), shift = beta - mean * scale.
void fold_batch_norm(const BatchNormValues& values, std::size_t channels, float* scale, float* shift);

/// A tensor [batch][channels][inner].
struct ChannelShape {
  std::size_t batch = 1;
  std::size_t channels = 1;
  std::size_t inner = 1;
};

/// out = in * scale[c] + shift[c]. `in == out` is allowed.
void scale_shift(const ChannelShape& shape, const float* scale, const float* shift, const float* in,
                 float* out);

struct GroupNormParams {
  std::size_t groups = 1;  ///< divides the channels
  double eps = 0;
};

/// GroupNormalization-12: mean and variance over each group of channels / groups adjacent channels, eps
/// inside the root, then scale[c] and shift[c]. `in == out` is allowed.
void group_norm(const ChannelShape& shape, const GroupNormParams& params, const float* scale,
                const float* shift, const float* in, float* out);

struct LrnParams {
  double alpha = 0;
  double beta = 0;
  double bias = 0;
  /// At least 1. The window reaches (size - 1) / 2 elements to either side, as OpenVINO's reference does; the
  /// text of LRN-1 says size / 2, which differs for even sizes.
  std::size_t size = 1;
};

/// Floats of scratch memory that `lrn` needs: the size of the tensor, 0 without axes.
std::size_t lrn_scratch_count(Dims dims, std::span<const std::size_t> axes);

/// out = in / (bias + alpha / size^|axes| * S)^beta, S being the sum of squares over the window around the
/// element along all `axes` (distinct), cut at the borders; LRN-1. No axes: S is the element's
/// square. `out` and `scratch` overlap nothing.
void lrn(Dims dims, std::span<const std::size_t> axes, const LrnParams& params, const float* in, float* out,
         float* scratch);

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_NORMALIZATION_H_
