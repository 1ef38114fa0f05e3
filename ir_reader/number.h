// Numbers in attributes.
#ifndef IR_READER_NUMBER_H_
#define IR_READER_NUMBER_H_

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ir::reader {

/// The number that the whole text is; empty for other texts, and for numbers that T does not hold.
template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace ir::reader

#endif  // IR_READER_NUMBER_H_
