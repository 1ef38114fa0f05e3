// What Winograd's convolution does to tiles of the image and of the result, one set of function pointers per
// SIMD target and tile size. Internal to kernels/.
//
// F(m x m, 3 x 3): m x m outputs are made of (m + 2) x (m + 2) samples; input tiles B' d B, weights G g G',
// both multiplied element by element ("points"), summed over the channels and taken back by A' . A.
#ifndef KERNELS_WINOGRAD_TRANSFORMS_H_
#define KERNELS_WINOGRAD_TRANSFORMS_H_

#include <array>
#include <cstddef>

#include "kernels/gemm_kernels.h"

namespace ir::kernels {

/// Consecutive tiles of a row that go to one vector of a packed panel.
struct TilePiece {
  std::size_t tile = 0;  ///< in its row of tiles
  std::size_t to = 0;    ///< where channel 0 has them in a point's columns
  std::size_t channel_stride = 0;
};

struct WinogradTransforms {
  static constexpr std::size_t kMaxOutputs = 4;
  static constexpr std::size_t kMaxSamples = kMaxOutputs + 2;

  std::size_t outputs = 0;  ///< m
  [[nodiscard]] std::size_t samples() const { return outputs + 2; }
  [[nodiscard]] std::size_t points() const { return samples() * samples(); }

  /// Floats of scratch that a row of `tiles` tiles needs.
  [[nodiscard]] std::size_t scratch_floats(std::size_t tiles) const {
    return 2 * samples() * ((tiles + 1) * outputs + 4 * GemmKernels::kLanesLimit * outputs);
  }

  /// The points of one channel of one row of tiles. rows: the samples() image rows; column x of the tiles is
  /// column x - left of the rows, zero outside of [0, width). For each piece, vectors of tiles go to
  /// columns[point * point_stride + piece.to + channel * piece.channel_stride]; whole vectors are stored, so
  /// that what follows in memory must be written later.
  void (*input)(const float* const* rows, std::size_t left, std::size_t width, std::size_t tiles,
                const TilePiece* pieces, std::size_t piece_count, std::size_t channel, float* columns,
                std::size_t point_stride, float* scratch) = nullptr;

  /// Outputs of one channel of one row of tiles, whose points stand at points[point * point_stride + tile]
  /// (up to kLanesLimit floats past the last tile are read). rows x columns of them go to tile.out, with
  /// tile.row_bias[0], residual and clamp.
  void (*output)(const float* points, std::size_t point_stride, std::size_t tiles, std::size_t rows,
                 const Tile& tile, float* scratch) = nullptr;

  /// G g G' of one 3 x 3 filter, in double: to[point * point_stride].
  void (*filter)(const float* filter, float* to, std::size_t point_stride) = nullptr;
};

/// Those for 2 and 4 outputs of the SIMD target that dispatch picks now.
const std::array<WinogradTransforms, 2>& winograd_transforms();

}  // namespace ir::kernels

#endif  // KERNELS_WINOGRAD_TRANSFORMS_H_
