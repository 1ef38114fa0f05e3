// Element type conversion: Convert-1, and the way of every f16, bf16 and packed tensor to and from f32.
#ifndef KERNELS_ELEMENTWISE_CONVERT_H_
#define KERNELS_ELEMENTWISE_CONVERT_H_

#include <cstddef>

#include "kernels/base/scalar_type.h"

namespace ir::kernels {

/// out[i] = in[i] as another type, for every pair of ScalarType (equal types copy).
///
/// - float to integer: truncates toward zero; out of range saturates, NaN gives 0.
/// - integer to integer: wraps modulo 2^bits. To a packed integer likewise, also from floats, after
/// truncation to
///   i32: OpenVINO's u4 of -1.0 is 15.
/// - to float types: rounds to nearest even; f64 reaches f16, bf16 and the packed floats through f32.
/// Overflow gives
///   infinity, where the type has one; otherwise see kernels/elementwise/packed_types.h.
/// - to boolean: 0 when the value equals zero, else 1 (NaN gives 1). From boolean: 0 or 1.
///
/// `in` holds bytes_of(from, count) bytes, `out` bytes_of(to, count), at any alignment. Spare bits of a last
/// packed byte are written as zero. `in == out` is allowed when both types have the same number of bits, and
/// overlap is not allowed otherwise. Runs in parallel. Definition: Convert-1 of opset1, which leaves
/// out-of-range values open.
void convert(ScalarType from, const void* in, ScalarType to, void* out, std::size_t count);

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_CONVERT_H_
