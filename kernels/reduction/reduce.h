// Reductions over any set of axes.
#ifndef KERNELS_REDUCTION_REDUCE_H_
#define KERNELS_REDUCTION_REDUCE_H_

#include <cstdint>

#include "kernels/base/axes.h"
#include "kernels/base/scalar_type.h"

namespace ir::kernels {

enum class ReduceOp : std::uint8_t { l1, l2, logical_and, logical_or, max, mean, min, prod, sum };

/// out[g] = op over the reduced elements of every kept position of `plan`; `out` has plan.output_count()
/// elements and does not overlap `in`. Parallel over outputs, never over the elements of one: the same bits
/// for any pool. T: float, double, int8..int64, uint8..uint64.
///
/// float: accumulated in f32, in three levels of accumulators: the error of a sum of n elements is below
/// (140 + plan.blocks() + n / 4096) * 2^-24 of the sum of magnitudes. Integers: accumulated in 64 bits and
/// wrapped to T; mean truncates toward zero, l2 rounds the root, taken in double. logical: nonzero is
/// true, the result is 0 or 1.
/// NaN: sum, mean, prod, l1 and l2 give NaN; max and min of floats pass over it.
/// Nothing to reduce (a reduced dim of 0): sum, l1, l2: 0, prod: 1, max: lowest value or -inf, min: highest
/// value or inf, mean: NaN (integers: 0), logical_and: 1, logical_or: 0.
/// Definition: Reduce{L1,L2}-4, Reduce{LogicalAnd,LogicalOr,Max,Mean,Min,Prod,Sum}-1.
template <class T>
void reduce(ReduceOp op, const AxesPlan& plan, const T* in, T* out);

#define IR_KERNELS_DECLARE(T) extern template void reduce<T>(ReduceOp, const AxesPlan&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_DECLARE)
#undef IR_KERNELS_DECLARE

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_REDUCE_H_
