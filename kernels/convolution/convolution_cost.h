// The cost model by which create_convolution chooses: what an algorithm is expected to take for a geometry.
// Costs are about cycles of one core for one depth slice of one group, fitted to what layers take inside of
// networks (AVX-512 and AVX2, one thread), where weights are cold; only their order counts. They must not see
// the number of threads: algorithms differ in the last bits. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_COST_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_COST_H_

#include <cstddef>
#include <limits>

#include "kernels/base/processor.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/winograd/winograd_transforms.h"

namespace ir::kernels {

/// Of an algorithm that does not take the geometry.
inline constexpr double kCannotServe = std::numeric_limits<double>::infinity();

/// Whether vectors are shorter than those (AVX-512) that most costs were fitted to: then some parts weigh
/// differently.
inline bool has_short_vectors() {
  constexpr std::size_t kLongVector = 16;
  return gemm_kernels().lanes < kLongVector;
}

/// A number, or several, as fitted to Intel's Granite Rapids and to AMD's Zen 5, for vectors of AVX-512 and
/// for those of AVX2. Other processors, and vectors that are shorter still, have what is nearest.
template <class T>
struct Fitted {
  T long_of_intel;
  T short_of_intel;
  T long_of_amd;
  T short_of_amd;

  [[nodiscard]] const T& here() const {
    constexpr std::size_t kShortest = 8;
    if (!has_short_vectors()) return is_of_intel() ? long_of_intel : long_of_amd;
    return is_of_intel() || gemm_kernels().lanes < kShortest ? short_of_intel : short_of_amd;
  }
};

/// A product of so many cycles with its weights, which come from memory, or a cache of all cores: other
/// layers ran since they were used. AMD's cores hide most of that behind the arithmetic, Intel's servers,
/// which read 11 to 17 GB/s a core, less.
inline double with_weights(std::size_t cycles, std::size_t weights) {
  constexpr Fitted<double> kOfWeight{0.65, 0.5, 0.15, 0.15};
  return static_cast<double>(cycles) + kOfWeight.here() * static_cast<double>(weights);
}

/// What moving a plane costs next to its products, in cycles per vector.
struct Traffic {
  double image = 0;
  double results = 0;
  double far_results = 0;  ///< on top, where they do not stay in the second-level cache
};
inline double traffic_cost(const ConvolutionGeometry& geometry, const Traffic& traffic) {
  const ConvolutionAxis& rows = geometry.axes[1];
  const ConvolutionAxis& columns = geometry.axes[2];
  const std::size_t results = geometry.out_channels * rows.out * columns.out;
  const bool are_far = results * sizeof(float) > second_level_cache() / 2;
  return (traffic.image * static_cast<double>(geometry.in_channels * rows.in * columns.in) +
          (traffic.results + (are_far ? traffic.far_results : 0)) * static_cast<double>(results)) /
         static_cast<double>(gemm_kernels().lanes);
}

/// Whether the image of a group, of which blocks of rows are read in turn, is more than the second-level
/// cache holds.
inline bool is_far(const ConvolutionGeometry& geometry) {
  return geometry.in_channels * geometry.in_size() * sizeof(float) > second_level_cache();
}

/// Staging the plane of a depth slice for several taps: whole rows as they are, in pieces of rows, or with
/// the samples of a tap picked from among others, two by two for a stride of 2 and else one by one.
double staging_cost(const ConvolutionGeometry& geometry);

// One per algorithm of convolution_geometry.h that several compete with.
double gemm_convolution_cost(const ConvolutionGeometry& geometry);
double direct_convolution_cost(const ConvolutionGeometry& geometry);
double direct_channels_cost(const ConvolutionGeometry& geometry);
double depthwise_channels_cost(const ConvolutionGeometry& geometry);
double small_plane_convolution_cost(const ConvolutionGeometry& geometry);
double integer_channels_cost(const ConvolutionGeometry& geometry);
double strassen_convolution_cost(const ConvolutionGeometry& geometry, std::size_t slices);
double tiles_convolution_cost(const ConvolutionGeometry& geometry);
double integer_tiles_cost(const ConvolutionGeometry& geometry);
double tap_by_tap_convolution_cost(const ConvolutionGeometry& geometry);
double winograd_convolution_cost(const ConvolutionGeometry& geometry, std::size_t outputs);
double compact_winograd_cost(const ConvolutionGeometry& geometry, std::size_t outputs);
double dilated_winograd_cost(const ConvolutionGeometry& geometry, FilterForm filters);
/// `cost` is that of the algorithm for pairs.
double integer_convolution_cost(const ConvolutionGeometry& geometry,
                                double (*cost)(const ConvolutionGeometry& geometry));
double winograd_lines_convolution_cost(const ConvolutionGeometry& geometry, TileAxes axes);

// What Winograd's algorithms keep of the weights of one group, transformed, those of integers and those that
// fill matrix tiles, in floats. The others keep as many as there are.
std::size_t winograd_convolution_weights(const ConvolutionGeometry& geometry, std::size_t outputs);
std::size_t dilated_winograd_weights(const ConvolutionGeometry& geometry, FilterForm filters);
std::size_t tiles_convolution_weights(const ConvolutionGeometry& geometry);
std::size_t integer_convolution_weights(const ConvolutionGeometry& geometry);
std::size_t integer_tiles_weights(const ConvolutionGeometry& geometry);
std::size_t winograd_lines_convolution_weights(const ConvolutionGeometry& geometry, TileAxes axes);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_COST_H_
