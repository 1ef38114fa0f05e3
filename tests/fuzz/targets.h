// The fuzz targets: each takes any bytes, and ends the process when the library breaks a promise.
#ifndef TESTS_FUZZ_TARGETS_H_
#define TESTS_FUZZ_TARGETS_H_

#include <array>
#include <string_view>

namespace ir::fuzz {

/// Stands between the XML and the weights, or between the case file and a tensor's bytes, of one input.
inline constexpr std::string_view kSeparator = "\n--8<--\n";

#define IR_FUZZ_TARGET(name) void name(std::string_view input);
#include "tests/fuzz/targets.inc"
#undef IR_FUZZ_TARGET

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

inline constexpr std::array kTargets{
#define IR_FUZZ_TARGET(name) Target{#name, name},
#include "tests/fuzz/targets.inc"
#undef IR_FUZZ_TARGET
};

/// The parts before and behind the first separator.
struct Parts {
  std::string_view first;
  std::string_view second;
};

inline Parts split(std::string_view input) {
  const auto at = input.find(kSeparator);
  if (at == std::string_view::npos) return {input, {}};
  return {input.substr(0, at), input.substr(at + kSeparator.size())};
}

/// A promise of the library that does not hold.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace ir::fuzz

#endif  // TESTS_FUZZ_TARGETS_H_
