// The image's side of Winograd's convolution: which samples a block of tiles sees. Internal to kernels/.
#ifndef KERNELS_WINOGRAD_IMAGE_H_
#define KERNELS_WINOGRAD_IMAGE_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/aligned_floats.h"
#include "kernels/convolution_geometry.h"
#include "kernels/plane_split.h"
#include "kernels/winograd_transforms.h"

namespace ir::kernels {

/// At least `floats` from one point to the next: one line more than whole pages, since all points of a tile
/// are written or read together and must not compete for the same sets of the first-level cache.
inline std::size_t spread_points(std::size_t floats) {
  constexpr std::size_t kPage = 4096 / sizeof(float);
  return divide_up(floats, kPage) * kPage + kFloatsPerLine;
}

class WinogradImage {
 public:
  WinogradImage(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms)
      : in_channels_(geometry.in_channels),
        axes_(geometry.axes),
        transforms_(transforms),
        zeros_(geometry.axes[2].in, 0.0F) {}

  /// Terms of the sum of a point: input channels times taps along D.
  [[nodiscard]] std::size_t depth() const { return in_channels_ * axes_[0].kernel; }
  /// Floats of scratch for blocks of at most so many tiles.
  [[nodiscard]] std::size_t scratch_floats(const TileBlockSize& block) const {
    return line_floats(block) +
           round_up_to_line(sample_rows(block.rows) * sizeof(const float*) / sizeof(float));
  }

  /// Transforms terms [first, last) of a block of tiles of one depth slice. `image`: the channels of one
  /// group of one image; term `first` is channel 0 of `columns`, and the rest as in
  /// WinogradTransforms::input.
  void transform(const float* image, std::size_t depth, const PlaneBlock& tiles, std::size_t first,
                 std::size_t last, const TileVector* vectors, float* columns, std::size_t point_stride,
                 float* scratch) const {
    const TileBlockSize block{tiles.rows, tiles.columns};
    const auto& [deep, vertical, horizontal] = axes_;
    const auto signed_size = [](std::size_t size) { return static_cast<std::ptrdiff_t>(size); };
    const std::size_t outputs = transforms_.outputs;
    const std::ptrdiff_t column = signed_size(tiles.column * outputs) - horizontal.pad;
    const auto left = static_cast<std::size_t>(std::max<std::ptrdiff_t>(-column, 0));
    const std::size_t skipped =
        std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(column, 0)), horizontal.in);
    const std::ptrdiff_t top = signed_size(tiles.row * outputs) - vertical.pad;
    const std::size_t row_count = sample_rows(tiles.rows);
    const auto rows = reinterpret_cast<const float**>(scratch + line_floats(block));
    const TileSamples samples{rows, left, horizontal.in - skipped};
    for (std::size_t term = first; term < last; ++term) {
      const std::size_t tap = term % deep.kernel;
      const std::ptrdiff_t slice = signed_size(depth * deep.stride + tap * deep.dilation) - deep.pad;
      const bool slice_inside = slice >= 0 && slice < signed_size(deep.in);
      const float* const plane = image + term / deep.kernel * deep.in * vertical.in * horizontal.in;
      for (std::size_t i = 0; i < row_count; ++i) {
        const std::ptrdiff_t y = top + signed_size(i);
        const bool inside = slice_inside && y >= 0 && y < signed_size(vertical.in);
        rows[i] = inside
                      ? plane + static_cast<std::size_t>(slice * signed_size(vertical.in) + y) * horizontal.in
                      : zeros_.data();
        rows[i] += skipped;
      }
      transforms_.input(samples, block, vectors, term - first, columns, point_stride, scratch);
    }
  }

 private:
  [[nodiscard]] std::size_t sample_rows(std::size_t tile_rows) const {
    return tile_rows * transforms_.outputs + 2;
  }
  [[nodiscard]] std::size_t line_floats(const TileBlockSize& block) const {
    return round_up_to_line(transforms_.scratch_floats(block.tiles()));
  }

  std::size_t in_channels_;
  std::array<ConvolutionAxis, 3> axes_;
  const WinogradTransforms& transforms_;
  std::vector<float> zeros_;
};

}  // namespace ir::kernels

#endif  // KERNELS_WINOGRAD_IMAGE_H_
