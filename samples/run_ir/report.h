// What `run_ir validate` prints: findings as text, JSON or SARIF.
#ifndef SAMPLES_RUN_IR_REPORT_H_
#define SAMPLES_RUN_IR_REPORT_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ir_runtime/diagnostics.h"

namespace run_ir {

/// What was found in one model.
struct FileReport {
  std::string path;
  std::vector<ir::Diagnostic> findings;
};

/// Findings by severity, with those beyond the limit, which were left out; consequences count apart.
struct Counts {
  std::size_t errors = 0;
  std::size_t warnings = 0;
  std::size_t notes = 0;
  std::size_t consequences = 0;
  /// Errors, warnings and notes that are in no list.
  std::size_t left_out = 0;

  Counts& operator+=(const Counts& other);
};
Counts count(std::span<const ir::Diagnostic> findings);

/// Whether a file could not be looked at at all.
bool is_unreadable(const FileReport& report);

struct TextOptions {
  /// List consequences instead of counting them.
  bool all = false;
  /// Errors only, and nothing of a file without any.
  bool quiet = false;
};

/// Each finding with its line of the file and a caret, then a line of counts.
std::string report_text(const FileReport& report, const TextOptions& options);

/// One document as docs/diagnostics.md describes it.
std::string report_json(std::span<const FileReport> reports);

/// A log in SARIF 2.1.0. With `all`, consequences are results of their own.
std::string report_sarif(std::span<const FileReport> reports, bool all);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_REPORT_H_
