// The activations of YOLO's last layer.
#ifndef KERNELS_DETECTION_REGION_YOLO_H_
#define KERNELS_DETECTION_REGION_YOLO_H_

#include <cstddef>

namespace ir::kernels {

/// Attributes of RegionYolo-1, and sizes. The channels of a region are `coords` coordinates, the objectness
/// and the classes; in_channels and out_channels have room for all regions, and in_channels >= out_channels.
struct RegionYoloParams {
  std::size_t images = 1;
  std::size_t in_channels = 0;
  std::size_t out_channels = 0;
  std::size_t cells = 1;    ///< of a channel
  std::size_t regions = 0;  ///< of an image
  std::size_t coords = 4;   ///< at least 2
  std::size_t classes = 0;
  bool softmax = true;  ///< over the classes (YOLO 2); else the sigmoid of each (YOLO 3)
};

/// out [images, out_channels, cells] from in [images, in_channels, cells]: the sigmoid of the first two
/// coordinates and of the objectness, softmax or sigmoid of the classes, everything else as it is. `in` and
/// `out` do not overlap. Precision as `unary` and `softmax`; parallel within a region. T: float, double.
template <class T>
void region_yolo(const RegionYoloParams& params, const T* in, T* out);

extern template void region_yolo<float>(const RegionYoloParams&, const float*, float*);
extern template void region_yolo<double>(const RegionYoloParams&, const double*, double*);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_REGION_YOLO_H_
