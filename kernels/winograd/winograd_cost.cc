// What Winograd's algorithms are expected to cost, and which transforms of lines serve best.
#include <algorithm>
#include <cstddef>

#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_image.h"
#include "kernels/winograd/winograd_transforms.h"

namespace ir::kernels {
namespace {

const WinogradTransforms* transforms_of(std::size_t outputs) {
  for (const WinogradTransforms& transforms : winograd_transforms()) {
    if (transforms.outputs == outputs) return &transforms;
  }
  return nullptr;
}

/// Terms of a sum of one point.
std::size_t depth_of(const WinogradTransforms& transforms, const ConvolutionGeometry& geometry) {
  return geometry.in_channels * OuterTaps(geometry, transforms).total();
}

/// Of the terms in the mean of all slices: taps of slices outside of the image cost nothing.
double part_inside(const ConvolutionGeometry& geometry) {
  const ConvolutionAxis& slices = geometry.axes[0];
  std::size_t inside = 0;
  for (std::size_t tap = 0; tap < slices.kernel; ++tap) inside += outputs_inside(slices, tap).count();
  return static_cast<double>(inside) / static_cast<double>(slices.kernel * slices.out);
}

std::size_t weights_of(const WinogradTransforms& transforms, const ConvolutionGeometry& geometry) {
  return transforms.points() * depth_of(transforms, geometry) * geometry.out_channels;
}

/// Picking the samples of a phase from rows.
double sampling_cost(const WinogradTransforms& transforms, const ConvolutionGeometry& geometry) {
  const ConvolutionAxis& horizontal = geometry.axes[2];
  if (horizontal.stride == 1) return 0;
  const double of_pairs = has_short_vectors() ? 0.4 : 0.05;  // of a sample of a line
  constexpr double kOfSingles = 1.5;
  const std::size_t lines = divide_up(transforms.samples(), transforms.outputs);
  return (horizontal.stride == 2 ? of_pairs : kOfSingles) *
         static_cast<double>(depth_of(transforms, geometry) * geometry.axes[1].out * horizontal.out * lines);
}

/// Of a float of a transformed plane, beside transforming_cost: the more of the second-level cache the
/// smallest block takes that they are multiplied in, the more of it comes from further away.
double far_block_cost(const WinogradTransforms& transforms, const ConvolutionGeometry& geometry,
                      std::size_t tiles) {
  constexpr Fitted<double> kOfWholeCache{0.6, 0, 0, 0};
  if (transforms.axes != TileAxes::both) return 0;
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t block = std::min(tiles, 2 * kernels.max_vectors * kernels.lanes);
  return kOfWholeCache.here() *
         static_cast<double>(transforms.points() * depth_of(transforms, geometry) * block * sizeof(float)) /
         static_cast<double>(second_level_cache());
}

double cost_with(const WinogradTransforms& transforms, const ConvolutionGeometry& geometry) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t points = transforms.points();
  const double depth = part_inside(geometry) * static_cast<double>(depth_of(transforms, geometry));
  const std::size_t tiles = divide_up(geometry.axes[1].out, transforms.tile_rows()) *
                            divide_up(geometry.axes[2].out, transforms.tile_columns());
  const std::size_t product = kernels.product_cost(geometry.out_channels, tiles);
  const auto floats = static_cast<double>(points * kernels.padded(tiles));
  constexpr Fitted<double> kOfProduct{1, 1, 1.16, 1.04};
  return (transforms.axes == TileAxes::both ? kOfProduct.here() : 1) * static_cast<double>(product * points) *
             depth +
         with_weights(0, weights_of(transforms, geometry)) +
         transforming_cost(transforms, depth, static_cast<double>(geometry.out_channels), floats) +
         (depth + static_cast<double>(geometry.out_channels)) * far_block_cost(transforms, geometry, tiles) *
             floats +
         sampling_cost(transforms, geometry);
}

/// What compact forms take.
struct CompactCosts {
  double product = 1;    ///< of what products take
  double filter = 0;     ///< of one point of one filter
  double transform = 0;  ///< of one float of one point of the image, which is packed again
  double sum = 0;        ///< of one float of one point of the products, for each block of terms
  double point = 0;      ///< of one point of one tile, however few the channels
  double start = 0;
};
constexpr Fitted<CompactCosts> kCompactCosts{{1, 0.33, 1.4, 0.5, 12, 0},
                                             {1, 0.4, 1.5, 0.8, 12, 5000},
                                             {1.15, 0.2, 1.1, 0.33, 0, 2500},
                                             {1.1, 0.2, 1.2, 0.74, 0, 3500}};

/// What it takes to sum a point of so many tiles block by block of so many terms.
double sums_cost(std::size_t tiles, std::size_t depth, std::size_t terms) {
  return kCompactCosts.here().sum * static_cast<double>(tiles * divide_up(depth, terms));
}

/// How one worker cuts a plane into blocks of tiles, and the tiles of one of them.
PlaneSplit blocks_of(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms) {
  return {divide_up(geometry.axes[1].out, transforms.outputs),
          divide_up(geometry.axes[2].out, transforms.outputs),
          gemm_kernels().lanes,
          compact_block_vectors(geometry, transforms),
          {1, 1, true}};
}
std::size_t tiles_of_block(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms) {
  const std::size_t tiles = divide_up(geometry.axes[1].out, transforms.outputs) *
                            divide_up(geometry.axes[2].out, transforms.outputs);
  return divide_up(tiles, blocks_of(geometry, transforms).parts());
}

/// Whether the transforms of a line take the filter, which may be longer than they are.
bool serves(const WinogradTransforms& transforms, const ConvolutionGeometry& geometry) {
  if (geometry.is_empty()) return false;
  const bool is_vertical = transforms.axes == TileAxes::vertical;
  const ConvolutionAxis& along = geometry.axes[is_vertical ? 1 : 2];
  const ConvolutionAxis& across = geometry.axes[is_vertical ? 2 : 1];
  if (divide_up(along.kernel, along.stride) < transforms.taps || along.dilation != 1) return false;
  return !is_vertical || (across.kernel == 1 && across.stride == 1);
}

/// Whether what a block of tiles needs at least (see block_vectors) is no burden: filters of many taps across
/// a line would ask for memory without bounds.
bool fits(const GemmKernels& kernels, const WinogradTransforms& transforms,
          const ConvolutionGeometry& geometry) {
  constexpr std::size_t kMostFloats = std::size_t{1} << 22;
  const std::size_t panel = 2 * kernels.max_vectors * kernels.lanes;
  return transforms.points() * depth_of(transforms, geometry) * panel <= kMostFloats;
}

/// The cheapest of the transforms of a line that take the filter, which are those of one axis.
const WinogradTransforms* best_line(const ConvolutionGeometry& geometry) {
  const WinogradTransforms* best = nullptr;
  double least = kCannotServe;
  for (const WinogradTransforms& transforms : winograd_line_transforms()) {
    if (!serves(transforms, geometry) || !fits(gemm_kernels(), transforms, geometry)) continue;
    const double cost = cost_with(transforms, geometry);
    if (cost >= least) continue;
    least = cost;
    best = &transforms;
  }
  return best;
}

}  // namespace

