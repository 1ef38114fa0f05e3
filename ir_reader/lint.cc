#include "ir_runtime/lint.h"

#include "ir_reader/read_files.h"

namespace ir {

std::vector<Diagnostic> lint(const std::filesystem::path& xml, const std::filesystem::path& weights,
                             const ReadOptions& options) {
  return reader::read_files(xml, weights, options, {.weights_layout = true, .weights_values = true})
      .diagnostics;
}

}  // namespace ir
