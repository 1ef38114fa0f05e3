// Integer arithmetic that is defined for every operand: results wrap modulo 2^bits, nothing traps.
#ifndef KERNELS_BASE_INTEGER_MATH_H_
#define KERNELS_BASE_INTEGER_MATH_H_

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ir::kernels {

// 64-bit unsigned arithmetic wraps by definition and its low bits are those of any narrower type; compilers
// narrow it back when they vectorise.
template <std::integral T>
constexpr T wrapping_add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <std::integral T>
constexpr T wrapping_subtract(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <std::integral T>
constexpr T wrapping_multiply(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <std::integral T>
constexpr T wrapping_negate(T a) {
  return wrapping_subtract<T>(0, a);
}
template <std::integral T>
constexpr T wrapping_abs(T a) {
  return a < 0 ? wrapping_negate(a) : a;
}

/// a + b, a - b and a * b by the rules of the type: IEEE 754, or modulo 2^bits.
template <class T>
constexpr T add_elements(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_add(a, b);
  } else {
    return a + b;
  }
}
template <class T>
constexpr T subtract_elements(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_subtract(a, b);
  } else {
    return a - b;
  }
}
template <class T>
constexpr T multiply_elements(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_multiply(a, b);
  } else {
    return a * b;
  }
}

/// a / b toward zero; 0 when b is 0, `a` negated when b is -1 (so INT_MIN / -1 is INT_MIN).
template <std::integral T>
constexpr T safe_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::signed_integral<T>) {
    if (b == -1) return wrapping_negate(a);
  }
  return static_cast<T>(a / b);
}

/// The rest of safe_divide with the sign of `a`; 0 when b is 0.
template <std::integral T>
constexpr T safe_remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::signed_integral<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

/// A value as T, saturated; NaN gives 0. The value is truncated toward zero.
template <std::integral T, std::floating_point F>
constexpr T saturating_truncate(F value) {
  // 2^digits is the first value above T's range and exact in F, which max() may not be.
  constexpr F kEnd = static_cast<F>(std::uint64_t{1} << (std::numeric_limits<T>::digits - 1)) * 2;
  constexpr F kLowest = static_cast<F>(std::numeric_limits<T>::min());
  if (!(value > kLowest)) return value <= kLowest ? std::numeric_limits<T>::min() : T{0};
  if (value >= kEnd) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class T, bool kHasUnsigned = std::is_integral_v<T> && !std::is_same_v<std::remove_const_t<T>, bool>>
struct WithoutSignOf {
  using Type = T;
};
template <class T>
struct WithoutSignOf<T, true> {
  using Type = std::make_unsigned_t<T>;
};

/// The unsigned integers as long as T, if T is one of integers: for functions whose bits do not depend on a
/// sign, of which one copy serves both.
template <class T>
using WithoutSign = typename WithoutSignOf<T>::Type;

/// The same elements as WithoutSign ones.
template <class T>
WithoutSign<T>* without_sign(T* elements) {
  return reinterpret_cast<WithoutSign<T>*>(elements);
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_INTEGER_MATH_H_
