// Which of Winograd's algorithms takes a convolution, if any: what each is expected to cost.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/convolution_geometry.h"
#include "kernels/gemm_kernels.h"
#include "kernels/winograd.h"
#include "kernels/winograd_image.h"
#include "kernels/winograd_transforms.h"

namespace ir::kernels {
namespace {

/// About the cycles of one depth slice of one group; measured on AVX2 and AVX-512. Weights that do not stay
/// in the second-level cache come at some bytes per cycle, however little they are used.
double memory_bound(double cycles, std::size_t weights, double floats_per_cycle = 1.25) {
  return weights <= kCacheFloats ? cycles : std::max(cycles, static_cast<double>(weights) / floats_per_cycle);
}

double direct_cost(const GemmKernels& kernels, const ConvolutionGeometry& geometry) {
  constexpr double kStaging = 1.1;
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t plane = geometry.axes[1].out * geometry.axes[2].out;
  const std::size_t product = std::min(kernels.product_cost(geometry.out_channels, plane),
                                       kernels.product_cost(plane, geometry.out_channels));
  return memory_bound(kStaging * static_cast<double>(product * terms), geometry.out_channels * terms);
}

double winograd_cost(const GemmKernels& kernels, const ConvolutionGeometry& geometry,
                     const WinogradTransforms& transforms) {
  const bool is_line = transforms.axes != TileAxes::both;
  // Of one float of one point, in or out: most of it is memory.
  const double transform = is_line ? 0.6 : 1.1;
  // Measured within a network, whose other layers leave little of the weights in the cache.
  const double floats_per_cycle = is_line ? 0.8 : 1.25;
  const std::size_t points = transforms.points();
  const std::size_t depth = geometry.in_channels * OuterTaps(geometry, transforms).total();
  const std::size_t tiles = divide_up(geometry.axes[1].out, transforms.tile_rows()) *
                            divide_up(geometry.axes[2].out, transforms.tile_columns());
  const std::size_t product = kernels.product_cost(geometry.out_channels, tiles);
  const auto floats = static_cast<double>(kernels.padded(tiles));
  return memory_bound(static_cast<double>(product * depth * points), points * depth * geometry.out_channels,
                      floats_per_cycle) +
         transform * static_cast<double>(points * (depth + geometry.out_channels)) * floats;
}

/// The same for tiles as rows and filters that are transformed on the way; infinite where that is pointless.
double few_tiles_cost(const GemmKernels& kernels, const ConvolutionGeometry& geometry, std::size_t outputs) {
  constexpr std::size_t kFewTiles = 32;
  constexpr double kProduct = 1.05;   // sums go to memory more often
  constexpr double kFilter = 4.5;     // of one vector of one point of filters: most of it is memory
  constexpr double kTransform = 1.1;  // of one float of one point of the image
  constexpr double kOutput = 0.5;     // of one float of one point of the products
  const std::size_t points = (outputs + 2) * (outputs + 2);
  const std::size_t depth = geometry.in_channels * geometry.axes[0].kernel;
  const std::size_t tiles =
      divide_up(geometry.axes[1].out, outputs) * divide_up(geometry.axes[2].out, outputs);
  const std::size_t channels = geometry.out_channels;
  // More tiles are worth it where every cache of a core is too small for the transformed filters.
  const std::size_t most = points * depth * channels > 4 * kCacheFloats ? 2 * kFewTiles : kFewTiles;
  if (tiles > most) return std::numeric_limits<double>::infinity();
  const auto times_points = [&](std::size_t count) { return static_cast<double>(points * count); };
  return memory_bound(kProduct * times_points(kernels.product_cost(tiles, channels) * depth),
                      9 * depth * channels) +
         kFilter * times_points(depth * divide_up(channels, kernels.lanes)) +
         kTransform * times_points(depth * kernels.padded(tiles)) + kOutput * times_points(channels * tiles);
}

/// Whether the transforms of a line take the filter, which may be longer than they are.
bool serves(const WinogradTransforms& transforms, const ConvolutionGeometry& geometry) {
  if (geometry.out_size() == 0 || geometry.in_size() == 0 || geometry.in_channels == 0 ||
      geometry.out_channels == 0) {
    return false;
  }
  const bool is_vertical = transforms.axes == TileAxes::vertical;
  const ConvolutionAxis& along = geometry.axes[is_vertical ? 1 : 2];
  const ConvolutionAxis& across = geometry.axes[is_vertical ? 2 : 1];
  if (along.kernel < transforms.taps || along.stride != 1 || along.dilation != 1) return false;
  return !is_vertical || (across.kernel == 1 && across.stride == 1);
}

/// Whether what a block of tiles needs at least (see block_vectors) is no burden: filters of many taps across
/// a line would ask for memory without bounds.
bool fits(const GemmKernels& kernels, const WinogradTransforms& transforms,
          const ConvolutionGeometry& geometry) {
  constexpr std::size_t kMostFloats = std::size_t{1} << 22;
  const std::size_t depth = geometry.in_channels * OuterTaps(geometry, transforms).total();
  return transforms.points() * depth * 2 * kernels.max_vectors * kernels.lanes <= kMostFloats;
}

/// The cheapest of the transforms of a line that take the filter and cost less than `limit`.
const WinogradTransforms* best_line(const GemmKernels& kernels, const ConvolutionGeometry& geometry,
                                    double limit) {
  const WinogradTransforms* best = nullptr;
  for (const WinogradTransforms& transforms : winograd_line_transforms()) {
    if (!serves(transforms, geometry) || !fits(kernels, transforms, geometry)) continue;
    const double cost = winograd_cost(kernels, geometry, transforms);
    if (cost >= limit) continue;
    limit = cost;
    best = &transforms;
  }
  return best;
}

}  // namespace

std::unique_ptr<Convolution> create_winograd_convolution(const ConvolutionGeometry& geometry,
                                                         const float* weights, const Epilogue& epilogue) {
  if (weights == nullptr) return nullptr;
  const GemmKernels& kernels = gemm_kernels();
  double least = direct_cost(kernels, geometry);
  if (!geometry.is_winograd()) {
    const WinogradTransforms* const line = best_line(kernels, geometry, least);
    return line == nullptr ? nullptr : create_winograd_convolution(geometry, *line, weights, epilogue);
  }
  using Create = std::unique_ptr<Convolution> (*)(const ConvolutionGeometry&, std::size_t, const float*,
                                                  const Epilogue&);
  Create best = nullptr;
  std::size_t outputs = 0;
  const auto consider = [&](double cost, Create create, std::size_t tile) {
    if (cost >= least) return;
    least = cost;
    best = create;
    outputs = tile;
  };
  for (const WinogradTransforms& transforms : winograd_transforms()) {
    const std::size_t tile = transforms.outputs;
    consider(winograd_cost(kernels, geometry, transforms), create_winograd_convolution, tile);
    consider(few_tiles_cost(kernels, geometry, tile), create_few_tiles_convolution, tile);
  }
  return best == nullptr ? nullptr : best(geometry, outputs, weights, epilogue);
}

std::unique_ptr<Convolution> create_winograd_convolution(const ConvolutionGeometry& geometry,
                                                         std::size_t outputs, const float* weights,
                                                         const Epilogue& epilogue) {
  if (weights == nullptr || !geometry.is_winograd()) return nullptr;
  for (const WinogradTransforms& transforms : winograd_transforms()) {
    if (transforms.outputs == outputs)
      return create_winograd_convolution(geometry, transforms, weights, epilogue);
  }
  return nullptr;
}

std::unique_ptr<Convolution> create_winograd_lines_convolution(const ConvolutionGeometry& geometry,
                                                               const float* weights,
                                                               const Epilogue& epilogue) {
  if (weights == nullptr) return nullptr;
  const WinogradTransforms* const line =
      best_line(gemm_kernels(), geometry, std::numeric_limits<double>::infinity());
  return line == nullptr ? nullptr : create_winograd_convolution(geometry, *line, weights, epilogue);
}

}  // namespace ir::kernels
