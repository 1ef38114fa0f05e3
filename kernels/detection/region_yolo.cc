#include "kernels/detection/region_yolo.h"

#include <algorithm>

#include "kernels/elementwise/unary.h"
#include "kernels/reduction/softmax.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kCenter = 2;

template <class T>
void region(const RegionYoloParams& params, const T* in, T* out) {
  const std::size_t cells = params.cells;
  const auto sigmoid = [&](std::size_t channel, std::size_t count) {
    unary(UnaryOp::sigmoid, {}, in + channel * cells, out + channel * cells, count * cells);
  };
  sigmoid(0, kCenter);
  std::copy(in + kCenter * cells, in + params.coords * cells, out + kCenter * cells);
  if (!params.softmax) {
    sigmoid(params.coords, 1 + params.classes);
    return;
  }
  sigmoid(params.coords, 1);
  if (params.classes == 0) return;
  const std::size_t classes = (params.coords + 1) * cells;
  softmax(AxisShape{1, params.classes, cells}, in + classes, out + classes);
}

}  // namespace

template <class T>
void region_yolo(const RegionYoloParams& params, const T* in, T* out) {
  const std::size_t region_size = (params.coords + 1 + params.classes) * params.cells;
  for (std::size_t image = 0; image < params.images; ++image) {
    const T* from = in + image * params.in_channels * params.cells;
    T* to = out + image * params.out_channels * params.cells;
    for (std::size_t i = 0; i < params.regions; ++i)
      region(params, from + i * region_size, to + i * region_size);
    std::copy(from + params.regions * region_size, from + params.out_channels * params.cells,
              to + params.regions * region_size);
  }
}

template void region_yolo<float>(const RegionYoloParams&, const float*, float*);
template void region_yolo<double>(const RegionYoloParams&, const double*, double*);

}  // namespace ir::kernels
