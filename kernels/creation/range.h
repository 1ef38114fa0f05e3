// Range: evenly spaced numbers.
#ifndef KERNELS_CREATION_RANGE_H_
#define KERNELS_CREATION_RANGE_H_

#include <cstddef>

namespace ir::kernels {

/// Range-1 and -4: out[i] = start + i * step for i < count. Floating types multiply, then add, each rounded
/// to T, so that errors do not pile up; integers are modulo 2^bits. T: float, double, (u)int8_t ..
/// (u)int64_t, and Float16 and BFloat16, because OpenVINO's results for these show the rounding of the
/// product.
template <class T>
void fill_range(T start, T step, std::size_t count, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_CREATION_RANGE_H_
