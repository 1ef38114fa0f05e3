#include "kernels/elementwise/packed_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ir::kernels {
namespace {

/// Where the lowest bit of an element is.
struct BitField {
  std::size_t byte;
  unsigned shift;
};

/// u1, first element highest; u2 and 4-bit types, first element lowest.
BitField field_in_byte(ScalarType type, std::size_t index) {
  const std::size_t bits = bits_of(type);
  const std::size_t per_byte = 8 / bits;
  const std::size_t place = index % per_byte;
  const bool highest_first = type == ScalarType::u1;
  return {index / per_byte, static_cast<unsigned>((highest_first ? per_byte - 1 - place : place) * bits)};
}

/// A three-byte group of u3 or u6: every element is split into `low_bits` from a 16-bit word and the rest
/// above.
struct Group {
  unsigned elements;
  unsigned low_bits;
  unsigned high_bits;
};
constexpr Group group_of(ScalarType type) { return type == ScalarType::u3 ? Group{8, 2, 1} : Group{4, 4, 2}; }
constexpr bool is_grouped(ScalarType type) { return type == ScalarType::u3 || type == ScalarType::u6; }
constexpr unsigned low_mask(unsigned bits) { return (1U << bits) - 1U; }

unsigned code_in_group(const Group& group, const std::uint8_t* bytes, std::size_t place) {
  const auto from_end = static_cast<unsigned>(group.elements - 1 - place);
  const unsigned word = static_cast<unsigned>(bytes[0]) << 8 | bytes[1];
  const unsigned low = word >> (from_end * group.low_bits) & low_mask(group.low_bits);
  const unsigned high =
      static_cast<unsigned>(bytes[2]) >> (from_end * group.high_bits) & low_mask(group.high_bits);
  return high << group.low_bits | low;
}

/// Calls `take(i, code)` for elements first + i, i < count.
template <class F>
void for_each_code(ScalarType type, const std::uint8_t* packed, std::size_t first, std::size_t count,
                   F take) {
  const auto bits = static_cast<unsigned>(bits_of(type));
  if (is_grouped(type)) {
    const Group group = group_of(type);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = first + i;
      take(i, code_in_group(group, packed + index / group.elements * 3, index % group.elements));
    }
  } else if (bits == 8) {
    for (std::size_t i = 0; i < count; ++i) take(i, unsigned{packed[first + i]});
  } else if (bits == 4) {  // compressed weights: two elements from each byte
    std::size_t i = 0;
    if (first % 2 != 0 && count != 0) take(i++, unsigned{packed[first / 2]} >> 4);
    for (; i + 2 <= count; i += 2) {
      const unsigned byte = packed[(first + i) / 2];
      take(i, byte & 0xFU);
      take(i + 1, byte >> 4);
    }
    if (i < count) take(i, packed[(first + i) / 2] & 0xFU);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const BitField field = field_in_byte(type, first + i);
      take(i, static_cast<unsigned>(packed[field.byte]) >> field.shift & low_mask(bits));
    }
  }
}

/// Calls `code(i)` for each i < count and packs the low bits of what it returns.
template <class F>
void pack_codes(ScalarType type, std::size_t first, std::uint8_t* packed, std::size_t count, F code) {
  const auto bits = static_cast<unsigned>(bits_of(type));
  std::uint8_t* out = packed + bytes_of(type, first);
  if (bits == 8) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(code(i));
    return;
  }
  std::fill_n(out, bytes_of(type, count), std::uint8_t{0});
  if (!is_grouped(type)) {
    for (std::size_t i = 0; i < count; ++i) {
      const BitField field = field_in_byte(type, i);
      out[field.byte] |= static_cast<std::uint8_t>((code(i) & low_mask(bits)) << field.shift);
    }
    return;
  }
  const Group group = group_of(type);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* bytes = out + i / group.elements * 3;
    const auto from_end = static_cast<unsigned>(group.elements - 1 - i % group.elements);
    const unsigned value = code(i);
    const unsigned word = (value & low_mask(group.low_bits)) << (from_end * group.low_bits);
    const unsigned high = value >> group.low_bits & low_mask(group.high_bits);
    bytes[0] |= static_cast<std::uint8_t>(word >> 8);
    bytes[1] |= static_cast<std::uint8_t>(word);
    bytes[2] |= static_cast<std::uint8_t>(high << (from_end * group.high_bits));
  }
}

