// What Winograd's convolution does to tiles of the image and of the result, one set of function pointers per
// SIMD target and tile size. Internal to kernels/.
//
// F(m x m, 3 x 3): m x m outputs are made of (m + 2) x (m + 2) samples; input tiles B' d B, weights G g G',
// both multiplied element by element ("points"), summed over the channels and taken back by A' . A.
// F(m, r), along one axis: m outputs of m + r - 1 samples, B' d, G g, A'.
#ifndef KERNELS_WINOGRAD_WINOGRAD_TRANSFORMS_H_
#define KERNELS_WINOGRAD_WINOGRAD_TRANSFORMS_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// A block of rows x columns of tiles, which are numbered row by row.
struct TileBlockSize {
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] std::size_t tiles() const { return rows * columns; }
};

/// The part of the image that a block of tiles sees of one channel, or of several that follow each other.
struct TileSamples {
  /// One per row of samples: WinogradTransforms::sample_rows of the rows of tiles.
  const float* const* rows = nullptr;
  /// Column x of the samples is sample x - left of the rows, zero outside of [0, width).
  std::size_t left = 0;
  std::size_t width = 0;
  /// Floats between samples of a row; 1 where tiles have outputs along H.
  std::size_t stride = 1;
  /// Floats from each row to the same row of the channel that is transformed next to these, which is fetched
  /// meanwhile; 0: none. (Behind a row of zeros there may be anything: it is not read.)
  std::ptrdiff_t next = 0;
  /// More than 1 only where tiles have outputs along both axes: channels that are `plane` floats apart, one
  /// term after the other. Rows outside of [first_inside, end_inside) are the same for all of them.
  std::size_t channels = 1;
  std::size_t plane = 0;
  std::size_t first_inside = 0;
  std::size_t end_inside = 0;

  [[nodiscard]] const float* row(std::size_t i, std::size_t channel) const {
    return rows[i] + (i >= first_inside && i < end_inside ? channel * plane : 0);
  }
  [[nodiscard]] std::ptrdiff_t next_to(std::size_t channel) const {
    return channel + 1 < channels ? static_cast<std::ptrdiff_t>(plane) : next;
  }
};

/// Where a vector of tiles goes.
struct TileVector {
  std::size_t to = 0;  ///< of channel 0, in the columns of a point
  std::size_t channel_stride = 0;
};

/// Along which axes a tile has several outputs.
enum class TileAxes { both, vertical, horizontal };

/// Floats that the samples of a row of tiles take in the lines of the input's transform, where these are
/// whole: what is read and written in whole vectors stays inside of a row, or goes into the next.
inline std::size_t line_row_floats(std::size_t outputs, std::size_t columns) { return columns * outputs + 4; }

struct WinogradTransforms {
  static constexpr std::size_t kMaxOutputs = 4;
  static constexpr std::size_t kMaxSamples = kMaxOutputs + 2;

  std::size_t outputs = 0;  ///< m
  std::size_t taps = 3;     ///< r
  TileAxes axes = TileAxes::both;
  [[nodiscard]] std::size_t samples() const { return outputs + taps - 1; }
  [[nodiscard]] std::size_t points() const {
    return axes == TileAxes::both ? samples() * samples() : samples();
  }
  [[nodiscard]] std::size_t filter_taps() const { return axes == TileAxes::both ? taps * taps : taps; }
  /// Outputs of a tile.
  [[nodiscard]] std::size_t tile_rows() const { return axes == TileAxes::horizontal ? 1 : outputs; }
  [[nodiscard]] std::size_t tile_columns() const { return axes == TileAxes::vertical ? 1 : outputs; }
  /// Rows of samples that `rows` rows of tiles see.
  [[nodiscard]] std::size_t sample_rows(std::size_t rows) const {
    return axes == TileAxes::horizontal ? rows : rows * outputs + taps - 1;
  }

  /// Floats of scratch that a block of tiles needs: lines of samples or of outputs, or where samples are.
  [[nodiscard]] std::size_t scratch_floats(const TileBlockSize& block) const {
    const std::size_t lines =
        2 * samples() * ((block.tiles() + GemmKernels::kLanesLimit) * outputs + GemmKernels::kLanesLimit);
    if (axes != TileAxes::both) return lines;
    const std::size_t whole =
        samples() * (block.rows * line_row_floats(outputs, block.columns) + GemmKernels::kLanesLimit);
    return std::max(lines, whole) + starts_floats(block);
  }
  /// Of these, at the beginning: where each tile begins in a line.
  [[nodiscard]] static std::size_t starts_floats(const TileBlockSize& block) {
    return round_up_to_line((block.tiles() + GemmKernels::kLanesLimit) * sizeof(std::size_t) / sizeof(float));
  }

  /// The points of a block of tiles for a channel or several, of which `channel` is the first term: point p
  /// of the tiles of vector v go to columns[p * point_stride + v.to + channel * v.channel_stride], whole
  /// vectors.
  void (*input)(const TileSamples& samples, const TileBlockSize& block, const TileVector* vectors,
                std::size_t channel, float* columns, std::size_t point_stride, float* scratch) = nullptr;

  /// Outputs of one channel of a block of tiles, whose points stand at points[p * point_stride + tile]; whole
  /// vectors are read. The first `rows` rows of tile.columns of them go to tile.out, with tile.row_bias[0],
  /// residual and clamp. tile.fetch: where those of the next channel go.
  void (*output)(const float* points, std::size_t point_stride, const TileBlockSize& block, std::size_t rows,
                 const Tile& tile, float* scratch) = nullptr;

  /// G g G' (or G g) of `count` filters of filter_taps(), `stride` floats apart, in double: filter k to
  /// to[p * point_stride + k].
  void (*filters)(const float* filters, std::size_t stride, std::size_t count, float* to,
                  std::size_t point_stride) = nullptr;
};

/// Those for 2 and 4 outputs of the SIMD target that dispatch picks now.
const std::array<WinogradTransforms, 2>& winograd_transforms();

/// Those for 4 outputs along one axis: vertical for 3 to 7 taps, then horizontal.
using WinogradLineTransforms = std::array<WinogradTransforms, 10>;
const WinogradLineTransforms& winograd_line_transforms();

}  // namespace ir::kernels

#endif  // KERNELS_WINOGRAD_WINOGRAD_TRANSFORMS_H_
