// The cost model by which create_convolution chooses: what an algorithm is expected to take for a geometry.
// Costs are about cycles of one core for one depth slice of one group, fitted to measured kernels (AVX2 and
// AVX-512); only their order counts. They must not see the number of threads: algorithms differ in the last
// bits. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_COST_H_
#define KERNELS_CONVOLUTION_COST_H_

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/convolution_geometry.h"

namespace ir::kernels {

/// Of an algorithm that does not take the geometry.
inline constexpr double kCannotServe = std::numeric_limits<double>::infinity();

/// What fits the second-level cache, besides other things.
inline constexpr std::size_t kCacheFloats = std::size_t{1} << 18;

/// Weights that do not stay in the second-level cache come at some bytes per cycle, however little they are
/// used. Not all of that hides behind the arithmetic.
inline double memory_bound(double cycles, std::size_t weights) {
  constexpr double kFloatsPerCycle = 1.25;
  constexpr double kShown = 1.0 / 64;
  if (weights <= kCacheFloats) return cycles;
  return std::max(cycles, static_cast<double>(weights) / kFloatsPerCycle) + kShown * cycles;
}

// One per algorithm of convolution_geometry.h that several compete with.
double gemm_convolution_cost(const ConvolutionGeometry& geometry);
double small_plane_convolution_cost(const ConvolutionGeometry& geometry);
double winograd_convolution_cost(const ConvolutionGeometry& geometry, std::size_t outputs);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_COST_H_
