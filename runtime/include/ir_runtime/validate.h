// Check a model without running it: everything that is wrong or odd, with its place in the file.
#ifndef IR_RUNTIME_VALIDATE_H_
#define IR_RUNTIME_VALIDATE_H_

#include <filesystem>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "ir_runtime/read_model.h"

namespace ir {

struct ValidateOptions {
  /// As for reading. Without a weights file, everything that needs none is checked.
  ReadOptions read;
  /// Notes, too: what is worth knowing of a model without fault.
  bool notes = false;
  /// Warnings count as errors.
  bool strict = false;
};

/// Everything that is found, causes first; what only repeats a finding is among its `consequences`. Throws
/// nothing for whatever is in the files. docs/validation.md lists the checks, docs/diagnostics.md the codes.
std::vector<Diagnostic> validate(const std::filesystem::path& xml, const std::filesystem::path& weights = {},
                                 const ValidateOptions& options = {});

}  // namespace ir

#endif  // IR_RUNTIME_VALIDATE_H_