double transforming_cost(const WinogradTransforms& transforms, double depth, double channels, double floats) {
  struct Costs {
    double image;    // of a float
    double results;  // of a float
    double channel;
  };
  constexpr Fitted<Costs> kOfBoth{{0.2, 0.5, 100}, {0.9, 0.9, 230}, {0.33, 0.33, 200}, {0.55, 0.55, 150}};
  constexpr Fitted<Costs> kOfLine{{0.6, 0.6, 150}, {0.7, 0.7, 230}, {0.6, 0.6, 100}, {0.9, 0.9, 50}};
  const Costs& costs = (transforms.axes == TileAxes::both ? kOfBoth : kOfLine).here();
  return (depth * costs.image + channels * costs.results) * floats + (depth + channels) * costs.channel;
}

double winograd_convolution_cost(const ConvolutionGeometry& geometry, std::size_t outputs) {
  return geometry.is_winograd() ? cost_with(*transforms_of(outputs), geometry) : kCannotServe;
}

CompactFilters compact_filters(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms) {
  const GemmKernels& kernels = gemm_kernels();
  const CompactFilters pairs;
  const std::size_t depth = depth_of(transforms, geometry);
  if (depth <= pairs.terms) return pairs;  // a single block
  const std::size_t width =
      std::min(kernels.max_vectors * kernels.lanes, kernels.padded(geometry.out_channels));
  const std::size_t most = kCacheFloats / 2 / (transforms.points() * width);
  const CompactFilters whole{std::clamp<std::size_t>(most, 1, pairs.terms), false};
  constexpr double kSaved = 0.35;  // of the transforms
  const std::size_t tiles = tiles_of_block(geometry, transforms);
  const double more_sums = sums_cost(tiles, depth, whole.terms) - sums_cost(tiles, depth, pairs.terms);
  return more_sums < kSaved * kCompactCosts.here().filter * static_cast<double>(depth) ? whole : pairs;
}

