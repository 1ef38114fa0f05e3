// What values take while a model runs, compared with what they may.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "runtime/execution/plan.h"

namespace ir {

Error located(const Error& error, const Node& node) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& diagnostic : diagnostics) {
    if (!diagnostic.layer.type.empty()) continue;
    diagnostic.layer = {node.layer_id(), node.name(), std::string(node.op().type())};
    diagnostic.where = node.where();
  }
  return Error(std::move(diagnostics));
}

namespace {

// Strings count as the objects that they are: how long they get is known only when they are there.
std::optional<std::int64_t> activation_bytes(ElementType type, std::int64_t count) {
  if (type != ElementType::string) return storage_bytes(type, count);
  std::int64_t bytes = 0;
  const auto size = static_cast<std::int64_t>(sizeof(std::string));
  return __builtin_mul_overflow(count, size, &bytes) ? std::nullopt : std::optional(bytes);
}

}  // namespace

std::size_t checked_bytes(const ValueInfo& value, const Node& node, const ByteLimit& limit) {
  if (value.type == ElementType::dynamic) {
    throw located(
        Error("IR-unsupported", fmt::format("values of type {} cannot be computed", name_of(value.type))),
        node);
  }
  const auto bytes = activation_bytes(value.type, value.shape.element_count().value());
  if (!bytes || *bytes > limit.bytes) {
    const std::string message =
        fmt::format("the output is {} of shape {}, which takes {} bytes; the limit {} is {}",
                    name_of(value.type), to_string(value.shape),
                    bytes ? fmt::format("{}", *bytes) : "more than 2^63", limit.name, limit.bytes);
    throw located(Error("IR-limit", message), node);
  }
  return static_cast<std::size_t>(*bytes);
}

}  // namespace ir
