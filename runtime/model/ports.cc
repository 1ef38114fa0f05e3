#include "runtime/model/ports.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir_runtime/diagnostics.h"

namespace ir {
namespace {

bool is_called(const Port& port, std::string_view name) {
  return std::ranges::find(port.names, name) != port.names.end();
}

Error no_such_port(std::string_view kind, std::span<const Port> ports, std::string_view name) {
  return {"IR-port-unknown", fmt::format("the model has no {} '{}'; it has {}", kind, name, names_of(ports))};
}

}  // namespace

std::string names_of(std::span<const Port> ports) {
  if (ports.empty()) return "none";
  std::string names;
  for (const Port& port : ports) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", port.name());
  return names;
}

std::optional<std::size_t> find_output(std::span<const Port> outputs, std::string_view name) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (is_called(outputs[i], name)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_input(std::span<const Port> inputs, std::string_view name) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_called(inputs[i], name)) continue;
    if (found)
      throw Error("IR-port-ambiguous",
                  fmt::format("the name '{}' belongs to inputs {} and {}", name, *found, i));
    found = i;
  }
  return found;
}

std::size_t input_named(std::span<const Port> inputs, std::string_view name) {
  if (const auto found = find_input(inputs, name)) return *found;
  throw no_such_port("input", inputs, name);
}

std::size_t output_named(std::span<const Port> outputs, std::string_view name) {
  if (const auto found = find_output(outputs, name)) return *found;
  throw no_such_port("output", outputs, name);
}

}  // namespace ir
