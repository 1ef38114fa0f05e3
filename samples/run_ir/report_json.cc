#include "samples/run_ir/json.h"
#include "samples/run_ir/report.h"
#include "samples/run_ir/version.h"

namespace run_ir {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json number_or_null(int number) { return number == 0 ? Json(nullptr) : Json(number); }

Json json_of(const ir::LayerReference& layer) {
  if (layer == ir::LayerReference{}) return nullptr;
  return {{"id", layer.id}, {"name", layer.name}, {"type", layer.type}};
}

Json json_of(const ir::PortReference& port) {
  if (port.kind == ir::PortKind::none) return nullptr;
  return {{"kind", port.kind == ir::PortKind::input ? "input" : "output"}, {"id", port.id}};
}

Json json_of(const ir::Diagnostic& finding) {
  Json consequences = Json::array();
  for (const ir::Diagnostic& consequence : finding.consequences) consequences.push_back(json_of(consequence));
  return {{"code", finding.code},
          {"severity", ir::name_of(finding.severity)},
          {"file", text_or_null(finding.where.file)},
          {"line", number_or_null(finding.where.line)},
          {"column", number_or_null(finding.where.column)},
          {"layer", json_of(finding.layer)},
          {"port", json_of(finding.port)},
          {"message", finding.message},
          {"found", text_or_null(finding.found)},
          {"expected", text_or_null(finding.expected)},
          {"rule", text_or_null(finding.rule)},
          {"hint", text_or_null(finding.hint)},
          {"consequences", std::move(consequences)},
          {"stands_for", finding.stands_for},
          {"more_consequences", finding.more_consequences}};
}

void add_counts(Json& json, const Counts& counts) {
  json["errors"] = counts.errors;
  json["warnings"] = counts.warnings;
  json["notes"] = counts.notes;
  json["consequences"] = counts.consequences;
  json["left_out"] = counts.left_out;
}

}  // namespace

std::string report_json(std::span<const FileReport> reports) {
  Json files = Json::array();
  Counts total;
  for (const FileReport& report : reports) {
    const Counts counts = count(report.findings);
    total += counts;
    Json file{{"path", report.path}};
    add_counts(file, counts);
    Json findings = Json::array();
    for (const ir::Diagnostic& finding : report.findings) findings.push_back(json_of(finding));
    file["findings"] = std::move(findings);
    files.push_back(std::move(file));
  }
  Json document{{"schema", "ir_runtime/diagnostics/1"},
                {"tool", {{"name", "run_ir"}, {"version", kVersion}}}};
  add_counts(document, total);
  document["files"] = std::move(files);
  // Names in a file may be no UTF-8.
  return text_of(document, 2) + "\n";
}

}  // namespace run_ir
