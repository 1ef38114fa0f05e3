#include "ir_runtime/validate.h"

#include "ir_reader/read_files.h"
#include "ir_reader/regular_file.h"
#include "ir_reader/weights.h"
#include "runtime/types/exhaustion.h"

namespace ir {
namespace {

void make_warnings_errors(std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::warning) diagnostic.severity = Severity::error;
    make_warnings_errors(diagnostic.consequences);
  }
}

}  // namespace

std::vector<Diagnostic> validate(const std::filesystem::path& xml, const std::filesystem::path& weights,
                                 const ValidateOptions& options) {
  try {
    return reporting_exhaustion("the model was validated", [&] {
      ReadOptions read = options.read;
      if (weights.empty() && !reader::is_there(reader::weights_file_of(xml))) read.without_weights = true;
      std::vector<Diagnostic> diagnostics =
          reader::read_files(xml, weights, read,
                             {.audit = true, .notes = options.notes, .weights_layout = true})
              .diagnostics;
      if (options.strict) make_warnings_errors(diagnostics);
      return diagnostics;
    });
  } catch (const Error& error) {
    return error.diagnostics();
  }
}

}  // namespace ir
