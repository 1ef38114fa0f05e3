// From an ElementType to the C++ type that kernels take.
#ifndef RUNTIME_TYPES_DISPATCH_H_
#define RUNTIME_TYPES_DISPATCH_H_

#include <cstdint>

#include "ir_runtime/element_type.h"

namespace ir {

/// Calls `f.template operator()<T>()` with the one of `Types` that holds `type`. Returns whether one does.
template <class... Types, class F>
bool with_one_of(ElementType type, F&& f) {
  return ((element_type_for<Types> == type && (f.template operator()<Types>(), true)) || ...);
}

/// With the C++ type of `type`: f32, f64, the 8- to 64-bit integers, and boolean as uint8_t. Halves and
/// packed types are not among them: passes turn them into f32, or kernels/elementwise/convert does.
template <class F>
bool with_arithmetic_type(ElementType type, F&& f) {
  return with_one_of<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                     std::uint16_t, std::uint32_t, std::uint64_t>(
      type == ElementType::boolean ? ElementType::u8 : type, f);
}

/// The same for f32 and f64 only.
template <class F>
bool with_real_type(ElementType type, F&& f) {
  return with_one_of<float, double>(type, f);
}

/// The same for index inputs and outputs: i32 and i64.
template <class F>
bool with_index_type(ElementType type, F&& f) {
  return with_one_of<std::int32_t, std::int64_t>(type, f);
}

}  // namespace ir

#endif  // RUNTIME_TYPES_DISPATCH_H_
