// Sampling of images at places that a grid names.
#ifndef KERNELS_IMAGE_GRID_SAMPLE_H_
#define KERNELS_IMAGE_GRID_SAMPLE_H_

#include <cstddef>

namespace ir::kernels {

enum class GridSampleMode { bilinear, bicubic, nearest };

/// What lies outside of the image.
enum class GridSamplePadding { zeros, border, reflection };

struct GridSampleParams {
  std::size_t batch = 0;
  std::size_t channels = 0;
  std::size_t height = 0;  ///< at least 1, as `width`
  std::size_t width = 0;
  std::size_t positions = 0;  ///< per batch element
  GridSampleMode mode = GridSampleMode::bilinear;
  GridSamplePadding padding = GridSamplePadding::zeros;
  /// Whether -1 and 1 are the centres of the outer pixels, not the borders of the image.
  bool align_corners = false;
};

/// GridSample-9: out [batch, channels, positions] from `data` [batch, channels, height, width] at the pairs
/// x, y of `grid` [batch, positions, 2]. Places and weights are computed in Grid; samples of T in the wider
/// one of T and Grid. Integers truncate each sum toward zero and saturate. Nearest rounds halves to even.
/// Places that are infinite or NaN are safe; what they give is not specified. Parallel over positions. T:
/// float, double, (u)int8_t .. (u)int64_t. Grid: float, double.
template <class T, class Grid>
void grid_sample(const GridSampleParams& params, const T* data, const Grid* grid, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_GRID_SAMPLE_H_
