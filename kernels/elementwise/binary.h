// Element-wise functions and comparisons of two operands with broadcasting.
#ifndef KERNELS_ELEMENTWISE_BINARY_H_
#define KERNELS_ELEMENTWISE_BINARY_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/broadcast.h"
#include "kernels/base/scalar_type.h"

namespace ir::kernels {

/// Functions of a and b. Integer results wrap modulo 2^bits; no operand values trap.
enum class BinaryOp : std::uint8_t {
  add,
  atan2,               ///< float, double only: the angle of the point (b, a), as std::atan2
  bitwise_and,         ///< integers only, as the other bitwise functions
  bitwise_left_shift,  ///< 0 when b is negative or not below the number of bits (OpenVINO leaves it open)
  bitwise_or,
  bitwise_right_shift,  ///< arithmetic for signed T; b out of range gives 0, or -1 for a negative a
  bitwise_xor,
  divide,  ///< integers truncate toward zero; x / 0 is 0, INT_MIN / -1 is INT_MIN (OpenVINO leaves both open)
  floor_divide,  ///< integers round down, Divide-1 with m_pythondiv; x / 0 is 0. Floats: as divide
  floor_mod,     ///< result has the sign of b, FloorMod-1; integer x mod 0 is 0
  logical_and,   ///< operands are true when nonzero, result is 0 or 1
  logical_or,
  logical_xor,
  maximum,  ///< a > b ? a : b, so a NaN gives b
  minimum,  ///< a < b ? a : b, so a NaN gives b
  mod,      ///< result has the sign of a, Mod-1; integer x mod 0 is 0
  multiply,
  power,  ///< float, double: std::pow, but formulas for exponents of 2, 3, 1/2 and, of floats, -1. Integers
          ///< exact modulo 2^bits; negative exponents truncate, 0 to them is 0
  prelu,  ///< a < 0 ? a * b : a, PRelu-1
  squared_difference,
  subtract,
};

/// Comparisons a ? b; with a NaN only `not_equal` holds.
enum class CompareOp : std::uint8_t { equal, greater, greater_equal, less, less_equal, not_equal };

/// out[i] = op(a[i], b[i]) over `plan`, made from {a, b}; parallel. `out` may be `a` or `b` where that is
/// full. T: float, double, int8..int64, uint8..uint64. float and double are correctly rounded, except power
/// and mod, which have the accuracy of <cmath>; x^3 is rounded twice. atan2: 2 ULP of float, <cmath> of
/// double.
template <class T>
void binary(BinaryOp op, const BroadcastPlan& plan, const T* a, const T* b, T* out);

/// out[i] = 1 where the comparison holds, else 0. Same types and rules; `out` may be a full operand if T is
/// uint8_t.
template <class T>
void compare(CompareOp op, const BroadcastPlan& plan, const T* a, const T* b, std::uint8_t* out);

/// Elementary operations per element of float, roughly: what sizes of parallel chunks are derived from.
std::size_t cost_of(BinaryOp op);

/// binary<float> on the calling thread for one span: `a` and `b` have `count` elements or, if scalar, one.
void binary_span(BinaryOp op, SpanOperand a, SpanOperand b, float* out, std::size_t count);

#define IR_KERNELS_DECLARE(T)                                                             \
  extern template void binary<T>(BinaryOp, const BroadcastPlan&, const T*, const T*, T*); \
  extern template void compare<T>(CompareOp, const BroadcastPlan&, const T*, const T*, std::uint8_t*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_DECLARE)
#undef IR_KERNELS_DECLARE

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_BINARY_H_
