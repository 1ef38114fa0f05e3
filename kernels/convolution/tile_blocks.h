// How convolutions in matrix tiles are cut: what one worker does at a time. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_TILE_BLOCKS_H_
#define KERNELS_CONVOLUTION_TILE_BLOCKS_H_

#include <algorithm>
#include <cstddef>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/plane_split.h"

namespace ir::kernels {

/// Blocks of the outputs of a group of an image, and shares of the panels of its channels.
struct TileBlocks {
  /// So many vectors of positions at most.
  TileBlocks(const ConvolutionGeometry& geometry, std::size_t most_vectors)
      : channels(geometry.out_channels),
        plane(geometry.axes[1].out, geometry.axes[2].out, MatrixTiles::kSize, most_vectors, spread(geometry)),
        depth(geometry.axes[0].out),
        count(geometry.planes() * plane.parts()),
        shares(fewest_parts(channels.count(), count, geometry.workers)) {}

  [[nodiscard]] std::size_t tasks() const { return count * shares.parts; }
  /// About the vectors that a task multiplies; a tile does as much as sixteen.
  [[nodiscard]] std::size_t cost(const ConvolutionGeometry& geometry, std::size_t steps) const {
    return geometry.planes() * channels.tiles() * steps * geometry.axes[1].out * geometry.axes[2].out /
               tasks() +
           1;
  }

  struct Place {
    OutputBlock outputs;
    std::size_t index = 0;  ///< of a group, counted over all images
  };
  [[nodiscard]] Place place(std::size_t block) const {
    Place place;
    static_cast<PlaneBlock&>(place.outputs) = plane.block(block % plane.parts());
    block /= plane.parts();
    place.outputs.depth = block % depth;
    place.index = block / depth;
    return place;
  }

  TilePanels channels;  ///< of outputs
  PlaneSplit plane;
  std::size_t depth;  ///< slices of outputs
  std::size_t count;  ///< of blocks, in all images
  Split shares;       ///< of panels of channels

 private:
  /// Workers share the positions, unless weights are more: then each would read all of those.
  static SpreadPlanes spread(const ConvolutionGeometry& geometry) {
    const std::size_t weights = geometry.out_channels * geometry.in_channels * geometry.taps();
    const std::size_t samples = geometry.in_channels * geometry.in_size();
    return {geometry.planes(), weights > samples ? 1 : geometry.workers};
  }
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_TILE_BLOCKS_H_
