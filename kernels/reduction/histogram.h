// How often values are there: Bincount of integers, Histc of floats in bins.
#ifndef KERNELS_REDUCTION_HISTOGRAM_H_
#define KERNELS_REDUCTION_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// How many counters a Bincount of some values needs.
struct CounterNumber {
  std::size_t needed = 0;  ///< the largest value + 1; 0 where there are no values
  IndexResult bad;         ///< the first value that is negative, or 2^63 - 1 or more
};
CounterNumber counters_for(IndexView values, std::size_t count);

/// Bincount-17: out[v] = how often v is there, for v in [0, size). All values lie there.
void count_values(IndexView values, std::size_t count, std::size_t size, std::int64_t* out);

/// The same with weights: out[v] = the sum of the weights of v, in T, one addition after the other in their
/// order; integers wrap. T: float, double, std::int32_t, std::int64_t.
template <class T>
void sum_weights(IndexView values, const T* weights, std::size_t count, std::size_t size, T* out);

struct HistogramParams {
  std::size_t count = 0;
  std::size_t bins = 0;
  /// Both 0: from the smallest value to the largest.
  double low = 0;
  double high = 0;
};

std::size_t histogram_scratch_bytes(const HistogramParams& params);

/// Histc-17: out[b] = how many values lie in bin b of `bins` equal ones in [low, high], both borders
/// included. Values outside and NaN are not counted; where the first value is NaN and the range is that of
/// the values, none is. A range of one value fills bin 0. Counts are exact before they become T. `scratch` is
/// aligned to 8 bytes. T: float, double.
template <class T>
void histogram(const HistogramParams& params, const T* in, T* out, std::byte* scratch);

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_HISTOGRAM_H_
