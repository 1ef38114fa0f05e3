// A block of the image of a convolution of bytes, turned for matrix tiles. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_TURNED_BLOCK_H_
#define KERNELS_CONVOLUTION_TURNED_BLOCK_H_

#include <cstddef>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"

namespace ir::kernels {

/// Lanes of a sum, of the weights of one output channel, as they lie in a turned image.
struct Run {
  std::size_t tap = 0;     ///< the first one, of all of a filter
  std::size_t offset = 0;  ///< of its sample from that of the first tap of all, in the turned block
  std::size_t lanes = 0;
};

/// A block of the image of some outputs, turned: [tap of depth][phase of rows][row][column][lane].
class TurnedBlock {
 public:
  TurnedBlock(const ConvolutionGeometry& geometry, std::size_t rows, std::size_t columns);

  /// Where that is more than 31 bits hold, the largest number.
  [[nodiscard]] std::size_t floats() const { return floats_; }
  /// Between neighbouring outputs, in floats.
  [[nodiscard]] std::size_t unit() const { return stride_ * lanes_; }
  /// Between rows of outputs, in outputs.
  [[nodiscard]] std::size_t pitch() const { return pitch_ / stride_; }
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  /// Of tiles, for a sum.
  [[nodiscard]] std::size_t steps() const;
  /// Whether a row of samples is that of any tap.
  [[nodiscard]] bool is_seen(std::size_t sample) const;
  /// Where a row of samples begins.
  [[nodiscard]] std::size_t row(std::size_t depth, std::size_t sample) const {
    return depth * depth_floats() + (sample % phases_ * phase_rows_ + sample / phases_) * pitch_ * lanes_;
  }

 private:
  [[nodiscard]] std::size_t depth_floats() const { return phases_ * phase_rows_ * pitch_ * lanes_; }

  std::size_t lanes_;
  std::size_t stride_;
  std::size_t phases_;
  std::size_t pitch_;  ///< of samples
  std::size_t phase_rows_;
  std::size_t floats_ = 0;
  std::size_t row_taps_;
  std::size_t row_dilation_;
  std::vector<Run> runs_;
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_TURNED_BLOCK_H_
