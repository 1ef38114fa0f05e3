// A convolution with its parameters spread out to three spatial dimensions. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_GEOMETRY_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_GEOMETRY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "kernels/convolution/convolution.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/integer_weights.h"

namespace ir::kernels {

/// One spatial dimension.
struct ConvolutionAxis {
  std::size_t in = 1;
  std::size_t out = 1;
  std::size_t kernel = 1;
  std::size_t stride = 1;
  std::size_t dilation = 1;
  std::ptrdiff_t pad = 0;

  /// Whether out[x] depends on in[x] alone.
  [[nodiscard]] bool is_pointwise() const {
    return kernel == 1 && (stride == 1 || out == 1) && pad == 0 && in == out;
  }
  /// Whether the single output sees every sample once.
  [[nodiscard]] bool is_full() const {
    return out == 1 && kernel == in && pad == 0 && (dilation == 1 || kernel == 1);
  }
};

/// Indices from `begin` up to, not with, `end`.
struct IndexRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t count() const { return end - begin; }
  [[nodiscard]] bool holds(std::size_t index) const { return index >= begin && index < end; }
};

/// The q in [0, count) for which (first_out + q) * stride + start - pad is a sample of the axis.
inline IndexRange samples_inside(const ConvolutionAxis& axis, std::size_t first_out, std::size_t start,
                                 std::size_t count) {
  const auto stride = static_cast<std::ptrdiff_t>(axis.stride);
  const std::ptrdiff_t first =
      static_cast<std::ptrdiff_t>(first_out) * stride + static_cast<std::ptrdiff_t>(start) - axis.pad;
  const auto limit = static_cast<std::ptrdiff_t>(count);
  // Least q with first + q * stride >= bound.
  const auto least = [&](std::ptrdiff_t bound) {
    return static_cast<std::size_t>(first >= bound ? 0
                                                   : std::min((bound - first + stride - 1) / stride, limit));
  };
  return {least(0), least(static_cast<std::ptrdiff_t>(axis.in))};
}

