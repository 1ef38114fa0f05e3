// What `run_ir validate` prints.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir_runtime/diagnostic_codes.h"
#include "ir_runtime/validate.h"
#include "runtime/types/printable.h"
#include "samples/run_ir/report.h"
#include "samples/run_ir/source_lines.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace {

using ir::Diagnostic;
using ir::Severity;
using ir::test::TemporaryFolder;
using nlohmann::json;
using run_ir::FileReport;

// Line 4 is wrong: ReLU keeps the shape. Layer 2 follows from that, and nothing reads layer 3.
constexpr std::string_view kBroken = R"(<net name="broken" version="11"><layers>
<layer id="0" name="in" type="Parameter" version="opset1"><data element_type="f32" shape="1,4"/><output><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="first" type="ReLU" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
	<output><port id="1" precision="FP32"><dim>1</dim><dim>5</dim></port></output></layer>
<layer id="2" name="second" type="ReLU" version="opset1"><input><port id="0"><dim>1</dim><dim>4</dim></port></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="3" name="left" type="ReLU" version="opset1"><input><port id="0"><dim>1</dim><dim>4</dim></port></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="4" name="out" type="Result" version="opset1"><input><port id="0"><dim>1</dim><dim>4</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="3" to-port="0"/><edge from-layer="2" from-port="1" to-layer="4" to-port="0"/>
</edges></net>
)";

