// Winograd's convolution with given transforms. Internal to kernels/.
#ifndef KERNELS_WINOGRAD_WINOGRAD_H_
#define KERNELS_WINOGRAD_WINOGRAD_H_

#include <cstddef>
#include <memory>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/winograd/winograd_transforms.h"

namespace ir::kernels {

/// What fits the second-level cache, besides other things.
inline constexpr std::size_t kCacheFloats = std::size_t{1} << 18;

/// How filters are transformed on the way. Blocks of many terms let products not notice that each tile of
/// registers begins and ends; then the second-level cache holds a pair of rows of points at a time, and taps
/// are read again for each pair.
struct CompactFilters {
  std::size_t terms = 128;  ///< of a block
  bool by_pairs = true;
};
/// What takes less time, whatever the number of workers.
CompactFilters compact_filters(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms);

/// About the cycles of one block of tiles of a plane and so many output channels where filters are
/// transformed on the way.
struct CompactBlockCost {
  double image = 0;
  double filters = 0;
  double products = 0;
};
CompactBlockCost compact_block_cost(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms,
                                    std::size_t tiles, std::size_t channels);
/// Vectors of tiles that such a block has at most.
std::size_t compact_block_vectors(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms);

/// About the cycles of transforming `depth` channels of an image and `channels` of results, so many floats of
/// all points each: most of it is memory.
double transforming_cost(const WinogradTransforms& transforms, double depth, double channels, double floats);

/// `transforms` take the filter; those of a line also one that is longer.
std::unique_ptr<Convolution> create_winograd_convolution(const ConvolutionGeometry& geometry,
                                                         const WinogradTransforms& transforms,
                                                         const float* weights, const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_WINOGRAD_WINOGRAD_H_
