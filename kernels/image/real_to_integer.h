// Resampled values as integers.
#ifndef KERNELS_IMAGE_REAL_TO_INTEGER_H_
#define KERNELS_IMAGE_REAL_TO_INTEGER_H_

#include <cmath>
#include <limits>

namespace ir::kernels {

/// Towards zero, into the range of T; NaN gives 0.
template <class T, class Real>
T to_integer(Real value) {
  if (std::isnan(value)) return T{0};
  if (value <= static_cast<Real>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<Real>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_REAL_TO_INTEGER_H_
