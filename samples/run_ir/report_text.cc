#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "samples/run_ir/report.h"
#include "samples/run_ir/source_lines.h"

namespace run_ir {
namespace {

std::string counted(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

// The finding in one line, without what stands on lines of its own.
std::string headline(const ir::Diagnostic& finding) {
  return to_string(ir::Diagnostic{.severity = finding.severity,
                                  .code = finding.code,
                                  .where = finding.where,
                                  .layer = finding.layer,
                                  .message = finding.message});
}

class TextReport {
 public:
  TextReport(const FileReport& report, const TextOptions& options)
      : options_(options), path_(report.path), lines_(needs_lines(report) ? report.path : "") {}

  void add(const ir::Diagnostic& finding, const std::string& indent) {
    if (options_.quiet && finding.severity != ir::Severity::error) return;
    text_ += fmt::format("{}{}\n", indent, headline(finding));
    add_excerpt(finding, indent);
    if (!finding.rule.empty() && finding.message.find(finding.rule) == std::string::npos)
      text_ += fmt::format("{}  why: {}\n", indent, ir::printable(finding.rule));
    if (!finding.hint.empty()) text_ += fmt::format("{}  hint: {}\n", indent, ir::printable(finding.hint));
    const std::size_t following = finding.consequences.size() + finding.more_consequences;
    if (following == 0) return;
    const std::string left_out =
        finding.more_consequences == 0 ? "" : fmt::format(", {} of them left out", finding.more_consequences);
    text_ += fmt::format("{}  {} more {} from this one{}{}\n", indent, following,
                         following == 1 ? "finding follows" : "findings follow", left_out,
                         options_.all ? ":" : "");
    if (!options_.all) return;
    for (const ir::Diagnostic& consequence : finding.consequences) add(consequence, indent + "  ");
  }

  void add_counts(const Counts& counts) {
    text_ += fmt::format("{}: {}, {}", path_, counted(counts.errors, "error"),
                         counted(counts.warnings, "warning"));
    if (counts.notes > 0) text_ += fmt::format(", {}", counted(counts.notes, "note"));
    if (counts.left_out > 0) text_ += fmt::format("; {} of them not shown", counts.left_out);
    if (counts.consequences > 0)
      text_ +=
          fmt::format("; {} more {}", counts.consequences, counts.consequences == 1 ? "follows" : "follow");
    text_ += '\n';
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static bool needs_lines(const FileReport& report) { return !report.findings.empty(); }

  void add_excerpt(const ir::Diagnostic& finding, const std::string& indent) {
    if (finding.where.file != path_ || finding.where.line == 0) return;
    const Excerpt shown = excerpt(lines_.line(finding.where.line), finding.where.column);
    if (shown.line.empty()) return;
    text_ += fmt::format("{}{:>6} | {}\n{}{:>6} | {}\n", indent, finding.where.line, shown.line, indent, "",
                         shown.caret);
  }

  TextOptions options_;
  std::string path_;
  SourceLines lines_;
  std::string text_;
};

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  errors += other.errors;
  warnings += other.warnings;
  notes += other.notes;
  consequences += other.consequences;
  left_out += other.left_out;
  return *this;
}

bool is_unreadable(const FileReport& report) {
  return std::ranges::any_of(report.findings, [](const ir::Diagnostic& finding) {
    return finding.code == "IR-file" && finding.severity == ir::Severity::error;
  });
}

Counts count(std::span<const ir::Diagnostic> findings) {
  Counts counts;
  for (const ir::Diagnostic& finding : findings) {
    switch (finding.severity) {
      case ir::Severity::error:
        counts.errors += finding.stands_for;
        break;
      case ir::Severity::warning:
        counts.warnings += finding.stands_for;
        break;
      case ir::Severity::note:
        counts.notes += finding.stands_for;
        break;
    }
    counts.consequences += finding.consequences.size() + finding.more_consequences;
    if (finding.code == "IR-findings-left-out") counts.left_out += finding.stands_for;
  }
  return counts;
}

std::string report_text(const FileReport& report, const TextOptions& options) {
  TextReport text(report, options);
  for (const ir::Diagnostic& finding : report.findings) text.add(finding, "");
  if (!options.quiet) text.add_counts(count(report.findings));
  return text.take();
}

}  // namespace run_ir
