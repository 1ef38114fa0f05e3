// Bit layouts of the types below 8 bits and of the 4- and 8-bit floats.
//
// u1: first element in the most significant bit of a byte. u2, i4, u4, nf4, f4e2m1: first element in the
// least significant bits (u2 as in ONNX; OpenVINO before 2025.3 began with the most significant ones). u3,
// u6: groups of three bytes; bytes 0-1, as one big-endian word, hold the low 2 (u3) or 4 (u6) bits of each of
// the 8 or 4 elements, byte 2 their high 1 or 2 bits; the first element is in the most significant place of
// both. f4e2m1, f8e4m3 (no infinity, NaN = S.1111.111), f8e5m2 (IEEE-like), f8e8m0 (power of two 2^(code -
// 127), 0xFF = NaN): the OCP formats. nf4: the 16 quantiles of QLoRA's NormalFloat.
#ifndef KERNELS_ELEMENTWISE_PACKED_TYPES_H_
#define KERNELS_ELEMENTWISE_PACKED_TYPES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/scalar_type.h"

namespace ir::kernels {

/// Whether elements of a packed type are integers (u1..u6, i4), as opposed to floating-point codes.
constexpr bool is_packed_integer(ScalarType type) { return type >= ScalarType::u1 && type <= ScalarType::i4; }

/// Reads elements [first, first + count) of a packed integer type. Serial; reads only the bytes (for u3 and
/// u6: the groups) that hold them.
void unpack_integers(ScalarType type, const std::uint8_t* packed, std::size_t first, std::int32_t* out,
                     std::size_t count);

/// Reads elements [first, first + count) of nf4, f4e2m1, f8e4m3, f8e5m2 or f8e8m0; exact. Serial.
void unpack_floats(ScalarType type, const std::uint8_t* packed, std::size_t first, float* out,
                   std::size_t count);

/// Writes elements [first, first + count) of a packed integer type from the low bits of `in`. `first` is a
/// multiple of 8. Whole bytes (groups) are written: spare bits of the last become zero. Serial.
void pack_integers(ScalarType type, const std::int32_t* in, std::size_t first, std::uint8_t* packed,
                   std::size_t count);

/// Writes elements [first, first + count) of a floating-point code, rounding to nearest (ties to the even
/// code, nf4: to the smaller quantile). `first` is a multiple of 8. Serial. Beyond the range: f4e2m1 and nf4
/// saturate (NaN too: f4e2m1 to +-6, nf4 to -1); f8e4m3 gives NaN above 464, f8e5m2 infinity from 61440 on;
/// f8e8m0 saturates to [2^-127, 2^127], negative values and zeros giving 2^-127. The 8-bit types keep NaN.
void pack_floats(ScalarType type, const float* in, std::size_t first, std::uint8_t* packed,
                 std::size_t count);

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_PACKED_TYPES_H_
