// Checks of what the command line gives for an option; the messages say what was given and what is taken.
#ifndef SAMPLES_RUN_IR_OPTION_CHECKS_H_
#define SAMPLES_RUN_IR_OPTION_CHECKS_H_

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace run_ir {

/// A number for which `holds`; `range` says which these are: "at least 0".
template <class Condition>
CLI::Validator number_that(std::string range, std::string description, Condition holds) {
  return {[range = std::move(range), holds](std::string& text) {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && holds(value))
              return std::isfinite(value) ? std::string() : fmt::format("'{}' is not finite", text);
            return fmt::format("'{}' is no number {}", text, range);
          },
          std::move(description)};
}

inline CLI::Validator from_zero() {
  return number_that("of at least 0", "NONNEGATIVE", [](double value) { return value >= 0; });
}

inline CLI::Validator above_zero() {
  return number_that("above 0", "POSITIVE", [](double value) { return value > 0; });
}

/// CLI11 takes -1 for 2^64 - 1, and what is too large for the largest number.
inline CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[least, most](std::string& text) {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = error == std::errc() && end == text.data() + text.size();
            if (whole && value >= least && value <= most) return std::string();
            return fmt::format("'{}' is no whole number from {} to {}", text, least, most);
          },
          "NUMBER"};
}

/// More than anybody waits for, or looks at.
constexpr std::uint64_t kMostTimes = 1'000'000'000;

/// The name of a file or folder. A variable of the shell that is not set must not pass for a default.
inline CLI::Validator not_empty() {
  return {[](std::string& text) { return std::string(text.empty() ? "the name is empty" : ""); }, ""};
}

inline CLI::Validator one_of(std::vector<std::string> names) {
  std::string description = fmt::format("{{{}}}", fmt::join(names, ","));
  return {[names = std::move(names)](std::string& text) {
            if (std::ranges::find(names, text) != names.end()) return std::string();
            return fmt::format("'{}' is none of {}", text, fmt::join(names, ", "));
          },
          std::move(description)};
}

/// The value of a name.
template <class Enum>
CLI::Validator value_of_name(std::vector<std::pair<std::string, Enum>> values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& [name, value] : values) names.push_back(name);
  const CLI::Validator is_known = one_of(names);
  return {[is_known, values = std::move(values)](std::string& text) {
            std::string fault = is_known(text);
            if (!fault.empty()) return fault;
            const auto& [name, value] =
                *std::ranges::find(values, text, &std::pair<std::string, Enum>::first);
            text = std::to_string(static_cast<int>(value));
            return fault;
          },
          is_known.get_description()};
}

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_OPTION_CHECKS_H_
