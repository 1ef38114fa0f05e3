// Softmax and its logarithm along one axis.
#ifndef KERNELS_REDUCTION_SOFTMAX_H_
#define KERNELS_REDUCTION_SOFTMAX_H_

#include <cstddef>

namespace ir::kernels {

/// A dense tensor seen from the axis: dims before it, its length, dims after it, each as a product.
struct AxisShape {
  std::size_t outer = 1;
  std::size_t length = 1;
  std::size_t inner = 1;
};

/// out = exp(in - max) / sum(exp(in - max)) along the axis; Softmax-1, -8. `in == out` is allowed. Parallel
/// over outer and inner. float: relative error below 1e-6 + 6e-8 * |in - max| for results that are not
/// subnormal (smaller ones may be 0). A line that is -inf throughout, or holds a NaN or +inf, becomes NaN
/// throughout. T: float, double.
template <class T>
void softmax(const AxisShape& shape, const T* in, T* out);

/// out = in - max - log(sum(exp(in - max))) along the axis; LogSoftmax-5. Same rules; float: absolute error
/// below 1e-6 + 2e-7 * |out|.
template <class T>
void log_softmax(const AxisShape& shape, const T* in, T* out);

extern template void softmax<float>(const AxisShape&, const float*, float*);
extern template void softmax<double>(const AxisShape&, const double*, double*);
extern template void log_softmax<float>(const AxisShape&, const float*, float*);
extern template void log_softmax<double>(const AxisShape&, const double*, double*);

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_SOFTMAX_H_
