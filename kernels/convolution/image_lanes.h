// The integers of an image, floats or bytes, on their way to lanes. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_IMAGE_LANES_H_
#define KERNELS_CONVOLUTION_IMAGE_LANES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/weights/integer_weights.h"

namespace ir::kernels {

/// Of the channels of a group. Bytes are levels of which the lowest is the base of the map.
class ImageLanes {
 public:
  /// `steps`: of all channels, or of each.
  ImageLanes(const LaneMap& map, std::size_t channels, std::vector<float> steps, bool are_bytes);
  /// As a convolution multiplies them with its weights, with the border that these may have.
  ImageLanes(const IntegerWeights& integers, std::size_t channels, bool are_bytes);

  /// Of a position.
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  /// `size` positions of lanes [begin, end), to lanes `to_stride` apart. The first position of the first
  /// channel is element `first` of the image, and channels are `stride` apart.
  void join(const float* image, std::size_t first, std::size_t stride, std::size_t begin, std::size_t end,
            std::size_t size, float* to, std::size_t to_stride) const;

  /// Whether lanes are the bytes of the image.
  [[nodiscard]] bool are_bytes() const { return are_bytes_; }
  /// Where the bytes of lanes [begin, end) are, which are those of join(); `border`: as many of border_byte()
  /// as there are positions. Behind them, `rows` that repeat up to `count` of all.
  void find_rows(const float* image, std::size_t first, std::size_t stride, std::size_t begin,
                 std::size_t end, const std::uint8_t* border, std::size_t count,
                 const std::uint8_t** rows) const;
  [[nodiscard]] std::uint8_t border_byte() const {
    return static_cast<std::uint8_t>(missing_ >> (8 * (channels_ % kMostLaneTerms)));
  }

 private:
  LaneMap map_;
  std::size_t channels_;
  std::size_t lanes_;
  std::uint32_t missing_ = 0;    ///< of the last lane: bytes in place of channels that are not there
  std::vector<float> per_unit_;  ///< of each channel, where they differ
  bool are_bytes_;
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_IMAGE_LANES_H_
