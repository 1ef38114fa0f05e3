// Adds up overlapping blocks to an image: what im2col took apart.
#ifndef KERNELS_CONVOLUTION_COL2IM_H_
#define KERNELS_CONVOLUTION_COL2IM_H_

#include <cstddef>

#include "kernels/base/window.h"

namespace ir::kernels {

/// Each axis: windows over an image of `in` elements, `out` of them. pad_end is not read.
struct Col2ImParams {
  std::size_t planes = 1;  ///< batch * channels
  WindowParams y;
  WindowParams x;
};

/// columns [planes, y.kernel, x.kernel, y.out, x.out] -> image [planes, y.in, x.in]: each element of the
/// image is the sum of the taps that lie on it, in the order of the columns; 0 where there is none. Taps in
/// the padding are dropped. float and double sum in themselves, integers wrap. No overlap. T: float, double,
/// (u)int8_t .. (u)int64_t. Definition: Col2Im-15.
template <class T>
void col2im(const Col2ImParams& params, const T* columns, T* image);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_COL2IM_H_
