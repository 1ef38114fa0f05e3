// Models: XML alone, with weights, and run once.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ir_runtime/lint.h"
#include "ir_runtime/read_model.h"
#include "ir_runtime/validate.h"
#include "tests/fuzz/targets.h"
#include "tests/hostile/memory_file.h"
#include "tests/hostile/run_model.h"

namespace ir::fuzz {
namespace {

using hostile::MemoryFile;

// Enough for every honest model of this size.
constexpr std::int64_t kMostKnownBytes = 1 << 16;

ReadOptions small_limits() {
  ReadOptions options;
  options.limits.max_known_bytes = kMostKnownBytes;
  return options;
}

bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  return std::ranges::any_of(diagnostics, [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void require_sound(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics)
    require(!diagnostic.code.empty() && !diagnostic.message.empty() && !to_string(diagnostic).empty());
}

void require_sound(const ReadResult& result) {
  require_sound(result.diagnostics);
  require(has_errors(result.diagnostics) == (result.model == nullptr));
}

}  // namespace

void xml(std::string_view input) {
  const MemoryFile file(input);
  ValidateOptions options;
  options.read = small_limits();
  options.read.without_weights = true;
  options.notes = true;
  require_sound(validate(file.path(), {}, options));
}

void weights(std::string_view input) {
  const Parts parts = split(input);
  const MemoryFile file(parts.first);
  const MemoryFile bin(parts.second);
  require_sound(read_and_check(file.path(), bin.path(), small_limits()));
  require_sound(lint(file.path(), bin.path(), small_limits()));
}

void inference(std::string_view input) {
  const Parts parts = split(input);
  const MemoryFile file(parts.first);
  const MemoryFile bin(parts.second);
  const bool strict = parts.first.size() % 2 == 0;
  (void)hostile::run_model(
      file.path(), bin.path(),
      {.max_bytes = kMostKnownBytes, .shape_check = strict ? ShapeCheck::error : ShapeCheck::warn});
}

}  // namespace ir::fuzz
