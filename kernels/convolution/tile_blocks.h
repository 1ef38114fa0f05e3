// How convolutions in matrix tiles are cut: what one worker does at a time. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_TILE_BLOCKS_H_
#define KERNELS_CONVOLUTION_TILE_BLOCKS_H_

#include <cstddef>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/plane_split.h"

namespace ir::kernels {

/// What a convolution does, for its cost.
struct TileWork {
  const MatrixTiles& tiles;
  std::size_t steps = 0;  ///< of the sum of an output
  double sample = 0;      ///< cycles to prepare one of a channel, or of a lane of some
};

/// Blocks of the outputs of a group of an image, and shares of the panels of its channels.
class TileBlocks {
 public:
  /// So many vectors of positions at most. Workers share the positions, then each reads all weights; or the
  /// channels, then each prepares the whole image; whichever keeps the busiest of them less long. What is too
  /// little to be shared stays whole.
  TileBlocks(const ConvolutionGeometry& geometry, std::size_t most_vectors, const TileWork& work);

  struct Place {
    OutputBlock outputs;
    std::size_t index = 0;  ///< of a group, counted over all images
  };
  [[nodiscard]] Place place(std::size_t block) const;

  [[nodiscard]] std::size_t tasks() const { return count * shares.parts; }
  /// About the cycles of a task.
  [[nodiscard]] std::size_t cost() const { return cost_; }

  TilePanels channels;  ///< of outputs
  PlaneSplit plane;
  std::size_t depth;    ///< slices of outputs
  std::size_t count;    ///< of blocks, in all images
  Split shares;         ///< of panels of channels
  std::size_t workers;  ///< that there is enough for

 private:
  /// How many workers share the plane, and how many all of it.
  struct Sharing {
    std::size_t plane = 1;
    std::size_t all = 1;
  };
  TileBlocks(const ConvolutionGeometry& geometry, std::size_t most_vectors, const Sharing& sharing);
  /// Of a worker's tasks.
  [[nodiscard]] double cycles(const ConvolutionGeometry& geometry, const TileWork& work, std::size_t begin,
                              std::size_t end) const;
  /// Of the busiest worker.
  [[nodiscard]] double most_cycles(const ConvolutionGeometry& geometry, const TileWork& work) const;

  std::size_t cost_ = 1;
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_TILE_BLOCKS_H_
