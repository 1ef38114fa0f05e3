// Elements as unsigned integers that are ordered alike.
#ifndef KERNELS_BASE_ASCENDING_KEY_H_
#define KERNELS_BASE_ASCENDING_KEY_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ir::kernels {

template <std::size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = std::uint64_t;
};
template <class T>
using Key = typename UnsignedOf<sizeof(T)>::Type;

/// Maps values to unsigned integers of the same order: total, NaN included, which comes last.
template <class T>
Key<T> ascending_key(T value) {
  using Bits = Key<T>;
  constexpr Bits kTop = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return std::numeric_limits<Bits>::max();
    const auto bits = std::bit_cast<Bits>(value + T{0});  // -0 becomes +0
    return (bits & kTop) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kTop);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Bits>(static_cast<Bits>(value) ^ kTop);
  } else {
    return value;
  }
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_ASCENDING_KEY_H_
