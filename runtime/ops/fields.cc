#include "runtime/ops/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "runtime/types/letter_case.h"
#include "runtime/types/trimmed.h"

namespace ir {
namespace {

// Longer texts are cut in messages: a file may hold megabytes where a number should be.
constexpr std::size_t kMaxQuoted = 60;

std::string quoted(std::string_view text) {
  if (text.size() <= kMaxQuoted) return fmt::format("\"{}\"", text);
  std::size_t end = kMaxQuoted;
  const auto continues_a_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && continues_a_character(end)) --end;
  return fmt::format("\"{}...\"", text.substr(0, end));
}

// Enumerations are read and written as ints without aliasing the enumeration's own type.
int enumeration_value(const Field& field, const void* descriptor) {
  int value = 0;
  std::memcpy(&value, field.member(const_cast<void*>(descriptor)), sizeof value);
  return value;
}

// Each `parse` returns what is wrong with one entry ("is not an integer"), or an empty text.

template <class T>
std::string parse_number(std::string_view text, const Range& range, T& value) {
  constexpr std::string_view kKind = std::is_integral_v<T> ? "an integer" : "a number";
  T parsed{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, parsed);
  // from_chars also takes "nan(payload)".
  if (end != last || error == std::errc::invalid_argument || text.back() == ')') {
    return fmt::format("is not {}", kKind);
  }
  if (error != std::errc()) return fmt::format("does not fit into 64 bits");
  const auto number = static_cast<double>(parsed);
  // Written so that NaN passes when every number does.
  if (number < range.min || number > range.max ||
      (std::isnan(number) && (std::isfinite(range.min) || std::isfinite(range.max)))) {
    return "is out of range";
  }
  value = parsed;
  return {};
}

std::string parse(std::string_view text, const Field& field, std::int64_t& value) {
  return parse_number(text, field.range, value);
}
std::string parse(std::string_view text, const Field& field, double& value) {
  return parse_number(text, field.range, value);
}
std::string parse(std::string_view text, const Field&, std::string& value) {
  value = text;
  return {};
}

std::string parse(std::string_view text, const Field&, bool& value) {
  if (equal_ignoring_case(text, "true") || text == "1") {
    value = true;
  } else if (equal_ignoring_case(text, "false") || text == "0") {
    value = false;
  } else {
    return "is not a boolean";
  }
  return {};
}

std::string parse(std::string_view text, const Field&, ElementType& value) {
  const auto type = element_type_of(text);
  if (!type) return "is not an element type";
  value = *type;
  return {};
}

std::string parse(std::string_view text, const Field&, PartialShape& value) {
  // As in a list.
  if (text.ends_with(',') && text.size() > 1) text.remove_suffix(1);
  auto shape = PartialShape::parse(text);
  if (!shape) return "is not a shape";
  value = std::move(*shape);
  return {};
}

// As OpenVINO reads it: a comma may end the list, and texts that are empty do not count.
template <class T>
std::string parse(std::string_view text, const Field& field, std::vector<T>& values) {
  std::vector<T> parsed;
  for (std::size_t comma = 0; !text.empty(); text.remove_prefix(std::min(comma, text.size() - 1) + 1)) {
    comma = text.find(',');
    const std::string_view entry = trimmed(text.substr(0, comma));
    if (std::is_same_v<T, std::string> && entry.empty()) continue;
    const std::size_t position = parsed.size() + 1;
    if (entry.empty()) return fmt::format("has an empty entry {}", position);
    const std::string fault = parse(entry, field, parsed.emplace_back());
    if (!fault.empty()) return fmt::format("has entry {}, {}, that {}", position, quoted(entry), fault);
  }
  values = std::move(parsed);
  return {};
}

std::string parse_enumeration(std::string_view text, const Field& field, void* descriptor) {
  for (const Spelling& spelling : field.spellings) {
    if (!equal_ignoring_case(text, spelling.name)) continue;
    std::memcpy(field.member(descriptor), &spelling.value, sizeof spelling.value);
    return {};
  }
  return "is not one of its values";
}

// Calls `f` with the member's type; false for enumerations and ignored fields, which have none.
template <class F>
bool with_member_type(FieldKind kind, F&& f) {
  switch (kind) {
    case FieldKind::boolean:
      f.template operator()<bool>();
      return true;
    case FieldKind::integer:
      f.template operator()<std::int64_t>();
      return true;
    case FieldKind::real:
      f.template operator()<double>();
      return true;
    case FieldKind::text:
      f.template operator()<std::string>();
      return true;
    case FieldKind::integers:
      f.template operator()<std::vector<std::int64_t>>();
      return true;
    case FieldKind::reals:
      f.template operator()<std::vector<double>>();
      return true;
    case FieldKind::texts:
      f.template operator()<std::vector<std::string>>();
      return true;
    case FieldKind::element_type:
      f.template operator()<ElementType>();
      return true;
    case FieldKind::partial_shape:
      f.template operator()<PartialShape>();
      return true;
    case FieldKind::enumeration:
    case FieldKind::ignored:
      break;
  }
  return false;
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(const std::string& value) { return value; }
std::string text_of(ElementType value) { return std::string(name_of(value)); }
std::string text_of(const PartialShape& value) {
  const std::string bracketed = to_string(value);
  return bracketed.substr(1, bracketed.size() - 2);
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string joined;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) joined += ", ";
    joined += text_of(values[i]);
  }
  return joined;
}

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return same(x, y); });
}

