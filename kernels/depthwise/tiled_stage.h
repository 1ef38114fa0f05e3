// A 1x1 convolution in matrix tiles, as a stage of a chain runs it. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_TILED_STAGE_H_
#define KERNELS_DEPTHWISE_TILED_STAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/depthwise/blocked_product.h"
#include "kernels/depthwise/separable_convolution.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/owned_epilogue.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {

/// Its channels are cut into panels of rows and into steps of terms, each of which one panel of tiles, or one
/// step of those, holds. Weights are packed.
class TiledStage {
 public:
  /// `rows` and `terms` are borders of output and input channels; up to `most_positions` are multiplied by a
  /// call.
  TiledStage(const ConvolutionStage& stage, const MatrixTiles& tiles, Borders rows, Borders terms,
             std::size_t most_positions);

  /// Floats that the terms of all channels take, split.
  [[nodiscard]] std::size_t split_floats() const { return steps() * step_stride_; }
  [[nodiscard]] std::size_t steps() const { return terms_.size() - 1; }
  [[nodiscard]] std::size_t panels() const { return rows_.size() - 1; }
  [[nodiscard]] std::size_t first_row(std::size_t panel) const { return rows_[panel]; }
  [[nodiscard]] std::size_t row_count(std::size_t panel) const { return rows_[panel + 1] - rows_[panel]; }
  [[nodiscard]] const OwnedEpilogue& epilogue() const { return epilogue_; }

  /// Channels of a step, `stride` apart, to their place in what run() multiplies.
  void split(const float* from, std::size_t stride, std::size_t step, std::size_t positions,
             float* split) const;

  struct Target {
    float* out = nullptr;
    std::size_t stride = 0;           ///< of rows
    const float* residual = nullptr;  ///< the same; nullptr: none
  };
  /// A panel of rows for the first positions, without the hook of the epilogue. `sums`: a block of tiles.
  void run(std::size_t panel, const float* split, std::size_t positions, const Target& target,
           float* sums) const;

 private:
  void pack(const float* weights, float* to) const;
  /// Of a panel, in packed weights.
  [[nodiscard]] const float* weights_of(std::size_t panel) const;
  [[nodiscard]] std::size_t row_tiles(std::size_t panel) const;
  [[nodiscard]] std::size_t panel_floats(std::size_t panel) const;

  const MatrixTiles& tiles_;
  Borders rows_;
  Borders terms_;
  std::size_t pair_stride_;
  std::size_t step_stride_;
  OwnedEpilogue epilogue_;
  std::vector<std::size_t> panels_;    ///< where they begin
  std::vector<std::int32_t> offsets_;  ///< of steps, split
  PackedFloats weights_;
};

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_TILED_STAGE_H_
