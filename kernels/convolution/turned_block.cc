#include "kernels/convolution/turned_block.h"

#include <cstdint>
#include <limits>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/matrix_tiles.h"

namespace ir::kernels {

TurnedBlock::TurnedBlock(const ConvolutionGeometry& geometry, std::size_t rows, std::size_t columns)
    : lanes_(geometry.in_channels),
      stride_(geometry.axes[2].stride),
      phases_(rows == 1 ? 1 : geometry.axes[1].stride),
      pitch_(divide_up(seen_samples(geometry.axes[2], columns), stride_) * stride_),
      phase_rows_(divide_up(seen_samples(geometry.axes[1], rows), phases_)),
      row_taps_(geometry.axes[1].kernel),
      row_dilation_(geometry.axes[1].dilation) {
  const auto& [deep, down, along] = geometry.axes;
  const bool joined = along.dilation == 1;  // all taps of a row are neighbours
  for (std::size_t z = 0; z < deep.kernel; ++z) {
    for (std::size_t y = 0; y < down.kernel; ++y) {
      for (std::size_t x = 0; x < along.kernel; x += joined ? along.kernel : 1) {
        runs_.push_back({(z * down.kernel + y) * along.kernel + x,
                         row(z, y * down.dilation) + x * along.dilation * lanes_,
                         joined ? along.kernel * lanes_ : lanes_});
      }
    }
  }
  // Strides and dilations of a file may be any.
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  const double samples = static_cast<double>(deep.kernel * phases_) * static_cast<double>(phase_rows_) *
                         static_cast<double>(pitch_);
  // Tiles go past the last position, and steps past the last lane of a run.
  const std::size_t past = TilePanels::kWidth + along.kernel;
  const double all =
      (samples + static_cast<double>(past) * static_cast<double>(stride_)) * static_cast<double>(lanes_);
  floats_ = all < kMost ? round_up_to_line(deep.kernel * depth_floats() + past * unit() + MatrixTiles::kSize)
                        : std::numeric_limits<std::size_t>::max();
}

bool TurnedBlock::is_seen(std::size_t sample) const {
  const std::size_t phase = sample % phases_;
  for (std::size_t tap = 0; tap < row_taps_; ++tap) {
    if (tap * row_dilation_ % phases_ == phase) return true;
  }
  return false;
}

std::size_t TurnedBlock::steps() const {
  std::size_t steps = 0;
  for (const Run& run : runs_) steps += divide_up(run.lanes, MatrixTiles::kSize);
  return steps;
}

}  // namespace ir::kernels