class BrokenModel {
 public:
  BrokenModel() : path_(folder_.write("model.xml", kBroken).string()) {}
  [[nodiscard]] FileReport report() const { return {path_, ir::validate(path_)}; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// `text` with the bare name of the file.
  [[nodiscard]] std::string bare(std::string text) const {
    const std::string folder = folder_.path().string() + "/";
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder))
      text.erase(at, folder.size());
    return text;
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

TEST_CASE("text shows the line, a caret below the place, and counts what follows") {
  const BrokenModel model;
  CHECK(model.bare(run_ir::report_text(model.report(), {})) ==
        "model.xml:4:52: error: layer 'first' (ReLU, id 1): dim 1 of output port 1 is declared 5, inference "
        "gives 4 "
        "[IR-shape-mismatch]\n"
        "     4 | \t<output><port id=\"1\" "
        "precision=\"FP32\"><dim>1</dim><dim>5</dim></port></output></layer>\n"
        "       | \t                                                  ^\n"
        "  hint: what reads the port declares what inference gives: mend the port\n"
        "  2 more findings follow from this one\n"
        "model.xml:6:1: warning: layer 'left' (ReLU, id 3): nothing reads the layer's outputs "
        "[IR-layer-unused]\n"
        "     6 | <layer id=\"3\" name=\"left\" type=\"ReLU\" version=\"opset1\"><input><port "
        "id=\"0\"><dim>1</dim>"
        "<dim>4</dim></port></input><outpu...\n"
        "       | ^\n"
        "  hint: connect it, or remove it\n"
        "model.xml: 1 error, 1 warning; 2 more follow\n");
}

TEST_CASE("text lists what follows when asked to") {
  const BrokenModel model;
  const std::string text = model.bare(run_ir::report_text(model.report(), {.all = true}));
  CHECK(text.find("  2 more findings follow from this one:\n"
                  "  model.xml:5:90: error: layer 'second' (ReLU, id 2): dim 1 of input port 0 is declared "
                  "4, inference "
                  "gives 5 [IR-shape-mismatch]\n") != std::string::npos);
  CHECK(text.find(
            "  model.xml:5:167: error: layer 'second' (ReLU, id 2): dim 1 of output port 1 is declared 4") !=
        std::string::npos);
}

TEST_CASE("quiet text holds errors only, and nothing of a good file") {
  const BrokenModel model;
  const std::string text = run_ir::report_text(model.report(), {.quiet = true});
  CHECK(text.find("error: ") != std::string::npos);
  CHECK(text.find("warning") == std::string::npos);
  CHECK(run_ir::report_text({"model.xml", {}}, {.quiet = true}).empty());
  CHECK(run_ir::report_text({"model.xml", {}}, {}) == "model.xml: 0 errors, 0 warnings\n");
}

TEST_CASE("a rule that the message does not hold has a line of its own") {
  const FileReport report{"m.xml", {{.code = "IR-x", .message = "wrong", .rule = "because 1 < 2"}}};
  CHECK(run_ir::report_text(report, {}) ==
        "error: wrong [IR-x]\n  why: because 1 < 2\nm.xml: 1 error, 0 warnings\n");
}

TEST_CASE("an excerpt keeps tabs, replaces control characters and cuts long lines") {
  CHECK(run_ir::excerpt("\tab", 3).caret == "\t ^");
  CHECK(run_ir::excerpt("a\x1b[31mb", 7).line == "a?[31mb");
  CHECK(run_ir::excerpt("abc", 99).caret == "   ^");
  CHECK(run_ir::excerpt("\xC3\xA4"
                        "b",
                        3)
            .caret == " ^");
  const std::string line = std::string(200, 'x') + "y" + std::string(200, 'z');
  const run_ir::Excerpt cut = run_ir::excerpt(line, 201);
  CHECK(cut.line == "..." + std::string(40, 'x') + "y" + std::string(79, 'z') + "...");
  CHECK(cut.line[cut.caret.size() - 1] == 'y');
}

TEST_CASE("columns count bytes, and characters for those who want them") {
  const TemporaryFolder folder;
  const run_ir::SourceLines lines(folder.write("a.xml", "one\r\n\xC3\xA4\xC3\xB6 two\n"));
  CHECK(lines.line(1) == "one");
  CHECK(lines.line(2) == "\xC3\xA4\xC3\xB6 two");
  CHECK(lines.line(0).empty());
  CHECK(lines.line(4).empty());
  CHECK(lines.character_column(2, 6) == 4);
  CHECK(run_ir::SourceLines(folder.path()).line(1).empty());
}

TEST_CASE("JSON has one schema, with every key in every finding") {
  const BrokenModel model;
  const json document = json::parse(run_ir::report_json(std::vector<FileReport>{model.report()}));
  CHECK(document["schema"] == "ir_runtime/diagnostics/1");
  CHECK(document["tool"]["name"] == "run_ir");
  CHECK(document["errors"] == 1);
  CHECK(document["warnings"] == 1);
  CHECK(document["notes"] == 0);
  CHECK(document["consequences"] == 2);
  REQUIRE(document["files"].size() == 1);
  const json& file = document["files"][0];
  CHECK(file["path"] == model.path());
  REQUIRE(file["findings"].size() == 2);
  CHECK(file["findings"][0] ==
        json({{"code", "IR-shape-mismatch"},
              {"severity", "error"},
              {"file", model.path()},
              {"line", 4},
              {"column", 52},
              {"layer", {{"id", "1"}, {"name", "first"}, {"type", "ReLU"}}},
              {"port", {{"kind", "output"}, {"id", "1"}}},
              {"message", "dim 1 of output port 1 is declared 5, inference gives 4"},
              {"found", "5"},
              {"expected", "4"},
              {"rule", nullptr},
              {"hint", "what reads the port declares what inference gives: mend the port"},
              {"consequences", file["findings"][0]["consequences"]},
              {"stands_for", 1},
              {"more_consequences", 0}}));
  CHECK(file["findings"][0]["consequences"].size() == 2);
  CHECK(file["findings"][0]["consequences"][0]["consequences"] == json::array());
  CHECK(file["findings"][1]["port"] == nullptr);
  CHECK(file["findings"][1]["hint"] == "connect it, or remove it");
}

TEST_CASE("totals count findings that were left out, too") {
  const FileReport report{"m.xml",
                          {{.code = "IR-edge", .message = "wrong", .more_consequences = 4},
                           {.code = "IR-findings-left-out", .message = "7 more", .stands_for = 7},
                           {.severity = Severity::warning,
                            .code = "IR-findings-left-out",
                            .message = "2 more",
                            .stands_for = 2}}};
  CHECK(run_ir::report_text(report, {.all = true}) ==
        "error: wrong [IR-edge]\n  4 more findings follow from this one, 4 of them left out:\n"
        "error: 7 more [IR-findings-left-out]\nwarning: 2 more [IR-findings-left-out]\n"
        "m.xml: 8 errors, 2 warnings; 9 of them not shown; 4 more follow\n");
  const json document = json::parse(run_ir::report_json(std::vector<FileReport>{report}));
  for (const json& counts : {document, document["files"][0]}) {
    CHECK(counts["errors"] == 8);
    CHECK(counts["warnings"] == 2);
    CHECK(counts["consequences"] == 4);
    CHECK(counts["left_out"] == 9);
  }
  const json log = json::parse(run_ir::report_sarif(std::vector<FileReport>{report}, false));
  const json& results = log["runs"][0]["results"];
  CHECK(results[0]["properties"]["consequences"] == 4);
  CHECK_FALSE(results[0].contains("occurrenceCount"));
  CHECK(results[1]["occurrenceCount"] == 7);
}

TEST_CASE("JSON and SARIF hold texts that are no UTF-8") {
  const std::vector<FileReport> reports{{"m.xml", {{.code = "IR-xml", .message = "bad \xff byte"}}}};
  CHECK(json::parse(run_ir::report_json(reports))["files"][0]["findings"][0]["message"] ==
        "bad \xEF\xBF\xBD byte");
  CHECK_FALSE(json::parse(run_ir::report_sarif(reports, false))["runs"].empty());
}

TEST_CASE("JSON and SARIF are ASCII, so that printing them changes nothing") {
  const std::string odd = "bad \x7f \xC2\x9B \xE2\x80\xAE";  // DEL, CSI, from right to left
  const std::vector<FileReport> reports{{odd, {{.code = "IR-xml", .message = odd}}}};
  for (const std::string& text : {run_ir::report_json(reports), run_ir::report_sarif(reports, false)})
    CHECK(ir::printable_lines(text) == text);
  CHECK(json::parse(run_ir::report_json(reports))["files"][0]["findings"][0]["message"] == odd);
}

TEST_CASE("SARIF has a rule for each code and a result for each finding") {
  const BrokenModel model;
  const std::vector<FileReport> reports{model.report()};
  const json log = json::parse(run_ir::report_sarif(reports, false));
  CHECK(log["version"] == "2.1.0");
  REQUIRE(log["runs"].size() == 1);
  const json& run = log["runs"][0];
  const json& rules = run["tool"]["driver"]["rules"];
  for (const json& rule : rules) CHECK(ir::find_diagnostic_code(rule["id"].get<std::string>()) != nullptr);
  REQUIRE(run["results"].size() == 2);
  const json& result = run["results"][0];
  CHECK(result["ruleId"] == "IR-shape-mismatch");
  CHECK(rules[result["ruleIndex"].get<std::size_t>()]["id"] == "IR-shape-mismatch");
  CHECK(result["level"] == "error");
  CHECK(result["message"]["text"] ==
        "dim 1 of output port 1 is declared 5, inference gives 4 (what reads the port declares what "
        "inference gives: mend the port)");
  const json& place = result["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "file://" + model.path());
  CHECK(place["region"] == json({{"startLine", 4}, {"startColumn", 52}}));
  CHECK(result["locations"][0]["logicalLocations"][0]["name"] == "first");
  CHECK(result["properties"]["port"] == "output 1");
  CHECK(result["properties"]["consequences"] == 2);
  CHECK(run["results"][1]["level"] == "warning");
  CHECK(json::parse(run_ir::report_sarif(reports, true))["runs"][0]["results"].size() == 4);
}

TEST_CASE("SARIF doubles the braces of messages") {
  const std::vector<FileReport> reports{
      {"a.xml", {{.code = "IR-xml", .message = "the layer '{0}' is odd", .hint = "write {}"}}}};
  CHECK(json::parse(run_ir::report_sarif(reports, false))["runs"][0]["results"][0]["message"]["text"] ==
        "the layer '{{0}}' is odd (write {{}})");
}

TEST_CASE("SARIF names files by URIs") {
  const auto uri = [](const std::string& path) {
    const std::vector<FileReport> reports{{path, {{.code = "IR-xml", .message = "bad"}}}};
    return json::parse(run_ir::report_sarif(
        reports,
        false))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        .get<std::string>();
  };
  CHECK(uri("models/a b.xml") == "models/a%20b.xml");
  CHECK(uri("/tmp/x#1.xml") == "file:///tmp/x%231.xml");
}

}  // namespace
