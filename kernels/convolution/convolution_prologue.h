// The prologue of a convolution as its algorithms use it. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_PROLOGUE_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_PROLOGUE_H_

#include <cstddef>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/prologue.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// A prologue that owns its constants.
class OwnedPrologue {
 public:
  /// For `channels` input channels, over all groups.
  OwnedPrologue(const Prologue& prologue, std::size_t channels);

  [[nodiscard]] bool is_empty() const { return shift_.empty(); }
  /// Of the channels from `channel` on, counted over all groups and images, up to the end of the group; not
  /// for an empty prologue. `scale` is that of the run.
  [[nodiscard]] TermMap map(const float* scale, std::size_t channel) const {
    const std::size_t in_image = channel % channels_;
    if (!scale_.empty()) {
      scale = scale_.data() + in_image;
    } else {
      scale += repeats_scale_ ? in_image : channel;
    }
    return {scale, shift_.data() + in_image, low_, high_};
  }

 private:
  std::vector<float> scale_;  ///< empty: that of the run
  std::vector<float> shift_;
  std::size_t channels_;
  bool repeats_scale_;
  float low_;
  float high_;
};

/// Whether the algorithms that pack columns can apply the prologue while they do.
bool takes_prologue(const ConvolutionGeometry& geometry, const Prologue& prologue);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_PROLOGUE_H_
