// What chains by strips of floats have in common: strips, and the depthwise stage. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_FLOAT_STRIPS_H_
#define KERNELS_DEPTHWISE_FLOAT_STRIPS_H_

#include <cstddef>
#include <vector>

#include "kernels/depthwise/blocked_product.h"
#include "kernels/depthwise/depthwise_plane.h"
#include "kernels/depthwise/separable_convolution.h"
#include "kernels/depthwise/strip_plan.h"
#include "kernels/matmul/owned_epilogue.h"

namespace ir::kernels {

/// Whether workers can share the channels of a strip, which are projected when all are there.
enum class SharedChannels { no, yes };

class FloatStrips : public ByStrips {
 public:
  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const final;

 protected:
  struct Strip {
    StripRows rows;
    std::size_t in_size = 0;  ///< positions
    std::size_t out_size = 0;
    DepthwisePlane plane;
  };

  struct Call {
    const float* image;
    std::size_t first;      ///< in the image, the strip's first row of the first channel
    const float* residual;  ///< of the first row of results
    float* out;             ///< the same
    float* filtered;        ///< of channels that workers share: what the projection reads; else nullptr
  };

  /// Channels of the depthwise stage go from stage to stage by `pieces`.
  FloatStrips(const SeparableStages& stages, ChannelSplit pieces, SharedChannels shared = SharedChannels::no);

  [[nodiscard]] std::size_t in_channels() const { return in_channels_; }
  [[nodiscard]] std::size_t out_channels() const { return out_channels_; }

  /// Finds the strips. `held`: channels of the depthwise stage, or lanes of some, that wait for a projection.
  void plan(std::size_t held);
  [[nodiscard]] bool shares_channels() const { return shares_channels_; }
  /// So many floats of a strip are what Call::filtered holds.
  void share(std::size_t floats);
  /// Of the largest strip.
  [[nodiscard]] std::size_t most_in() const;
  [[nodiscard]] std::size_t most_out() const;
  [[nodiscard]] std::size_t most_staged() const;

  /// For an expansion: what becomes of a strip of the image in a worker's scratch.
  virtual void prepare(const Call& call, const Strip& strip, float* slot) const = 0;
  /// Pieces [first, last) through all stages, but for a projection of channels that workers share; of any
  /// other projection, these are all pieces.
  virtual void convolve(const Call& call, const Strip& strip, std::size_t first, std::size_t last,
                        float* slot) const = 0;
  /// The projection of columns [first, last) of `call.filtered`.
  virtual void project(const Call& call, const Strip& strip, std::size_t first, std::size_t last) const;

  /// What the depthwise stage sees of channel c. Of an expansion, whose epilogue this is, that is in
  /// `expanded`, where the hook is still to be called.
  [[nodiscard]] const float* image_of(const Call& call, const Strip& strip, std::size_t c,
                                      const OwnedEpilogue* expansion, float* expanded) const;
  /// Where a channel of the depthwise stage is read and written.
  struct Places {
    const float* image;
    const float* residual;  ///< nullptr: none
    float* out;
  };
  /// Outputs of channel c.
  void filter(const Strip& strip, std::size_t c, const Places& places, float* staged) const;
  /// Of the last stage: channel c of the depthwise one.
  void filter_last(const Strip& strip, std::size_t c, const Call& call, const float* image,
                   float* staged) const;

  ChannelSplit pieces_;
  std::vector<Strip> strips_;

 private:
  /// With a projection, which sums over all channels, a strip is one task, unless workers share channels;
  /// else its pieces are.
  [[nodiscard]] std::size_t task_parts() const {
    return chain_.projects && !shares_channels_ ? 1 : pieces_.parts();
  }
  /// In vectors.
  [[nodiscard]] std::size_t task_cost() const;
  /// Of a strip of the batch. `shared`: where shared_floats_ are.
  [[nodiscard]] Call call_of(std::size_t index, const ConvolutionInputs& in, float* out, float* shared) const;
  [[nodiscard]] const Strip& strip_of(std::size_t index) const { return strips_[index % strips_.size()]; }
  void project_all(const ConvolutionInputs& in, float* out, float* shared) const;

  StripChain chain_;
  std::size_t in_channels_;
  std::size_t out_channels_;
  OwnedEpilogue epilogue_;  ///< of the depthwise stage
  std::vector<float> weights_;
  bool has_residual_;  ///< of the last stage
  bool shares_channels_ = false;
  std::size_t filtered_floats_ = 0;  ///< of a strip
};

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_FLOAT_STRIPS_H_