std::string range_text(const Range& range) {
  if (std::isfinite(range.min) && std::isfinite(range.max)) {
    return fmt::format(" from {} to {}", range.min, range.max);
  }
  if (std::isfinite(range.min)) return fmt::format(" of at least {}", range.min);
  if (std::isfinite(range.max)) return fmt::format(" of at most {}", range.max);
  return {};
}

std::string names_text(std::span<const Spelling> spellings) {
  std::string names;
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    const auto earlier = spellings.first(i);
    const bool alias = std::ranges::any_of(
        earlier, [&](const Spelling& spelling) { return spelling.value == spellings[i].value; });
    if (!alias) names += fmt::format("{}{}", names.empty() ? "" : ", ", spellings[i].name);
  }
  return names;
}

}  // namespace

std::string accepted_text(const Field& field) {
  switch (field.kind) {
    case FieldKind::boolean:
      return "true or false";
    case FieldKind::integer:
      return "an integer" + range_text(field.range);
    case FieldKind::real:
      return "a number" + range_text(field.range);
    case FieldKind::text:
      return "a text";
    case FieldKind::integers:
      return "integers" + range_text(field.range) + ", separated by commas";
    case FieldKind::reals:
      return "numbers" + range_text(field.range) + ", separated by commas";
    case FieldKind::texts:
      return "texts, separated by commas";
    case FieldKind::element_type:
      return "an element type, such as f32 or i64";
    case FieldKind::partial_shape:
      return "dims such as 1,3,?,2..8, or ... for an unknown rank";
    case FieldKind::enumeration:
      return "one of " + names_text(field.spellings);
    case FieldKind::ignored:
      break;
  }
  return "anything";
}

std::optional<std::string> read_field(const Field& field, void* descriptor, std::string_view text) {
  const bool verbatim = field.kind == FieldKind::text;
  const std::string_view value = verbatim ? text : trimmed(text);
  std::string fault;
  const bool is_list = field.kind == FieldKind::integers || field.kind == FieldKind::reals ||
                       field.kind == FieldKind::texts || field.kind == FieldKind::partial_shape;
  if (field.kind == FieldKind::ignored) return std::nullopt;
  if (value.empty() && !is_list && !verbatim) {
    fault = "is empty";
  } else if (field.kind == FieldKind::enumeration) {
    fault = parse_enumeration(value, field, descriptor);
  } else {
    with_member_type(field.kind, [&]<class T>() { fault = parse(value, field, field.in<T>(descriptor)); });
  }
  if (fault.empty()) return std::nullopt;
  return fmt::format("attribute {} is {}, which {}; it takes {}", field.name, quoted(text), fault,
                     accepted_text(field));
}

std::string field_text(const Field& field, const void* descriptor) {
  std::string text;
  if (field.kind == FieldKind::enumeration) {
    const int value = enumeration_value(field, descriptor);
    const auto found = std::ranges::find(field.spellings, value, &Spelling::value);
    return found != field.spellings.end() ? std::string(found->name) : fmt::format("{}", value);
  }
  with_member_type(field.kind, [&]<class T>() { text = text_of(field.in<T>(descriptor)); });
  return text;
}

bool fields_equal(std::span<const Field> fields, const void* a, const void* b) {
  return std::ranges::all_of(fields, [&](const Field& field) {
    if (field.kind == FieldKind::enumeration) {
      return enumeration_value(field, a) == enumeration_value(field, b);
    }
    bool equal = true;
    with_member_type(field.kind, [&]<class T>() { equal = same(field.in<T>(a), field.in<T>(b)); });
    return equal;
  });
}

}  // namespace ir
