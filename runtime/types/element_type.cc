#include "ir_runtime/element_type.h"

#include <array>
#include <limits>

#include "runtime/types/letter_case.h"

namespace ir {
namespace {

// What the elements are. Floats of 8 and 4 bits are neither real nor integral: nothing computes in them.
enum class Kind { other, real, small_float, signed_integer, unsigned_integer };

struct Row {
  ElementType type;
  std::string_view name;
  std::string_view port_name;
  int bits;
  Kind kind;
};

constexpr std::array kRows{
    Row{ElementType::dynamic, "dynamic", "UNSPECIFIED", 0, Kind::other},
    Row{ElementType::boolean, "boolean", "BOOL", 8, Kind::other},
    Row{ElementType::bf16, "bf16", "BF16", 16, Kind::real},
    Row{ElementType::f16, "f16", "FP16", 16, Kind::real},
    Row{ElementType::f32, "f32", "FP32", 32, Kind::real},
    Row{ElementType::f64, "f64", "FP64", 64, Kind::real},
    Row{ElementType::i4, "i4", "I4", 4, Kind::signed_integer},
    Row{ElementType::i8, "i8", "I8", 8, Kind::signed_integer},
    Row{ElementType::i16, "i16", "I16", 16, Kind::signed_integer},
    Row{ElementType::i32, "i32", "I32", 32, Kind::signed_integer},
    Row{ElementType::i64, "i64", "I64", 64, Kind::signed_integer},
    Row{ElementType::u1, "u1", "BIN", 1, Kind::unsigned_integer},
    Row{ElementType::u2, "u2", "U2", 2, Kind::unsigned_integer},
    Row{ElementType::u3, "u3", "U3", 3, Kind::unsigned_integer},
    Row{ElementType::u4, "u4", "U4", 4, Kind::unsigned_integer},
    Row{ElementType::u6, "u6", "U6", 6, Kind::unsigned_integer},
    Row{ElementType::u8, "u8", "U8", 8, Kind::unsigned_integer},
    Row{ElementType::u16, "u16", "U16", 16, Kind::unsigned_integer},
    Row{ElementType::u32, "u32", "U32", 32, Kind::unsigned_integer},
    Row{ElementType::u64, "u64", "U64", 64, Kind::unsigned_integer},
    Row{ElementType::nf4, "nf4", "NF4", 4, Kind::small_float},
    Row{ElementType::f4e2m1, "f4e2m1", "F4E2M1", 4, Kind::small_float},
    Row{ElementType::f8e4m3, "f8e4m3", "F8E4M3", 8, Kind::small_float},
    Row{ElementType::f8e5m2, "f8e5m2", "F8E5M2", 8, Kind::small_float},
    Row{ElementType::f8e8m0, "f8e8m0", "F8E8M0", 8, Kind::small_float},
    Row{ElementType::string, "string", "STRING", 0, Kind::other},
};

const Row& row_of(ElementType type) { return kRows[static_cast<std::size_t>(type)]; }

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].type) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enumeration());

constexpr auto kAllTypes = [] {
  std::array<ElementType, kRows.size() - 1> types{};
  for (std::size_t i = 1; i < kRows.size(); ++i) types[i - 1] = kRows[i].type;
  return types;
}();

}  // namespace

std::string_view name_of(ElementType type) { return row_of(type).name; }

std::string_view port_name_of(ElementType type) { return row_of(type).port_name; }

std::optional<ElementType> element_type_of(std::string_view name) {
  for (const Row& row : kRows) {
    if (equal_ignoring_case(name, row.name) || equal_ignoring_case(name, row.port_name)) return row.type;
  }
  if (equal_ignoring_case(name, "undefined")) return ElementType::dynamic;
  return std::nullopt;
}

int bits_of(ElementType type) { return row_of(type).bits; }

std::span<const ElementType> all_element_types() { return kAllTypes; }

std::optional<std::int64_t> storage_bytes(ElementType type, std::int64_t count) {
  const std::int64_t bits = bits_of(type);
  if (bits == 0 || count < 0 || count > (std::numeric_limits<std::int64_t>::max() - 23) / bits)
    return std::nullopt;
  if (type == ElementType::u3 || type == ElementType::u6) return (count * bits + 23) / 24 * 3;
  return (count * bits + 7) / 8;
}

bool is_real(ElementType type) { return row_of(type).kind == Kind::real; }

bool is_integral(ElementType type) {
  const Kind kind = row_of(type).kind;
  return kind == Kind::signed_integer || kind == Kind::unsigned_integer;
}

bool is_signed(ElementType type) {
  const Kind kind = row_of(type).kind;
  return kind != Kind::unsigned_integer && kind != Kind::other;
}

}  // namespace ir