constexpr std::array<float, 16> kNf4 = {-1.0F,
                                        -0.6961928009986877F,
                                        -0.5250730514526367F,
                                        -0.39491748809814453F,
                                        -0.28444138169288635F,
                                        -0.18477343022823334F,
                                        -0.09105003625154495F,
                                        0.0F,
                                        0.07958029955625534F,
                                        0.16093020141124725F,
                                        0.24611230194568634F,
                                        0.33791524171829224F,
                                        0.44070982933044434F,
                                        0.5626170039176941F,
                                        0.7229568362236023F,
                                        1.0F};

constexpr std::size_t kMaxCodes = 256;

/// A sign-magnitude float of 1 + exponent_bits + mantissa_bits bits.
struct SmallFloat {
  unsigned exponent_bits;
  unsigned mantissa_bits;
  int bias;
};
constexpr SmallFloat kF4E2M1{2, 1, 1};
constexpr SmallFloat kF8E4M3{4, 3, 7};
constexpr SmallFloat kF8E5M2{5, 2, 15};

constexpr float exact_power_of_two(int exponent) {
  return exponent >= -126 ? std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23)
                          : std::bit_cast<float>(std::uint32_t{1} << (exponent + 149));
}

/// Value of a magnitude code, taken as finite.
constexpr float magnitude_of(const SmallFloat& format, unsigned code) {
  const unsigned mantissa = code & low_mask(format.mantissa_bits);
  const auto exponent = static_cast<int>(code >> format.mantissa_bits);
  const auto scale = exact_power_of_two((exponent == 0 ? 1 : exponent) - format.bias -
                                        static_cast<int>(format.mantissa_bits));
  return static_cast<float>(mantissa + (exponent == 0 ? 0U : 1U << format.mantissa_bits)) * scale;
}

/// All values of a type, by code.
using Table = std::array<float, kMaxCodes>;

constexpr Table make_table(const SmallFloat& format) {
  Table table{};
  const unsigned sign = 1U << (format.exponent_bits + format.mantissa_bits);
  for (unsigned code = 0; code < sign; ++code) {
    table[code] = magnitude_of(format, code);
    table[code + sign] = -table[code];
  }
  return table;
}

constexpr Table make_e4m3() {
  Table table = make_table(kF8E4M3);
  table[0x7F] = table[0xFF] = std::numeric_limits<float>::quiet_NaN();
  return table;
}

constexpr Table make_e5m2() {
  Table table = make_table(kF8E5M2);
  table[0x7C] = std::numeric_limits<float>::infinity();
  table[0xFC] = -std::numeric_limits<float>::infinity();
  for (const unsigned code : {0x7DU, 0x7EU, 0x7FU, 0xFDU, 0xFEU, 0xFFU}) {
    table[code] = std::numeric_limits<float>::quiet_NaN();
  }
  return table;
}

constexpr Table make_e8m0() {
  Table table{};
  for (int code = 0; code < 255; ++code)
    table[static_cast<std::size_t>(code)] = exact_power_of_two(code - 127);
  table[0xFF] = std::numeric_limits<float>::quiet_NaN();
  return table;
}

constexpr Table kTableE2M1 = make_table(kF4E2M1);
constexpr Table kTableE4M3 = make_e4m3();
constexpr Table kTableE5M2 = make_e5m2();
constexpr Table kTableE8M0 = make_e8m0();

const float* table_of(ScalarType type) {
  switch (type) {
    case ScalarType::nf4:
      return kNf4.data();
    case ScalarType::f4e2m1:
      return kTableE2M1.data();
    case ScalarType::f8e4m3:
      return kTableE4M3.data();
    case ScalarType::f8e5m2:
      return kTableE5M2.data();
    default:
      return kTableE8M0.data();
  }
}

