#include "kernels/convolution/turned_block.h"

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/matrix_tiles.h"

namespace ir::kernels {

TurnedBlock::TurnedBlock(const ConvolutionGeometry& geometry, std::size_t rows, std::size_t columns)
    : lanes_(geometry.in_channels),
      stride_(geometry.axes[2].stride),
      phases_(geometry.axes[1].stride),
      pitch_(divide_up(seen_samples(geometry.axes[2], columns), stride_) * stride_),
      phase_rows_(divide_up(seen_samples(geometry.axes[1], rows), phases_)),
      is_seen_(phases_, false) {
  const auto& [deep, down, along] = geometry.axes;
  const bool joined = along.dilation == 1;  // all taps of a row are neighbours
  for (std::size_t z = 0; z < deep.kernel; ++z) {
    for (std::size_t y = 0; y < down.kernel; ++y) {
      is_seen_[y * down.dilation % phases_] = true;
      for (std::size_t x = 0; x < along.kernel; x += joined ? along.kernel : 1) {
        runs_.push_back({(z * down.kernel + y) * along.kernel + x,
                         row(z, y * down.dilation) + x * along.dilation * lanes_,
                         joined ? along.kernel * lanes_ : lanes_});
      }
    }
  }
  // Tiles go past the last position, and steps past the last lane of a run.
  floats_ = round_up_to_line(deep.kernel * depth_floats() + (TilePanels::kWidth + along.kernel) * unit() +
                             MatrixTiles::kSize);
}

std::size_t TurnedBlock::steps() const {
  std::size_t steps = 0;
  for (const Run& run : runs_) steps += divide_up(run.lanes, MatrixTiles::kSize);
  return steps;
}

}  // namespace ir::kernels
