// A product and a sum in one pass.
#ifndef KERNELS_ELEMENTWISE_SCALE_SHIFT_H_
#define KERNELS_ELEMENTWISE_SCALE_SHIFT_H_

#include <cstddef>

#include "kernels/base/broadcast_rows.h"

namespace ir::kernels {

/// `rows` rows of `columns` elements out[i] = x[i] * factor[i] + shift[i], rounded twice, and with `relu` no
/// less than 0, on the calling thread. `x` is not scalar; `out` may be any operand that is not.
void scale_shift_rows(const RowsOperand& x, const RowsOperand& factor, const RowsOperand& shift, bool relu,
                      float* out, std::size_t rows, std::size_t columns);

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_SCALE_SHIFT_H_
