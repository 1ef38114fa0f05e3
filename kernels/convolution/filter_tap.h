// What the taps of a filter see of an image. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_FILTER_TAP_H_
#define KERNELS_CONVOLUTION_FILTER_TAP_H_

#include <array>
#include <cstddef>

#include "kernels/convolution/convolution_geometry.h"

namespace ir::kernels {

/// One tap of a filter, and what it sees.
struct FilterTap {
  std::array<IndexRange, 3> outputs;
  /// Of sample (0, 0, 0) of the outputs, in samples of the image.
  std::ptrdiff_t first = 0;

  [[nodiscard]] std::size_t count() const {
    return outputs[0].count() * outputs[1].count() * outputs[2].count();
  }
};

/// Calls `use(tap)` for the taps in row-major order.
template <class Use>
void for_each_tap(const ConvolutionGeometry& geometry, const Use& use) {
  const auto& axes = geometry.axes;
  // Where output 0 of an axis meets the image at a tap.
  const auto first_sample = [](const ConvolutionAxis& axis, std::size_t tap) {
    return static_cast<std::ptrdiff_t>(tap * axis.dilation) - axis.pad;
  };
  FilterTap tap;
  for (std::size_t z = 0; z < axes[0].kernel; ++z) {
    tap.outputs[0] = outputs_inside(axes[0], z);
    for (std::size_t y = 0; y < axes[1].kernel; ++y) {
      tap.outputs[1] = outputs_inside(axes[1], y);
      for (std::size_t x = 0; x < axes[2].kernel; ++x) {
        tap.outputs[2] = outputs_inside(axes[2], x);
        tap.first =
            (first_sample(axes[0], z) * static_cast<std::ptrdiff_t>(axes[1].in) + first_sample(axes[1], y)) *
                static_cast<std::ptrdiff_t>(axes[2].in) +
            first_sample(axes[2], x);
        use(tap);
      }
    }
  }
}

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_FILTER_TAP_H_
