// Average and max pooling over any number of spatial axes, with sliding or adaptive windows.
//
// A tensor is seen as `rows` images (batch * channels), each dense with the axes outermost first. All element
// types share the window tables of window.h, so AvgPool, MaxPool, AdaptiveAvgPool and AdaptiveMaxPool are one
// loop each. Objects are prepared once per shape, run() allocates nothing and is safe to call from several
// threads at a time.
#ifndef KERNELS_POOLING_POOLING_H_
#define KERNELS_POOLING_POOLING_H_

#include <cstddef>
#include <vector>

#include "kernels/base/window.h"
#include "kernels/pooling/pooling_flat.h"

namespace ir::kernels {

inline constexpr std::size_t kMaxPoolAxes = 8;

/// Mean of each window: AvgPool-1/14/16, AdaptiveAvgPool-8, nGraph AvgPool. Padding counts as zero in the
/// sum; what divides is in the window tables (Divisor). A window whose divisor is 0 (only padding,
/// Divisor::image) gives `empty_window_value`, converted to T (for integers, where NaN has no meaning, NaN
/// gives 0).
///
/// T: float, double, std::int8_t ... std::int64_t, std::uint8_t ... std::uint64_t.
/// float: accumulated in float, column sums first, whole-image windows in blocks; |error| <= 2e-6 * mean(|x|)
/// for windows up to 64 x 64. double: in double. Integers: exact sum in 64 bits (modulo 2^64), then
/// int8/uint8 round to nearest, ties to even, and wider ones truncate towards zero: both as OpenVINO
/// 2022.1's reference does.
class AveragePool {
 public:
  /// `axes` holds 1 .. kMaxPoolAxes axes.
  AveragePool(std::size_t rows, std::vector<WindowAxis> axes, double empty_window_value = 0.0);

  /// `in`: rows * product(in); `out`: rows * product(out) elements. No overlap.
  template <class T>
  void run(const T* in, T* out) const;

 private:
  std::size_t rows_;
  std::vector<WindowAxis> axes_;
  std::vector<float> column_divisors_;  // of the last axis, for the float path
  double empty_window_value_;
};

/// Maximum of each window: MaxPool-1/8/14, AdaptiveMaxPool-8. Padding never wins; a window of only padding
/// gives numeric_limits<T>::lowest(). NaN never wins either: it is skipped, and a window of only NaN gives
/// -infinity. Of equal maxima the first in row-major order counts.
///
/// T: as AveragePool.
class MaxPool {
 public:
  MaxPool(std::size_t rows, std::vector<WindowAxis> axes);

  /// Values only.
  template <class T>
  void run(const T* in, T* out) const;

  /// Values and where they were found. An index is the position in the whole flattened input (all rows,
  /// without padding) modulo `index_period`, the product of the input's dims from MaxPool's `axis` on: the
  /// whole input for axis = 0, the image for axis = 2 (which is also what AdaptiveMaxPool wants). A window of
  /// only padding points to the first element of its image, one of only NaN or -infinity to its first element
  /// inside of the image. Index: std::int32_t or std::int64_t, and indices must fit. index_period >= 1.
  template <class T, class Index>
  void run(const T* in, T* out, Index* indices, std::size_t index_period) const;

 private:
  std::size_t rows_;
  std::vector<WindowAxis> axes_;
  FlatWindows flat_;
};

}  // namespace ir::kernels

#endif  // KERNELS_POOLING_POOLING_H_
