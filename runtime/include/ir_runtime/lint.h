// Look into the weights of a model, which validate() leaves alone.
#ifndef IR_RUNTIME_LINT_H_
#define IR_RUNTIME_LINT_H_

#include <filesystem>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "ir_runtime/read_model.h"

namespace ir {

/// What is odd about the constants of a model: places that overlap, bytes that belong to none, the same bytes
/// again, NaN and infinity, numbers that f16 cannot hold, denormal numbers, weights of another model. What
/// keeps the model from being read is found, too; other oddities are left to validate(). Reads the whole
/// weights file, once or a few times. Throws nothing for whatever is in the files.
///
/// Reading a model and writing it (ir_runtime/write_model.h) gives a copy without overlaps, gaps and
/// duplicates.
std::vector<Diagnostic> lint(const std::filesystem::path& xml, const std::filesystem::path& weights = {},
                             const ReadOptions& options = {});

}  // namespace ir

#endif  // IR_RUNTIME_LINT_H_
