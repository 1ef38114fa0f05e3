#include "samples/run_ir/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace run_ir {
namespace {

struct NamedLimit {
  std::string_view name;
  std::int64_t& (*value)(Limits&);
};

constexpr std::array kLimits{
    NamedLimit{"max_xml_bytes", [](Limits& l) -> std::int64_t& { return l.read.limits.max_xml_bytes; }},
    NamedLimit{"max_xml_elements", [](Limits& l) -> std::int64_t& { return l.read.limits.max_xml_elements; }},
    NamedLimit{"max_attributes_per_element",
               [](Limits& l) -> std::int64_t& { return l.read.limits.max_attributes_per_element; }},
    NamedLimit{"max_layers", [](Limits& l) -> std::int64_t& { return l.read.limits.max_layers; }},
    NamedLimit{"max_edges", [](Limits& l) -> std::int64_t& { return l.read.limits.max_edges; }},
    NamedLimit{"max_ports_per_layer",
               [](Limits& l) -> std::int64_t& { return l.read.limits.max_ports_per_layer; }},
    NamedLimit{"max_rank", [](Limits& l) -> std::int64_t& { return l.read.limits.max_rank; }},
    NamedLimit{"max_attribute_bytes",
               [](Limits& l) -> std::int64_t& { return l.read.limits.max_attribute_bytes; }},
    NamedLimit{"max_attribute_entries",
               [](Limits& l) -> std::int64_t& { return l.read.limits.max_attribute_entries; }},
    NamedLimit{"max_body_depth", [](Limits& l) -> std::int64_t& { return l.read.limits.max_body_depth; }},
    NamedLimit{"max_diagnostics", [](Limits& l) -> std::int64_t& { return l.read.limits.max_diagnostics; }},
    NamedLimit{"max_copied_bytes", [](Limits& l) -> std::int64_t& { return l.read.limits.max_copied_bytes; }},
    NamedLimit{"max_known_bytes", [](Limits& l) -> std::int64_t& { return l.read.limits.max_known_bytes; }},
    NamedLimit{"max_folded_bytes", [](Limits& l) -> std::int64_t& { return l.compile.max_folded_bytes; }},
    NamedLimit{"max_activation_bytes",
               [](Limits& l) -> std::int64_t& { return l.compile.max_activation_bytes; }},
    NamedLimit{"max_memory_bytes", [](Limits& l) -> std::int64_t& { return l.compile.max_memory_bytes; }},
    NamedLimit{"max_loop_iterations",
               [](Limits& l) -> std::int64_t& { return l.compile.max_loop_iterations; }},
    NamedLimit{"max_input_bytes", [](Limits& l) -> std::int64_t& { return l.max_input_bytes; }},
};

std::string all_names() {
  std::string names;
  for (const NamedLimit& limit : kLimits) names += fmt::format("{}{}", names.empty() ? "" : ", ", limit.name);
  return names;
}

// "1G" is 2^30.
std::optional<std::int64_t> number_of(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return value;
  const auto power = kUnits.find(unit);
  if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
  const std::int64_t factor = std::int64_t{1} << (10 * (power + 1));
  return __builtin_mul_overflow(value, factor, &value) ? std::nullopt : std::optional(value);
}

std::int64_t checked_number(const std::string& option, const std::string& text) {
  const auto value = number_of(text);
  if (!value) throw CLI::ValidationError(option, fmt::format("'{}' is no number such as 1000 or 2G", text));
  return *value;
}

Limits& current() {
  static Limits limits;
  return limits;
}

void set_limits(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      throw CLI::ValidationError("--limit", fmt::format("'{}' is not of the form NAME=VALUE", text));
    set_limit(current(), text.substr(0, equals), text.substr(equals + 1));
  }
}

// Everything that grows with the memory there is.
void set_memory(const std::string& text) {
  const std::int64_t bytes = checked_number("--max-mem", text);
  Limits& all = current();
  all.compile.max_memory_bytes = bytes;
  for (std::int64_t* limit : {&all.read.limits.max_copied_bytes, &all.read.limits.max_known_bytes,
                              &all.compile.max_folded_bytes, &all.max_input_bytes}) {
    *limit = std::min(*limit, bytes);
  }
}

}  // namespace

void set_limit(Limits& limits, const std::string& name, const std::string& value) {
  const auto found = std::ranges::find(kLimits, std::string_view(name), &NamedLimit::name);
  if (found == kLimits.end())
    throw CLI::ValidationError("--limit", fmt::format("'{}' is no limit; there are {}", name, all_names()));
  found->value(limits) = checked_number("--limit", value);
}

void add_limit_options(CLI::App& app) {
  app.fallthrough();
  const char* const group = "Limits, for all commands";
  app.add_option_function<std::string>("--max-mem", set_memory,
                                       "Refuse models whose constants, packed weights and activations take "
                                       "more than that: bytes, or 512M, 2G. "
                                       "Default: the memory of the machine or of the cgroup.")
      ->group(group);
  app.add_option_function<std::vector<std::string>>(
         "--limit", set_limits, "NAME=VALUE: another value for a limit that an error names. Repeatable.")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag_callback(
         "--no-map", [] { current().read.map_weights = false; },
         "Read weights files into memory, instead of mapping them: for files that others may change "
         "meanwhile.")
      ->group(group);
}

const Limits& limits() { return current(); }

ir::Budget::Limits input_budget() { return {.tensor = {limits().max_input_bytes, "max_input_bytes"}}; }

ir::CompileOptions compile_options(int threads) {
  ir::CompileOptions options = limits().compile;
  options.threads = threads;
  return options;
}

}  // namespace run_ir
