#include "ir_runtime/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "runtime/types/printable.h"

namespace ir {
namespace {

// Files may hold megabytes where a name should be.
constexpr std::size_t kMostOfName = 200;
constexpr std::size_t kMostOfText = 2000;

std::string summary_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text;
  if (!diagnostic.where.file.empty()) {
    text += printable(diagnostic.where.file);
    if (diagnostic.where.line > 0)
      text += fmt::format(":{}:{}", diagnostic.where.line, diagnostic.where.column);
    text += ": ";
  }
  text += fmt::format("{}: ", name_of(diagnostic.severity));
  const LayerReference& layer = diagnostic.layer;
  if (!layer.type.empty() || !layer.name.empty() || !layer.id.empty()) {
    text += fmt::format("layer '{}' ({}", printable(layer.name, kMostOfName),
                        layer.type.empty() ? "no type" : printable(layer.type, kMostOfName));
    if (!layer.id.empty()) text += fmt::format(", id {}", printable(layer.id, kMostOfName));
    text += "): ";
  }
  text += fmt::format("{} [{}]", printable(diagnostic.message, kMostOfText), diagnostic.code);
  if (!diagnostic.hint.empty()) text += fmt::format("\n  hint: {}", printable(diagnostic.hint, kMostOfText));
  if (const std::size_t count = diagnostic.consequences.size() + diagnostic.more_consequences; count > 0) {
    text += fmt::format("\n  {} more {} from this one", count,
                        count == 1 ? "finding follows" : "findings follow");
  }
  return text;
}

Error::Error(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(summary_of(diagnostics)), diagnostics_(std::move(diagnostics)) {}

Error::Error(std::string code, std::string message, std::string hint)
    : Error({Diagnostic{Severity::error, std::move(code), {}, {}, std::move(message), std::move(hint)}}) {}

const std::string& Error::code() const {
  const auto first = std::ranges::find(diagnostics_, Severity::error, &Diagnostic::severity);
  return first == diagnostics_.end() ? diagnostics_.front().code : first->code;
}

}  // namespace ir
