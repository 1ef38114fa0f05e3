// Which part of a step a block of tiles is, for all forms of Winograd's convolution. Internal to kernels/.
#ifndef KERNELS_WINOGRAD_WINOGRAD_PLACE_H_
#define KERNELS_WINOGRAD_WINOGRAD_PLACE_H_

#include <algorithm>
#include <cstddef>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/winograd/winograd_transforms.h"

namespace ir::kernels {

struct WinogradCall {
  const float* image;
  const float* residual;
  float* out;
};

/// One block of tiles of one depth slice of one group of one image.
struct WinogradPlace {
  /// Block `index` of all planes, each of which is split like that.
  WinogradPlace(const ConvolutionGeometry& geometry, const PlaneSplit& plane, std::size_t index)
      : image(index / plane.parts() / geometry.axes[0].out),
        group(image % geometry.groups),
        depth(index / plane.parts() % geometry.axes[0].out),
        tiles(plane.block(index % plane.parts())) {}

  std::size_t image;  ///< batch * groups + group
  std::size_t group;
  std::size_t depth;
  PlaneBlock tiles;
};

/// The outputs of a block, in each channel.
struct WinogradOutputs {
  WinogradOutputs(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms,
                  const WinogradPlace& place) {
    const std::size_t height = geometry.axes[1].out;
    const std::size_t width = geometry.axes[2].out;
    const std::size_t top = place.tiles.row * transforms.tile_rows();
    const std::size_t left = place.tiles.column * transforms.tile_columns();
    rows = std::min(place.tiles.rows * transforms.tile_rows(), height - top);
    columns = std::min(place.tiles.columns * transforms.tile_columns(), width - left);
    first = place.image * geometry.out_channels * geometry.out_size() + (place.depth * height + top) * width +
            left;
  }

  std::size_t rows = 0;     ///< that exist
  std::size_t columns = 0;  ///< that exist
  std::size_t first = 0;    ///< of the group's channel 0, in the result
};

}  // namespace ir::kernels

#endif  // KERNELS_WINOGRAD_WINOGRAD_PLACE_H_
