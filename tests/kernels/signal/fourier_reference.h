// Fourier transforms by their formula, in double.
#ifndef TESTS_KERNELS_SIGNAL_FOURIER_REFERENCE_H_
#define TESTS_KERNELS_SIGNAL_FOURIER_REFERENCE_H_

#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <vector>

namespace ir::test {

using Complex = std::complex<double>;

/// sum over j of line[j] exp(sign * 2 pi i jk / n), for every k.
inline std::vector<Complex> direct_fourier(const std::vector<Complex>& line, int sign) {
  const std::size_t n = line.size();
  std::vector<Complex> roots(n);
  for (std::size_t j = 0; j < n; ++j) {
    roots[j] =
        std::polar(1.0, sign * 2.0 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n));
  }
  std::vector<Complex> result(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) result[k] += line[j] * roots[j * k % n];
  }
  return result;
}

}  // namespace ir::test

#endif  // TESTS_KERNELS_SIGNAL_FOURIER_REFERENCE_H_
