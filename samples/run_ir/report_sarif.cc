#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "ir_runtime/diagnostic_codes.h"
#include "samples/run_ir/json.h"
#include "samples/run_ir/report.h"
#include "samples/run_ir/source_lines.h"
#include "samples/run_ir/version.h"

namespace run_ir {
namespace {

// A relative or file: URI of RFC 3986.
std::string uri_of(const std::string& path) {
  std::string uri = std::filesystem::path(path).is_absolute() ? "file://" : "";
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

// Braces stand for arguments in messages of SARIF; doubled, they are themselves.
std::string message_text(const ir::Diagnostic& finding) {
  std::string text;
  for (const char c : finding.message + (finding.hint.empty() ? "" : fmt::format(" ({})", finding.hint))) {
    text += c;
    if (c == '{' || c == '}') text += c;
  }
  return text;
}

// Every code is a rule, so that the index of a code is the same in every log.
Json rules() {
  Json list = Json::array();
  for (const ir::DiagnosticGroup& group : ir::diagnostic_groups()) {
    for (const ir::DiagnosticCode& code : group.codes) {
      list.push_back({{"id", code.code},
                      {"shortDescription", {{"text", code.meaning}}},
                      {"help", {{"text", code.hint}}},
                      {"defaultConfiguration", {{"level", ir::name_of(code.severity)}}},
                      {"properties", {{"tags", {group.title}}}}});
    }
  }
  return list;
}

std::size_t rule_index(const std::string& code, bool& known) {
  std::size_t index = 0;
  for (const ir::DiagnosticGroup& group : ir::diagnostic_groups()) {
    for (const ir::DiagnosticCode& rule : group.codes) {
      if (rule.code == code) {
        known = true;
        return index;
      }
      ++index;
    }
  }
  known = false;
  return index;
}

class SarifResults {
 public:
  explicit SarifResults(bool all) : all_(all) {}

  void add(const FileReport& report) {
    const SourceLines lines(report.findings.empty() ? std::string() : report.path);
    for (const ir::Diagnostic& finding : report.findings) add(report, lines, finding);
  }

  [[nodiscard]] Json take() { return std::move(results_); }

 private:
  void add(const FileReport& report, const SourceLines& lines, const ir::Diagnostic& finding) {
    Json result{{"ruleId", finding.code}};
    bool known = false;
    const std::size_t index = rule_index(finding.code, known);
    if (known) result["ruleIndex"] = index;
    // The names of severities are those of SARIF's levels.
    result["level"] = ir::name_of(finding.severity);
    if (finding.stands_for > 1) result["occurrenceCount"] = finding.stands_for;
    result["message"] = {{"text", message_text(finding)}};
    result["locations"] = Json::array({location_of(report, lines, finding)});
    result["properties"] = properties_of(finding);
    results_.push_back(std::move(result));
    if (!all_) return;
    for (const ir::Diagnostic& consequence : finding.consequences) add(report, lines, consequence);
  }

  static Json location_of(const FileReport& report, const SourceLines& lines, const ir::Diagnostic& finding) {
    const std::string& file = finding.where.file.empty() ? report.path : finding.where.file;
    Json physical{{"artifactLocation", {{"uri", uri_of(file)}}}};
    if (finding.where.line > 0) {
      Json region{{"startLine", finding.where.line}};
      if (finding.where.column > 0)
        region["startColumn"] = lines.character_column(finding.where.line, finding.where.column);
      physical["region"] = std::move(region);
    }
    Json location{{"physicalLocation", std::move(physical)}};
    if (!finding.layer.name.empty())
      location["logicalLocations"] = Json::array({{{"name", finding.layer.name}, {"kind", "layer"}}});
    return location;
  }

  static Json properties_of(const ir::Diagnostic& finding) {
    Json properties = Json::object();
    const auto put = [&](const char* key, const std::string& text) {
      if (!text.empty()) properties[key] = text;
    };
    put("layerId", finding.layer.id);
    put("layerType", finding.layer.type);
    if (finding.port.kind != ir::PortKind::none)
      properties["port"] = fmt::format("{} {}", finding.port.kind == ir::PortKind::input ? "input" : "output",
                                       finding.port.id);
    put("found", finding.found);
    put("expected", finding.expected);
    put("rule", finding.rule);
    properties["consequences"] = finding.consequences.size() + finding.more_consequences;
    return properties;
  }

  bool all_;
  Json results_ = Json::array();
};

}  // namespace

std::string report_sarif(std::span<const FileReport> reports, bool all) {
  SarifResults results(all);
  for (const FileReport& report : reports) results.add(report);
  const Json driver{
      {"name", "run_ir"}, {"version", kVersion}, {"semanticVersion", kVersion}, {"rules", rules()}};
  const Json run{{"tool", {{"driver", driver}}},
                 {"columnKind", "unicodeCodePoints"},
                 {"invocations", Json::array({{{"executionSuccessful", true}}})},
                 {"results", results.take()}};
  const Json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"version", "2.1.0"},
                 {"runs", Json::array({run})}};
  return text_of(log, 2) + "\n";
}

}  // namespace run_ir