/// Samples that neighbouring outputs of an axis see, with padding.
inline std::size_t seen_samples(const ConvolutionAxis& axis, std::size_t outputs) {
  return (outputs - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
}

/// The outputs of an axis that see the image at a tap.
inline IndexRange outputs_inside(const ConvolutionAxis& axis, std::size_t tap) {
  return samples_inside(axis, 0, tap * axis.dilation, axis.out);
}

/// The taps of an axis that see the image from an output.
inline IndexRange taps_inside(ConvolutionAxis axis, std::size_t output) {
  const std::size_t start = output * axis.stride;
  axis.stride = axis.dilation;
  return samples_inside(axis, 0, start, axis.kernel);
}

struct ConvolutionGeometry {
  std::size_t batch = 1;
  std::size_t groups = 1;
  std::size_t in_channels = 0;   ///< of one group
  std::size_t out_channels = 0;  ///< of one group
  std::size_t workers = 1;
  bool weights_stay = false;
  bool accurate = false;
  bool whole_floats = false;
  bool maps_image = false;
  const IntegerWeights* integers = nullptr;  ///< the weights and the image, if they are integers
  ChannelQuantization image_levels;          ///< of which the image is bytes, if it is
  LaneForm lanes = LaneForm::floats;         ///< what image and weights are (integer_kernels.h)
  float padding = 0;                         ///< what is around the image
  std::array<ConvolutionAxis, 3> axes;       ///< D, H, W

  explicit ConvolutionGeometry(const ConvolutionParams& params)
      : batch(params.batch),
        groups(params.groups),
        in_channels(params.in_channels / params.groups),
        out_channels(params.out_channels / params.groups),
        workers(params.max_threads != 0 ? params.max_threads
                                        : static_cast<std::size_t>(std::max(thread_slots(), 1))),
        weights_stay(params.weights_stay),
        accurate(params.accurate),
        whole_floats(params.whole_floats),
        maps_image(params.maps_image),
        integers(params.integers.get()),
        image_levels(params.image_levels) {
    for (std::size_t i = 0; i < params.spatial_rank; ++i) {
      axes[3 - params.spatial_rank + i] = {params.in_dims[i], params.out_dims[i],  params.kernel[i],
                                           params.strides[i], params.dilations[i], params.pads_begin[i]};
    }
    // What becomes longer below must not keep the stride of a single output.
    for (ConvolutionAxis& axis : axes) {
      if (axis.is_pointwise()) axis = {axis.in, axis.out};
    }
    // Dimensions that do nothing melt into the last one: longer rows.
    if (std::all_of(axes.begin(), axes.end(),
                    [](const ConvolutionAxis& axis) { return axis.is_pointwise(); })) {
      axes[2].in = axes[2].out = in_size();
      axes[0] = axes[1] = {};
    } else if (axes[0].is_pointwise() && axes[0].in != 1 && axes[1].is_pointwise()) {
      axes[1].in = axes[1].out = axes[0].in * axes[1].in;
      axes[0] = {};
    } else if (axes[1].is_pointwise() && axes[2].is_pointwise()) {
      axes[2].in = axes[2].out = axes[1].in * axes[2].in;
      axes[1] = std::exchange(axes[0], {});
    }
    // Lines of one sample: their places are those of the axis before them.
    for (const std::size_t i : {2, 1, 2}) {
      if (axes[i].in == 1 && axes[i].is_pointwise()) axes[i] = std::exchange(axes[i - 1], {});
    }
  }

  [[nodiscard]] std::size_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  [[nodiscard]] std::size_t weight_count() const { return groups * out_channels * in_channels * taps(); }
  /// Depth slices of the outputs of all groups of all images.
  [[nodiscard]] std::size_t planes() const { return batch * groups * axes[0].out; }
  [[nodiscard]] std::size_t in_size() const { return axes[0].in * axes[1].in * axes[2].in; }
  [[nodiscard]] std::size_t out_size() const { return axes[0].out * axes[1].out * axes[2].out; }
  [[nodiscard]] bool is_pointwise() const {
    return axes[0].is_pointwise() && axes[1].is_pointwise() && axes[2].is_pointwise();
  }
  [[nodiscard]] bool is_full() const { return axes[0].is_full() && axes[1].is_full() && axes[2].is_full(); }
  [[nodiscard]] bool is_empty() const {
    return out_size() == 0 || in_size() == 0 || in_channels == 0 || out_channels == 0;
  }
  /// Square windows over H and W, as far apart in both, without dilation, of which each may see the image.
  [[nodiscard]] bool is_square() const {
    const auto is_plain = [](const ConvolutionAxis& axis) {
      return axis.dilation == 1 && axis.pad >= 0 && axis.pad < static_cast<std::ptrdiff_t>(axis.kernel);
    };
    return axes[0].is_pointwise() && axes[0].in == 1 && is_plain(axes[1]) && is_plain(axes[2]) &&
           axes[1].kernel == axes[2].kernel && axes[1].stride == axes[2].stride;
  }
  /// 3 x 3 taps of stride and dilation 1 over H and W, and something to do.
  [[nodiscard]] bool is_winograd() const {
    const auto is_plain = [](const ConvolutionAxis& axis) {
      return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
    };
    return is_plain(axes[1]) && is_plain(axes[2]) && !is_empty();
  }
};

// The algorithms. Each takes any geometry that its comment allows; `weights` and `epilogue` as in
// create_convolution. Those that have a `prologue` take one for what takes_prologue allows.

/// No group, one output sample that sees the whole image: a product of matrices.
std::unique_ptr<Convolution> create_full_convolution(const ConvolutionGeometry& geometry,
                                                     const float* weights, const Epilogue& epilogue);
/// One input channel per group.
std::unique_ptr<Convolution> create_depthwise_convolution(const ConvolutionGeometry& geometry,
                                                          const float* weights, const Epilogue& epilogue);
/// One input and one output channel per group, of small planes, with constant weights; else nullptr.
std::unique_ptr<Convolution> create_depthwise_channels(const ConvolutionGeometry& geometry,
                                                       const float* weights, const Epilogue& epilogue);
/// Any. nullptr when the reach of the kernel is too far for staging.
std::unique_ptr<Convolution> create_gemm_convolution(const ConvolutionGeometry& geometry,
                                                     const float* weights, const Epilogue& epilogue,
                                                     const Prologue& prologue = {});
/// Constant weights. Columns are never packed, which pays for few output channels per group. nullptr when
/// there is nothing to do, or the reach of the kernel is too far for staging.
std::unique_ptr<Convolution> create_direct_convolution(const ConvolutionGeometry& geometry,
                                                       const float* weights, const Epilogue& epilogue,
                                                       const Prologue& prologue = {});
/// The same with vectors of output channels, several taps.
std::unique_ptr<Convolution> create_direct_channels(const ConvolutionGeometry& geometry, const float* weights,
                                                    const Epilogue& epilogue);
/// Constant weights. Output planes too small to fill vectors: positions are rows and channels columns of the
/// product. nullptr when the plane is too large or none, or vectors of channels are too short for the target.
std::unique_ptr<Convolution> create_small_plane_convolution(const ConvolutionGeometry& geometry,
                                                            const float* weights, const Epilogue& epilogue,
                                                            const Prologue& prologue = {});
/// Constant weights, in matrix tiles. nullptr where the processor has none, when there is nothing to do, or
/// the reach of the kernel is too far for staging.
std::unique_ptr<Convolution> create_tiles_convolution(const ConvolutionGeometry& geometry,
                                                      const float* weights, const Epilogue& epilogue,
                                                      const Prologue& prologue = {});
/// Constant weights. Only those pairs of an output and a tap that are inside of the image are multiplied:
/// where many are not. nullptr for pointwise geometries and when there is nothing to do.
std::unique_ptr<Convolution> create_tap_by_tap_convolution(const ConvolutionGeometry& geometry,
                                                           const float* weights, const Epilogue& epilogue);
/// Constant weights, is_winograd() with tiles of `outputs` x `outputs` (2 or 4). nullptr for other
/// geometries. Error: some 1e-6 of the largest sum of magnitudes, ten times that of the direct algorithms.
std::unique_ptr<Convolution> create_winograd_convolution(const ConvolutionGeometry& geometry,
                                                         std::size_t outputs, const float* weights,
                                                         const Epilogue& epilogue);
/// The same, with filters that are kept as they are and transformed on the way.
std::unique_ptr<Convolution> create_compact_winograd(const ConvolutionGeometry& geometry, std::size_t outputs,
                                                     const float* weights, const Epilogue& epilogue);
/// Constant weights, 3 taps or more for each sample of the stride along one axis, dilation 1: H where there
/// is one tap along W (and anything along D), or W (and anything along D and H). nullptr for other
/// geometries.
std::unique_ptr<Convolution> create_winograd_lines_convolution(const ConvolutionGeometry& geometry,
                                                               const float* weights,
                                                               const Epilogue& epilogue);
/// How Winograd's algorithms keep filters.
enum class FilterForm { transformed, compact };
/// Constant weights, a dilation along H, W or both, without which one of Winograd's algorithms with such
/// filters takes the geometry: the cheapest of them. nullptr for other geometries.
std::unique_ptr<Convolution> create_dilated_winograd(const ConvolutionGeometry& geometry, FilterForm filters,
                                                     const float* weights, const Epilogue& epilogue);
/// Constant weights, pointwise, one group, something to cut in `slices`: 2 or 4, see gemm_strassen.h. nullptr
/// for other geometries.
std::unique_ptr<Convolution> create_strassen_convolution(const ConvolutionGeometry& geometry,
                                                         std::size_t slices, const float* weights,
                                                         const Epilogue& epilogue);
/// Whether levels of `image` are the bytes that products with such weights take.
bool takes_levels(const IntegerWeights* integers, ChannelQuantization image);
inline bool takes_levels(const ConvolutionGeometry& geometry) {
  return takes_levels(geometry.integers, geometry.image_levels);
}
/// Constant weights, lanes of integers, with vectors of output channels. nullptr for floats, for volumes, for
/// rows of taps with a dilation, and for images too large to be turned.
std::unique_ptr<Convolution> create_integer_channels(const ConvolutionGeometry& geometry,
                                                     const float* weights, const Epilogue& epilogue,
                                                     const Prologue& prologue = {});
/// Constant weights that are integers, as the image is: `create`, one of the above, for lanes of them.
std::unique_ptr<Convolution> create_integer_convolution(
    std::string_view algorithm, const ConvolutionGeometry& geometry, const ConstantWeights& weights,
    const Epilogue& epilogue, const Prologue& prologue,
    std::unique_ptr<Convolution> (*create)(const ConvolutionGeometry& geometry, const float* weights,
                                           const Epilogue& epilogue, const Prologue& prologue));
/// Whether weights and image are integers, and positions enough to multiply them.
bool multiplies_integers(const ConvolutionGeometry& geometry);
/// The geometry that products of lanes see, where weights and image are integers.
ConvolutionGeometry with_lanes(const ConvolutionGeometry& geometry);
/// Constant weights that are bytes, as the image is, in matrix tiles. nullptr where the processor has none,
/// when there is nothing to do, or the reach of the kernel is too far.
std::unique_ptr<Convolution> create_integer_tiles(const ConvolutionGeometry& geometry,
                                                  const ConstantWeights& weights, const Epilogue& epilogue,
                                                  const Prologue& prologue);
/// Any; slow.
std::unique_ptr<Convolution> create_reference_convolution(const ConvolutionGeometry& geometry,
                                                          const float* weights, const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_GEOMETRY_H_
