// What a check of inference compares: references while it may pass, text once it has failed.
#ifndef RUNTIME_OPS_COMPARISON_H_
#define RUNTIME_OPS_COMPARISON_H_

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>

#include "runtime/types/format.h"

namespace ir {

/// What a failure compares, in a word each, for programs: parts of its message.
struct Compared {
  std::string found = {};
  std::string expected = {};
  /// Why that is expected, with the numbers put in.
  std::string rule = {};
  /// The input that is wrong, when it is about one.
  std::optional<std::size_t> input = {};
};

/// Anything that fmt can write, or a function that returns text. Only refers to it: for use in the expression
/// that makes it.
class Word {
 public:
  template <class T>
  requires(!std::same_as<T, Word>)
      Word(const T& value)  // NOLINT(google-explicit-constructor): a value is a word
      : value_(&value), write_([](const void* stored) { return write(*static_cast<const T*>(stored)); }) {}

  [[nodiscard]] std::string text() const { return write_(value_); }

 private:
  template <class T>
  static std::string write(const T& value) {
    if constexpr (std::invocable<const T&>) {
      return value();
    } else {
      return fmt::format("{}", value);
    }
  }

  const void* value_;
  std::string (*write_)(const void*);
};

/// A word of several values, written when it is asked for: words("{} to {}", min, max).
template <class... Args>
auto words(fmt::format_string<const Args&...> format, const Args&... args) {
  return [format, &args...] { return fmt::format(format, args...); };
}

/// `Compared` of a check that may pass, which costs no text then.
struct Comparison {
  Word found;
  Word expected;
  Word rule = "";
  std::optional<std::size_t> input = {};

  [[nodiscard]] Compared compared() const { return {found.text(), expected.text(), rule.text(), input}; }
};

}  // namespace ir

#endif  // RUNTIME_OPS_COMPARISON_H_
