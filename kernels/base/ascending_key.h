// Elements as unsigned integers that are ordered alike.
#ifndef KERNELS_BASE_ASCENDING_KEY_H_
#define KERNELS_BASE_ASCENDING_KEY_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ir::kernels {

template <class T>
using Key =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

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
