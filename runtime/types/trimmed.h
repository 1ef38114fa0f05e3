// Text without the blanks around it.
#ifndef RUNTIME_TYPES_TRIMMED_H_
#define RUNTIME_TYPES_TRIMMED_H_

#include <string_view>

namespace ir {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace ir

#endif  // RUNTIME_TYPES_TRIMMED_H_
