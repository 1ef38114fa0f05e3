// What one input channel gives to a depthwise convolution: its outputs, block by block. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_DEPTHWISE_PLANE_H_
#define KERNELS_DEPTHWISE_DEPTHWISE_PLANE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/depthwise/depthwise_direct.h"
#include "kernels/depthwise/depthwise_kernels.h"
#include "kernels/matmul/gemm_block.h"

namespace ir::kernels {

class DepthwisePlane {
 public:
  /// Reads the axes of `geometry`, and how many output channels a group has. `residual`: channels may have
  /// one. `direct`: direct_depthwise() of the whole plane, of which `geometry` may be a strip. What is staged
  /// is summed in another order, and bits must not depend on how a plane is cut.
  DepthwisePlane(const ConvolutionGeometry& geometry, bool residual, DirectDepthwise direct);

  /// Whether staging, if it takes any, stays within bounds that make sense.
  [[nodiscard]] bool is_feasible() const { return staged_floats_ <= kStagingLimit; }
  /// Blocks of the output planes of one input channel.
  [[nodiscard]] std::size_t blocks() const { return geometry_.axes[0].out * blocks_.size(); }
  /// About the vectors that one block takes.
  [[nodiscard]] std::size_t block_cost() const;
  /// Size of the staging buffer, which begins on a cache line.
  [[nodiscard]] std::size_t staged_floats() const { return staged_floats_; }

  /// One input channel and its first output channel, the others of which follow.
  struct Channel {
    const float* image = nullptr;
    const float* weights = nullptr;
    std::size_t number = 0;           ///< of the first output channel
    const float* residual = nullptr;  ///< nullptr: none
    float* out = nullptr;
  };
  /// `epilogue` is asked for bias, clamp and hook only.
  void run(std::size_t block, const Channel& channel, const OwnedEpilogue& epilogue, float* staged) const;

 private:
  struct PlannedBlock {
    PlaneBlock outputs;
    std::size_t origin = 0;  ///< in the output plane
    std::vector<StagedCopy> copies;
  };

  void multiply_staged(const float* weights, const PlaneBlock& outputs, const DirectOutputs& to,
                       const float* staged) const;
  void plan_staging();
  void plan_blocks();
  [[nodiscard]] std::size_t samples(std::size_t columns) const;
  /// What is staged for a block: outputs of a stride that may be smaller.
  [[nodiscard]] PlaneBlock staged_part(PlaneBlock block) const;

  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  Split rows_;
  Split columns_;
  // What the kernels of the target do without staging:
  DirectDepthwise convolve_;
  std::optional<DirectPlane> direct_;
  // The others:
  std::size_t step_ = 1;
  std::optional<ImageStaging> staging_;
  std::size_t staged_floats_ = 0;
  DepthwiseKernel multiply_ = nullptr;
  DepthwiseTaps taps_;                ///< without offsets and weights
  std::vector<PlannedBlock> blocks_;  ///< of a depth slice
};

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_DEPTHWISE_PLANE_H_
