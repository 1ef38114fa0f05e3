#include "ir_reader/findings.h"

#include <fmt/format.h>

namespace ir::reader {

void Findings::forgive(Diagnostic& diagnostic) {
  if (diagnostic.severity != Severity::error) return;
  ++forgiven_count_;
  diagnostic.severity = Severity::warning;
  diagnostic.hint += fmt::format("{}no Result needs the layer, which is left out of the model",
                                 diagnostic.hint.empty() ? "" : "; ");
}

std::vector<Diagnostic> Findings::take() {
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    const std::int64_t count = tally_of(severity).left_out;
    if (count == 0) continue;
    const bool one = count == 1;
    all_.push_back(
        {.severity = severity,
         .code = "IR-findings-left-out",
         .where = {.file = all_.empty() ? std::string() : all_.front().where.file},
         .message = fmt::format("{}{} more {}{} found and left out: the limit max_diagnostics is {}",
                                counted_all_ ? "" : "at least ", count, name_of(severity),
                                one ? " was" : "s were", limit_),
         .hint = "mend those that are shown first, or raise the limit",
         .stands_for = static_cast<std::size_t>(count)});
  }
  return std::move(all_);
}

}  // namespace ir::reader
