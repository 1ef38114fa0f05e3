// Winograd's transforms over vectors of output channels, one set of function pointers per SIMD target and
// tile size: those that serve where filters are transformed on the way. Internal to kernels/.
#ifndef KERNELS_WINOGRAD_WINOGRAD_CHANNELS_H_
#define KERNELS_WINOGRAD_WINOGRAD_CHANNELS_H_

#include <array>
#include <cstddef>

#include "kernels/winograd/winograd_transforms.h"

namespace ir::kernels {

/// Where the outputs of a tile go, vector by vector: output (y, x) to to[y * row_stride + x * column_stride].
struct TileOutputs {
  float* to = nullptr;
  std::size_t rows = 0;     ///< of the tile's that exist
  std::size_t columns = 0;  ///< of the tile's that exist
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;
};

struct WinogradChannels {
  std::size_t outputs = 0;  ///< of a tile, in each direction

  /// Pairs of rows of points that are made of the same sums of taps: the first and the last, whose taps are
  /// only their own, and each row with the one that differs from it by signs. Which row comes at a place.
  static constexpr std::size_t row_at(std::size_t samples, std::size_t place) {
    return place == 0 ? 0 : place == 1 ? samples - 1 : place - 1;
  }

  /// Rows of points of 3 x 3 filters: those of `vectors` vectors of channels for `count` terms,
  /// [count][9][vectors * lanes], to to[j * point_stride + term * vectors * lanes + channel], point j of the
  /// rows, but for a factor of each point.
  using FilterRows = void (*)(const float* filters, std::size_t count, std::size_t vectors, float* to,
                              std::size_t point_stride);
  FilterRows filter_rows[WinogradTransforms::kMaxSamples / 2] = {};  ///< those of pair i
  FilterRows all_filter_rows = nullptr;                              ///< of all pairs, one after the other

  /// The outputs of one tile from points[p * point_stride + channel], for `vectors` vectors of channels.
  /// Makes up for the factors that `filter_rows` leave out.
  void (*output)(const float* points, std::size_t point_stride, std::size_t vectors,
                 const TileOutputs& outputs) = nullptr;
};

/// Those for 2 and 4 outputs of the SIMD target that dispatch picks now.
const std::array<WinogradChannels, 2>& winograd_channels();

}  // namespace ir::kernels

#endif  // KERNELS_WINOGRAD_WINOGRAD_CHANNELS_H_
