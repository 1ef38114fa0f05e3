// Inputs and outputs by their names, which need not be unique.
#ifndef RUNTIME_MODEL_PORTS_H_
#define RUNTIME_MODEL_PORTS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir_runtime/model.h"

namespace ir {

/// "'a', 'b'", or "none": what the ports are called, for messages.
std::string names_of(std::span<const Port> ports);

/// The first port that has `name` among its names; nothing when none has. Outputs that share a name may give
/// the same value twice.
std::optional<std::size_t> find_output(std::span<const Port> outputs, std::string_view name);

/// The input that has `name` among its names; nothing when none has. Throws Error `IR-port-ambiguous` when
/// several have.
std::optional<std::size_t> find_input(std::span<const Port> inputs, std::string_view name);

/// The same. These throw Error `IR-port-unknown` when no port has the name.
std::size_t input_named(std::span<const Port> inputs, std::string_view name);
std::size_t output_named(std::span<const Port> outputs, std::string_view name);

}  // namespace ir

#endif  // RUNTIME_MODEL_PORTS_H_
