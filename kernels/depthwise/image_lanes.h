// The integers of an image, floats or bytes, on their way to lanes. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_IMAGE_LANES_H_
#define KERNELS_DEPTHWISE_IMAGE_LANES_H_

#include <cstddef>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "kernels/weights/integer_weights.h"

namespace ir::kernels {

class ImageLanes {
 public:
  /// `steps`: of all channels, or of each. Bytes are levels of which the lowest is the base of the map.
  ImageLanes(LaneMap map, std::vector<float> steps, bool are_bytes);
  /// As a convolution of such parameters multiplies them with its weights.
  ImageLanes(const IntegerWeights& integers, const ConvolutionParams& params)
      : ImageLanes(integers.values(), {1 / integers.values().per_unit}, !params.image_levels.empty()) {}

  /// `size` positions from `first` on of `count` channels from `channel` on, `stride` apart, to lanes
  /// `to_stride` apart.
  void join(const float* image, std::size_t first, std::size_t stride, std::size_t channel, std::size_t count,
            std::size_t size, float* to, std::size_t to_stride) const;

 private:
  LaneMap map_;
  std::vector<float> per_unit_;  ///< of each channel, where they differ
  bool are_bytes_;
};

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_IMAGE_LANES_H_