CompactBlockCost compact_block_cost(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms,
                                    std::size_t tiles, std::size_t channels) {
  const CompactCosts& costs = kCompactCosts.here();
  const GemmKernels& kernels = gemm_kernels();
  const double points = part_inside(geometry) * static_cast<double>(transforms.points());
  const std::size_t depth = depth_of(transforms, geometry);
  return {points * costs.transform * static_cast<double>(depth * kernels.padded(tiles)),
          points * costs.filter * static_cast<double>(depth * kernels.padded(channels)),
          points * (costs.product * static_cast<double>(kernels.product_cost(tiles, channels) * depth) +
                    costs.point * static_cast<double>(tiles) +
                    sums_cost(tiles, depth, CompactFilters().terms) * static_cast<double>(channels))};
}

std::size_t compact_block_vectors(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms) {
  constexpr std::size_t kLeastTiles = 64;  // so that the filters' transforms are a small part
  const std::size_t floats = transforms.points() * depth_of(transforms, geometry);
  return divide_up(std::max(kCacheFloats / floats, kLeastTiles), gemm_kernels().lanes);
}

double compact_winograd_cost(const ConvolutionGeometry& geometry, std::size_t outputs) {
  if (!geometry.is_winograd()) return kCannotServe;
  const WinogradTransforms& transforms = *transforms_of(outputs);
  const PlaneSplit blocks = blocks_of(geometry, transforms);
  const CompactBlockCost block =
      compact_block_cost(geometry, transforms, tiles_of_block(geometry, transforms), geometry.out_channels);
  return kCompactCosts.here().start +
         with_weights(0, 9 * depth_of(transforms, geometry) * geometry.out_channels) +
         static_cast<double>(blocks.parts()) * (block.image + block.filters + block.products);
}

double winograd_lines_convolution_cost(const ConvolutionGeometry& geometry, TileAxes axes) {
  if (geometry.is_winograd()) return kCannotServe;  // both axes at once serve better
  const WinogradTransforms* const line = best_line(geometry);
  return line != nullptr && line->axes == axes ? cost_with(*line, geometry) : kCannotServe;
}

std::size_t winograd_convolution_weights(const ConvolutionGeometry& geometry, std::size_t outputs) {
  return weights_of(*transforms_of(outputs), geometry);
}

std::size_t winograd_lines_convolution_weights(const ConvolutionGeometry& geometry, TileAxes axes) {
  const WinogradTransforms* const line = best_line(geometry);
  return line != nullptr && line->axes == axes ? weights_of(*line, geometry) : 0;
}

std::unique_ptr<Convolution> create_winograd_convolution(const ConvolutionGeometry& geometry,
                                                         std::size_t outputs, const float* weights,
                                                         const Epilogue& epilogue) {
  if (weights == nullptr || !geometry.is_winograd()) return nullptr;
  const WinogradTransforms* const transforms = transforms_of(outputs);
  if (transforms == nullptr) return nullptr;
  return create_winograd_convolution(geometry, *transforms, weights, epilogue);
}

std::unique_ptr<Convolution> create_winograd_lines_convolution(const ConvolutionGeometry& geometry,
                                                               const float* weights,
                                                               const Epilogue& epilogue) {
  if (weights == nullptr) return nullptr;
  const WinogradTransforms* const line = best_line(geometry);
  return line == nullptr ? nullptr : create_winograd_convolution(geometry, *line, weights, epilogue);
}

}  // namespace ir::kernels
