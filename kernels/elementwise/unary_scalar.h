// The element types and functions of kernels/elementwise/unary.h that are not worth SIMD code of their own.
#ifndef KERNELS_ELEMENTWISE_UNARY_SCALAR_H_
#define KERNELS_ELEMENTWISE_UNARY_SCALAR_H_

#include <cstddef>

#include "kernels/elementwise/unary.h"

namespace ir::kernels {

/// unary<T> on the calling thread, one element at a time; float is computed in double and rounded once.
template <class T>
void unary_scalar_span(const UnarySpec& spec, const T* in, T* out, std::size_t count);

#define IR_KERNELS_DECLARE(T) \
  extern template void unary_scalar_span<T>(const UnarySpec&, const T*, T*, std::size_t);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_DECLARE)
#undef IR_KERNELS_DECLARE

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_UNARY_SCALAR_H_
