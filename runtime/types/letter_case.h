// Names whose letters may be of either case: types of layers and of elements, values of enumerations. Only
// ASCII has cases here, whatever the locale.
#ifndef RUNTIME_TYPES_LETTER_CASE_H_
#define RUNTIME_TYPES_LETTER_CASE_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ir {

inline constexpr char lower_case(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
}

/// Less than, equal to or greater than 0 as `a` is to `b`.
inline constexpr int compare_ignoring_case(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (const int difference = lower_case(a[i]) - lower_case(b[i]); difference != 0) return difference;
  }
  return static_cast<int>(a.size() > b.size()) - static_cast<int>(a.size() < b.size());
}

inline constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && compare_ignoring_case(a, b) == 0;
}

}  // namespace ir

#endif  // RUNTIME_TYPES_LETTER_CASE_H_
