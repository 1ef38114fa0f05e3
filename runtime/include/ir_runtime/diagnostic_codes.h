// The stable codes of diagnostics: the one list that the library, its documentation and SARIF reports share.
#ifndef IR_RUNTIME_DIAGNOSTIC_CODES_H_
#define IR_RUNTIME_DIAGNOSTIC_CODES_H_

#include <span>
#include <string>
#include <string_view>

#include "ir_runtime/diagnostics.h"

namespace ir {

/// What a code stands for. Codes are never renamed, and never take another meaning.
struct DiagnosticCode {
  std::string_view code;
  /// The severity that it mostly has.
  Severity severity;
  /// One sentence.
  std::string_view meaning;
  /// A message as the library writes it.
  std::string_view example;
  /// What to do about it.
  std::string_view hint;
};

/// Codes that share a topic.
struct DiagnosticGroup {
  std::string_view title;
  std::span<const DiagnosticCode> codes;
};

std::span<const DiagnosticGroup> diagnostic_groups();

/// The entry of a code; null when there is none.
const DiagnosticCode* find_diagnostic_code(std::string_view code);

/// The tables of docs/diagnostics.md.
std::string diagnostic_codes_markdown();

}  // namespace ir

#endif  // IR_RUNTIME_DIAGNOSTIC_CODES_H_
