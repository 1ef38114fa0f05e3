// The element types that kernels can read and write in memory.
#ifndef KERNELS_BASE_SCALAR_TYPE_H_
#define KERNELS_BASE_SCALAR_TYPE_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

/// Storage types. `boolean` is a byte that reads as true when nonzero and is written as 0 or 1.
/// The types from `u1` on are packed or table-coded (kernels/elementwise/packed_types.h) and exist in memory
/// only.
enum class ScalarType : std::uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  u1,
  u2,
  u3,
  u4,
  u6,
  i4,
  nf4,
  f4e2m1,
  f8e4m3,
  f8e5m2,
  f8e8m0,
};

/// Whether the type needs kernels/elementwise/packed_types to become a C++ type.
constexpr bool is_packed(ScalarType type) { return type >= ScalarType::u1; }

/// Bits of one element.
constexpr std::size_t bits_of(ScalarType type) {
  switch (type) {
    case ScalarType::f64:
    case ScalarType::i64:
    case ScalarType::u64:
      return 64;
    case ScalarType::f32:
    case ScalarType::i32:
    case ScalarType::u32:
      return 32;
    case ScalarType::f16:
    case ScalarType::bf16:
    case ScalarType::i16:
    case ScalarType::u16:
      return 16;
    case ScalarType::u6:
      return 6;
    case ScalarType::u4:
    case ScalarType::i4:
    case ScalarType::nf4:
    case ScalarType::f4e2m1:
      return 4;
    case ScalarType::u3:
      return 3;
    case ScalarType::u2:
      return 2;
    case ScalarType::u1:
      return 1;
    case ScalarType::i8:
    case ScalarType::u8:
    case ScalarType::boolean:
    case ScalarType::f8e4m3:
    case ScalarType::f8e5m2:
    case ScalarType::f8e8m0:
      break;
  }
  return 8;
}

/// Bytes of `count` elements. u3 and u6 come in groups of three bytes.
constexpr std::size_t bytes_of(ScalarType type, std::size_t count) {
  const std::size_t bits = bits_of(type);
  if (type == ScalarType::u3 || type == ScalarType::u6) {
    const std::size_t per_group = 24 / bits;
    return count / per_group * 3 + (count % per_group != 0 ? 3 : 0);
  }
  if (bits >= 8) return count * (bits / 8);
  const std::size_t per_byte = 8 / bits;
  return count / per_byte + (count % per_byte != 0 ? 1 : 0);
}

// The C++ types that element-wise kernels are instantiated for.
#define IR_KERNELS_FOR_EACH_INTEGER(X) \
  X(std::int8_t)                       \
  X(std::int16_t)                      \
  X(std::int32_t)                      \
  X(std::int64_t)                      \
  X(std::uint8_t)                      \
  X(std::uint16_t)                     \
  X(std::uint32_t)                     \
  X(std::uint64_t)

#define IR_KERNELS_FOR_EACH_NUMBER(X) \
  X(float)                            \
  X(double)                           \
  IR_KERNELS_FOR_EACH_INTEGER(X)

}  // namespace ir::kernels

#endif  // KERNELS_BASE_SCALAR_TYPE_H_
