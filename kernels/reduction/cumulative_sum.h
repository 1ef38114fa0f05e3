// CumSum: running sums along an axis.
#ifndef KERNELS_REDUCTION_CUMULATIVE_SUM_H_
#define KERNELS_REDUCTION_CUMULATIVE_SUM_H_

#include <cstddef>

namespace ir::kernels {

/// A dense tensor seen as [outer, axis, inner], with the attributes of CumSum-3.
struct CumulativeSumParams {
  std::size_t outer = 1;
  std::size_t axis = 1;
  std::size_t inner = 1;
  bool exclusive = false;  ///< sums leave out their own element
  bool reverse = false;    ///< sums run from the end
};

/// out[i] = in[0] + .. + in[i] along the axis, one addition after the other in T (integers modulo 2^bits).
/// `in` may be `out`, other overlap is not allowed. Parallel over outer and inner. T: float, double,
/// (u)int8_t .. (u)int64_t.
template <class T>
void cumulative_sum(const CumulativeSumParams& params, const T* in, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_CUMULATIVE_SUM_H_
