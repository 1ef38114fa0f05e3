// The inverse of the error function by its definition.
#ifndef TESTS_KERNELS_BASE_INVERSE_ERF_H_
#define TESTS_KERNELS_BASE_INVERSE_ERF_H_

#include <cmath>
#include <limits>

namespace ir::test {

/// The y of erf(y) = x by Newton's steps, which come from below and never leap over it.
inline double inverse_erf(double x) {
  const double a = std::abs(x);
  if (a == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (!(a < 1)) return std::numeric_limits<double>::quiet_NaN();
  const double slope = std::sqrt(std::acos(-1.0)) / 2;
  double y = a * slope;
  for (int step = 0; step < 40; ++step) {
    const double missing = a < 0.5 ? a - std::erf(y) : std::erfc(y) - (1 - a);
    const double next = y + missing * slope * std::exp(y * y);
    if (next == y) break;
    y = next;
  }
  return std::copysign(y, x);
}

}  // namespace ir::test

#endif  // TESTS_KERNELS_BASE_INVERSE_ERF_H_
