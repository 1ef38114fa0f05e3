// Names whose letters may be of either case: types of layers and of elements, values of enumerations. Only
// ASCII has cases here, whatever the locale.
#ifndef RUNTIME_TYPES_LETTER_CASE_H_
#define RUNTIME_TYPES_LETTER_CASE_H_

#include <algorithm>
#include <string_view>

namespace ir {

inline constexpr char lower_case(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
}

inline constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower_case, lower_case);
}

inline constexpr bool less_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::lexicographical_compare(a, b, {}, lower_case, lower_case);
}

}  // namespace ir

#endif  // RUNTIME_TYPES_LETTER_CASE_H_
