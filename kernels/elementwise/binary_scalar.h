// The element types and functions of kernels/elementwise/binary.h that have no SIMD code of their own.
#ifndef KERNELS_ELEMENTWISE_BINARY_SCALAR_H_
#define KERNELS_ELEMENTWISE_BINARY_SCALAR_H_

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/binary.h"

namespace ir::kernels {

/// binary<T> of one span on the calling thread.
template <class T>
void binary_scalar_span(BinaryOp op, const SpanOperand& a, const SpanOperand& b, T* out, std::size_t count);

/// compare<T> of one span on the calling thread.
template <class T>
void compare_scalar_span(CompareOp op, const SpanOperand& a, const SpanOperand& b, std::uint8_t* out,
                         std::size_t count);

#define IR_KERNELS_DECLARE(T)                                                                      \
  extern template void binary_scalar_span<T>(BinaryOp, const SpanOperand&, const SpanOperand&, T*, \
                                             std::size_t);                                         \
  extern template void compare_scalar_span<T>(CompareOp, const SpanOperand&, const SpanOperand&,   \
                                              std::uint8_t*, std::size_t);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_DECLARE)
#undef IR_KERNELS_DECLARE

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_BINARY_SCALAR_H_
