// The element types of OpenVINO IR.
#ifndef IR_RUNTIME_ELEMENT_TYPE_H_
#define IR_RUNTIME_ELEMENT_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ir {

/// Element type of a tensor. `dynamic` stands for "not known yet" and has no storage.
enum class ElementType : int {
  dynamic,
  boolean,
  bf16,
  f16,
  f32,
  f64,
  i4,
  i8,
  i16,
  i32,
  i64,
  u1,
  u2,
  u3,
  u4,
  u6,
  u8,
  u16,
  u32,
  u64,
  nf4,
  f4e2m1,
  f8e4m3,
  f8e5m2,
  f8e8m0,
  string,
};

/// Spelling in `<data>` attributes: "f32", "boolean", "dynamic".
std::string_view name_of(ElementType type);

/// Spelling in the `precision` of a port: "FP32", "BOOL", "UNSPECIFIED".
std::string_view port_name_of(ElementType type);

/// Reads either spelling, in any case; `undefined` reads as `dynamic`. Empty when it is neither.
std::optional<ElementType> element_type_of(std::string_view name);

/// Bits of one element; 0 for `dynamic` and `string`.
int bits_of(ElementType type);

/// Every element type but `dynamic`, in the order of the enumeration.
std::span<const ElementType> all_element_types();

/// Bytes of `count` densely packed elements (u3 and u6 come in groups of three bytes); empty on overflow,
/// for a negative count and for types without a fixed size.
std::optional<std::int64_t> storage_bytes(ElementType type, std::int64_t count);

/// f64, f32, f16, bf16.
bool is_real(ElementType type);
/// The integer types of 1 to 64 bits, without `boolean`.
bool is_integral(ElementType type);
/// The signed integers and every float, also those of 8 and 4 bits.
bool is_signed(ElementType type);

/// The C++ type that holds one element, as ElementType; for `Tensor::data<T>()`. Types without a C++ type of
/// their own (halves, packed types) are read through `Tensor::raw()` or `Tensor::converted()`.
template <class T>
inline constexpr ElementType element_type_for = ElementType::dynamic;
template <>
inline constexpr ElementType element_type_for<bool> = ElementType::boolean;
template <>
inline constexpr ElementType element_type_for<float> = ElementType::f32;
template <>
inline constexpr ElementType element_type_for<double> = ElementType::f64;
template <>
inline constexpr ElementType element_type_for<std::int8_t> = ElementType::i8;
template <>
inline constexpr ElementType element_type_for<std::int16_t> = ElementType::i16;
template <>
inline constexpr ElementType element_type_for<std::int32_t> = ElementType::i32;
template <>
inline constexpr ElementType element_type_for<std::int64_t> = ElementType::i64;
template <>
inline constexpr ElementType element_type_for<std::uint8_t> = ElementType::u8;
template <>
inline constexpr ElementType element_type_for<std::uint16_t> = ElementType::u16;
template <>
inline constexpr ElementType element_type_for<std::uint32_t> = ElementType::u32;
template <>
inline constexpr ElementType element_type_for<std::uint64_t> = ElementType::u64;
template <>
inline constexpr ElementType element_type_for<std::string> = ElementType::string;

}  // namespace ir

#endif  // IR_RUNTIME_ELEMENT_TYPE_H_
