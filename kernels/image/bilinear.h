// One sample between four elements of a plane, as everything that pools regions takes it.
#ifndef KERNELS_IMAGE_BILINEAR_H_
#define KERNELS_IMAGE_BILINEAR_H_

#include <array>
#include <cstddef>

namespace ir::kernels {

/// The two elements of an axis next to a position, and how far the position is from the first one to the
/// second one.
struct Neighbours {
  std::size_t low = 0;
  std::size_t high = 0;
  float fraction = 0;
};

/// Positions beyond the first or last element count as that element; so does NaN. A position on an element
/// has no second neighbour, so that an infinite value there does not turn the sample into NaN. `size` >= 1.
inline Neighbours neighbours_of(float position, std::size_t size) {
  const std::size_t last = size - 1;
  if (!(position < static_cast<float>(last))) return {last, last, 0};
  if (!(position > 0)) return {0, 0, 0};
  const auto low = static_cast<std::size_t>(position);
  const float fraction = position - static_cast<float>(low);
  return {low, fraction > 0 ? low + 1 : low, fraction};
}

/// Offsets into a plane and their weights.
struct BilinearSample {
  std::array<std::size_t, 4> at{};
  std::array<float, 4> weight{};

  [[nodiscard]] float of(const float* plane) const {
    return weight[0] * plane[at[0]] + weight[1] * plane[at[1]] + weight[2] * plane[at[2]] +
           weight[3] * plane[at[3]];
  }
};

/// The sample at (y, x) of a plane [height, width], times `scale`. Both dims >= 1.
inline BilinearSample bilinear_sample(float y, float x, std::size_t height, std::size_t width,
                                      float scale = 1) {
  const Neighbours row = neighbours_of(y, height);
  const Neighbours column = neighbours_of(x, width);
  const std::size_t top = row.low * width;
  const std::size_t bottom = row.high * width;
  const float above = (1 - row.fraction) * scale;
  const float below = row.fraction * scale;
  return {{top + column.low, top + column.high, bottom + column.low, bottom + column.high},
          {above * (1 - column.fraction), above * column.fraction, below * (1 - column.fraction),
           below * column.fraction}};
}

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_BILINEAR_H_
