#include "kernels/elementwise/binary_scalar.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/base/integer_math.h"
#include "kernels/elementwise/block_operand.h"

namespace ir::kernels {
namespace {

template <std::integral T>
T floor_divide(T a, T b) {
  const T rest = safe_remainder(a, b);
  const T quotient = safe_divide(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
}

/// std::fmod, exact as it is. Doubles hold the products of floats and of whole quotients that are not too
/// large, which spares a loop over bits.
float float_remainder(float a, float b) {
  constexpr double kLargest = 1 << 28;
  const double divisor = b;
  const double quotient = std::trunc(a / divisor);
  if (!(std::abs(quotient) < kLargest) || std::isinf(b)) return std::fmod(a, b);
  double rest = a - quotient * divisor;
  // The quotient may have been rounded up to a whole number.
  if (rest != 0 && (rest < 0) != (a < 0)) rest += std::copysign(divisor, a);
  return std::copysign(static_cast<float>(rest), a);
}

template <class T>
T remainder(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return safe_remainder(a, b);
  } else if constexpr (std::is_same_v<T, float>) {
    return float_remainder(a, b);
  } else {
    return std::fmod(a, b);
  }
}

template <class T>
T floor_remainder(T a, T b) {
  const T rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

/// Modulo 2^bits by repeated squaring.
template <std::integral T>
T integer_power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (wrapping_add<T>(base, 1) == 0) return exponent % 2 == 0 ? T{1} : base;
    return 0;
  }
  T result = 1;
  for (; exponent != 0; exponent = static_cast<T>(exponent / 2)) {
    if (exponent % 2 != 0) result = wrapping_multiply(result, base);
    base = wrapping_multiply(base, base);
  }
  return result;
}

template <std::integral T>
bool is_shift(T count) {
  return count >= 0 && static_cast<std::uint64_t>(count) < sizeof(T) * 8;
}
template <std::integral T>
T shift_left(T a, T count) {
  return is_shift(count) ? static_cast<T>(static_cast<std::uint64_t>(a) << count) : T{0};
}
template <std::integral T>
T shift_right(T a, T count) {
  if (is_shift(count)) return static_cast<T>(a >> count);
  return static_cast<T>(a < 0 ? -1 : 0);
}

/// out[i] = f(a[i], b[i]).
template <class T, class R, class F>
void map(const SpanOperand& a, const SpanOperand& b, R* out, std::size_t count, F f) {
  const BlockOperand<T> blocks_a(a, count);
  const BlockOperand<T> blocks_b(b, count);
  for_each_block(count, [&](std::size_t begin, std::size_t size) {
    const T* x = blocks_a.from(begin);
    const T* y = blocks_b.from(begin);
    R* to = out + begin;
    for (std::size_t i = 0; i < size; ++i) to[i] = f(x[i], y[i]);
  });
}

/// Arithmetic with the rules of the type: IEEE 754 or modulo 2^bits.
template <class T>
struct Arithmetic {
  static T add(T x, T y) { return x + y; }
  static T subtract(T x, T y) { return x - y; }
  static T multiply(T x, T y) { return x * y; }
  static T divide(T x, T y) { return x / y; }
  /// The exponents that models spell functions with have formulas, which kernels/elementwise/binary.cc has
  /// for vectors.
  static T power(T x, T y) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (y == 2) return x * x;
    if (y == 3) return x * x * x;
    // Unlike a root, a power is not negative for -0 and not a NaN for -infinity.
    if (y == T{0.5}) return x == -kInfinity ? kInfinity : std::sqrt(x + T{0});
    return std::pow(x, y);
  }
};
template <std::integral T>
struct Arithmetic<T> {
  static T add(T x, T y) { return wrapping_add(x, y); }
  static T subtract(T x, T y) { return wrapping_subtract(x, y); }
  static T multiply(T x, T y) { return wrapping_multiply(x, y); }
  static T divide(T x, T y) { return safe_divide(x, y); }
  static T power(T x, T y) { return integer_power(x, y); }
};

/// Signed integers: unsigned ones of the same size have functions in common with them, of which there is one
/// copy.
template <class T>
constexpr bool kHasUnsignedTwin = std::is_integral_v<T>&& std::is_signed_v<T>;

}  // namespace

