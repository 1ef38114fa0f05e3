// Reductions of any type, element by element. Internal to kernels/.
#ifndef KERNELS_REDUCTION_REDUCE_SCALAR_H_
#define KERNELS_REDUCTION_REDUCE_SCALAR_H_

#include "kernels/reduction/reduce.h"

namespace ir::kernels {

/// As `reduce`.
template <class T>
void reduce_scalar(ReduceOp op, const AxesPlan& plan, const T* in, T* out);

#define IR_KERNELS_DECLARE(T) extern template void reduce_scalar<T>(ReduceOp, const AxesPlan&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_DECLARE)
#undef IR_KERNELS_DECLARE

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_REDUCE_SCALAR_H_
