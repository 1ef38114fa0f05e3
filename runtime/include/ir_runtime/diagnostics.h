// What is wrong with a model, a weight file or a call, where, and what would be right.
#ifndef IR_RUNTIME_DIAGNOSTICS_H_
#define IR_RUNTIME_DIAGNOSTICS_H_

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ir {

enum class Severity { note, warning, error };

/// A place in a model file; lines and columns count from 1, 0 means unknown. Columns count bytes.
struct SourceLocation {
  std::string file = {};
  int line = 0;
  int column = 0;

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

/// The layer that a diagnostic is about; empty strings when it is about none.
struct LayerReference {
  std::string id = {};
  std::string name = {};
  std::string type = {};

  friend bool operator==(const LayerReference&, const LayerReference&) = default;
};

enum class PortKind { none, input, output };

/// The port of the layer that a diagnostic is about. `id` is the label that the file gives it.
struct PortReference {
  PortKind kind = PortKind::none;
  std::string id = {};

  PortReference() = default;
  PortReference(PortKind kind_of_port, std::string label) : kind(kind_of_port), id(std::move(label)) {}

  friend bool operator==(const PortReference&, const PortReference&) = default;
};

/// One finding. `message` is complete by itself; `found`, `expected` and `rule` repeat parts of it for
/// programs.
struct Diagnostic {
  Severity severity = Severity::error;
  /// Stable: one of `diagnostic_groups()` (ir_runtime/diagnostic_codes.h), "IR-shape-mismatch".
  std::string code = {};
  SourceLocation where = {};
  LayerReference layer = {};
  /// With the offending numbers.
  std::string message = {};
  /// What to do about it; empty when that is not known.
  std::string hint = {};
  PortReference port = {};
  /// What the file has: "16".
  std::string found = {};
  /// What would be right: "15".
  std::string expected = {};
  /// Why, with the numbers of the model put in: "floor((32 + 1 + 1 - 5) / 2) + 1 = 15".
  std::string rule = {};
  /// Findings that only repeat this one further on in the model.
  std::vector<Diagnostic> consequences = {};
  /// How many findings this one is: more than one for those beyond a limit, which are only counted
  /// (IR-findings-left-out).
  std::size_t stands_for = 1;
  /// Consequences beyond a limit, which are only counted.
  std::size_t more_consequences = 0;
};

/// "error", "warning" or "note".
std::string_view name_of(Severity severity);

/// "model.xml:12:5: error: layer 'conv1' (Convolution, id 3): ... [IR-code]", then the hint and the number of
/// consequences on lines of their own. Control characters of the file are escaped ("\x1b").
std::string to_string(const Diagnostic& diagnostic);

/// `text` for one line of a terminal or a log: control characters (line breaks too), bytes that are no UTF-8
/// and characters that change the direction of the text around them are spelt out ("\x1b", "\xff", "\u202e").
std::string printable(std::string_view text);

/// The only exception of this library. Holds at least one diagnostic of severity error.
class Error : public std::runtime_error {
 public:
  explicit Error(std::vector<Diagnostic> diagnostics);
  /// One error without a place in a file.
  Error(std::string code, std::string message, std::string hint = {});

  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// Code of the first error.
  [[nodiscard]] const std::string& code() const;

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace ir

#endif  // IR_RUNTIME_DIAGNOSTICS_H_