template <class T>
void binary_scalar_span(BinaryOp op, const SpanOperand& a, const SpanOperand& b, T* out, std::size_t count) {
  using A = Arithmetic<T>;
  const auto each = [&](auto f) { map<T>(a, b, out, count, f); };
  // Where the bits of integers are the same with and without sign.
  const auto each_bits = [&](auto f) {
    if constexpr (kHasUnsignedTwin<T>) {
      binary_scalar_span(op, a, b, without_sign(out), count);
    } else {
      each(f);
    }
  };
  switch (op) {
    case BinaryOp::add:
      return each_bits([](T x, T y) { return A::add(x, y); });
    case BinaryOp::divide:
      return each([](T x, T y) { return A::divide(x, y); });
    case BinaryOp::floor_mod:
      return each([](T x, T y) { return floor_remainder(x, y); });
    case BinaryOp::logical_and:
      return each_bits([](T x, T y) { return static_cast<T>(x != 0 && y != 0); });
    case BinaryOp::logical_or:
      return each_bits([](T x, T y) { return static_cast<T>(x != 0 || y != 0); });
    case BinaryOp::logical_xor:
      return each_bits([](T x, T y) { return static_cast<T>((x != 0) != (y != 0)); });
    case BinaryOp::maximum:
      return each([](T x, T y) { return x > y ? x : y; });
    case BinaryOp::minimum:
      return each([](T x, T y) { return x < y ? x : y; });
    case BinaryOp::mod:
      return each([](T x, T y) { return remainder(x, y); });
    case BinaryOp::multiply:
      return each_bits([](T x, T y) { return A::multiply(x, y); });
    case BinaryOp::power:
      return each([](T x, T y) { return A::power(x, y); });
    case BinaryOp::prelu:
      return each([](T x, T y) { return x < 0 ? A::multiply(x, y) : x; });
    case BinaryOp::squared_difference:
      return each_bits([](T x, T y) {
        const T difference = A::subtract(x, y);
        return A::multiply(difference, difference);
      });
    case BinaryOp::subtract:
      return each_bits([](T x, T y) { return A::subtract(x, y); });
    default:
      break;
  }
  // The functions of integers alone, of which floats know one, and one of floats alone.
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case BinaryOp::bitwise_and:
        return each_bits([](T x, T y) { return static_cast<T>(x & y); });
      case BinaryOp::bitwise_left_shift:
        return each([](T x, T y) { return shift_left(x, y); });
      case BinaryOp::bitwise_or:
        return each_bits([](T x, T y) { return static_cast<T>(x | y); });
      case BinaryOp::bitwise_right_shift:
        return each([](T x, T y) { return shift_right(x, y); });
      case BinaryOp::bitwise_xor:
        return each_bits([](T x, T y) { return static_cast<T>(x ^ y); });
      default:
        return each([](T x, T y) { return floor_divide(x, y); });
    }
  } else {
    if (op == BinaryOp::atan2) return each([](T y, T x) { return std::atan2(y, x); });
    each([](T x, T y) { return A::divide(x, y); });
  }
}

template <class T>
void compare_scalar_span(CompareOp op, const SpanOperand& a, const SpanOperand& b, std::uint8_t* out,
                         std::size_t count) {
  const auto each = [&](auto f) { map<T>(a, b, out, count, f); };
  const auto each_bits = [&](auto f) {
    if constexpr (kHasUnsignedTwin<T>) {
      compare_scalar_span<std::make_unsigned_t<T>>(op, a, b, out, count);
    } else {
      each(f);
    }
  };
  switch (op) {
    case CompareOp::equal:
      return each_bits([](T x, T y) { return static_cast<std::uint8_t>(x == y); });
    case CompareOp::greater:
      return each([](T x, T y) { return static_cast<std::uint8_t>(x > y); });
    case CompareOp::greater_equal:
      return each([](T x, T y) { return static_cast<std::uint8_t>(x >= y); });
    case CompareOp::less:
      return each([](T x, T y) { return static_cast<std::uint8_t>(x < y); });
    case CompareOp::less_equal:
      return each([](T x, T y) { return static_cast<std::uint8_t>(x <= y); });
    case CompareOp::not_equal:
      return each_bits([](T x, T y) { return static_cast<std::uint8_t>(x != y); });
  }
}

#define IR_KERNELS_INSTANTIATE(T)                                                                         \
  template void binary_scalar_span<T>(BinaryOp, const SpanOperand&, const SpanOperand&, T*, std::size_t); \
  template void compare_scalar_span<T>(CompareOp, const SpanOperand&, const SpanOperand&, std::uint8_t*,  \
                                       std::size_t);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

}  // namespace ir::kernels
