// Functions of two operands over several rows at once.
#ifndef KERNELS_ELEMENTWISE_BINARY_ROWS_H_
#define KERNELS_ELEMENTWISE_BINARY_ROWS_H_

#include <cstddef>

#include "kernels/base/broadcast_rows.h"
#include "kernels/elementwise/binary.h"

namespace ir::kernels {

/// binary<float> on the calling thread for `rows` rows of `columns` elements.
void binary_rows(BinaryOp op, const RowsOperand& a, const RowsOperand& b, float* out, std::size_t rows,
                 std::size_t columns);

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_BINARY_ROWS_H_