/// The magnitude code next to `magnitude` >= 0, ties to the even code, at most `last`.
unsigned nearest_code(const SmallFloat& format, float magnitude, unsigned last) {
  if (magnitude >= magnitude_of(format, last)) return last;
  // In units of the step between codes at this exponent, codes are consecutive integers.
  const int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : 1 - format.bias, 1 - format.bias);
  const auto mantissa_bits = static_cast<int>(format.mantissa_bits);
  const double in_steps = std::ldexp(static_cast<double>(magnitude), mantissa_bits - exponent);
  const auto steps = static_cast<int>(std::nearbyint(in_steps));
  return static_cast<unsigned>(((exponent + format.bias - 1) << mantissa_bits) + steps);
}

unsigned nearest_nf4(float value) {
  unsigned code = 0;
  for (std::size_t i = 0; i + 1 < kNf4.size(); ++i) {
    const auto middle =
        static_cast<float>((static_cast<double>(kNf4[i]) + static_cast<double>(kNf4[i + 1])) / 2.0);
    if (value > middle) code = static_cast<unsigned>(i + 1);
  }
  return code;
}

unsigned nearest_e8m0(float value) {
  constexpr unsigned kLargest = 254;
  if (std::isnan(value)) return 0xFF;
  if (!(value > 0)) return 0;
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = word >> 23;
  const std::uint32_t mantissa = word & 0x7FFFFFU;
  // 2^-127 is subnormal in f32: there the middle to the next power lies elsewhere.
  const std::uint32_t middle = exponent == 0 ? 0x600000U : 0x400000U;
  const bool up = mantissa > middle || (mantissa == middle && exponent % 2 != 0);
  return std::min(exponent + (up ? 1U : 0U), kLargest);
}

unsigned nearest_float_code(ScalarType type, float value) {
  const float magnitude = std::abs(value);
  const unsigned sign = std::signbit(value) ? 1U : 0U;
  switch (type) {
    case ScalarType::nf4:
      return nearest_nf4(value);
    case ScalarType::f4e2m1:
      return sign << 3 | (std::isnan(value) ? 7U : nearest_code(kF4E2M1, magnitude, 7));
    case ScalarType::f8e4m3:
      return sign << 7 | (std::isnan(value) ? 0x7FU : nearest_code(kF8E4M3, magnitude, 0x7F));
    case ScalarType::f8e5m2:
      return sign << 7 | (std::isnan(value) ? 0x7EU : nearest_code(kF8E5M2, magnitude, 0x7C));
    default:
      return nearest_e8m0(value);
  }
}

}  // namespace

void unpack_integers(ScalarType type, const std::uint8_t* packed, std::size_t first, std::int32_t* out,
                     std::size_t count) {
  const std::int32_t sign_bit = type == ScalarType::i4 ? 8 : 0;
  for_each_code(type, packed, first, count, [=](std::size_t i, unsigned code) {
    out[i] = (static_cast<std::int32_t>(code) ^ sign_bit) - sign_bit;
  });
}

void unpack_floats(ScalarType type, const std::uint8_t* packed, std::size_t first, float* out,
                   std::size_t count) {
  for_each_code(type, packed, first, count,
                [out, table = table_of(type)](std::size_t i, unsigned code) { out[i] = table[code]; });
}

void pack_integers(ScalarType type, const std::int32_t* in, std::size_t first, std::uint8_t* packed,
                   std::size_t count) {
  pack_codes(type, first, packed, count, [in](std::size_t i) { return static_cast<unsigned>(in[i]); });
}

void pack_floats(ScalarType type, const float* in, std::size_t first, std::uint8_t* packed,
                 std::size_t count) {
  pack_codes(type, first, packed, count, [=](std::size_t i) { return nearest_float_code(type, in[i]); });
}

}  // namespace ir::kernels
