// What the tests of the reader share: models as text, and what the reader says of them.
#ifndef TESTS_IR_READER_SUPPORT_H_
#define TESTS_IR_READER_SUPPORT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/read_model.h"
#include "ir_runtime/validate.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace ir::test {

using Lines = std::vector<std::string>;
inline const Lines kNoFindings;

/// model.xml, and model.bin unless `weights` is empty, in a folder of their own.
class ModelFiles {
 public:
  explicit ModelFiles(std::string_view xml, std::string_view weights = {})
      : xml_(folder_.write("model.xml", xml)) {
    if (!weights.empty()) (void)folder_.write("model.bin", weights);
  }
  [[nodiscard]] const std::filesystem::path& xml() const { return xml_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] std::shared_ptr<Model> read(const ReadOptions& options = {}) const {
    return read_model(xml_, {}, options);
  }
  /// Everything that reading finds, as it is printed, with the file's bare name.
  [[nodiscard]] Lines findings(const ReadOptions& options = {}) const {
    return lines_of(read_and_check(xml_, {}, options).diagnostics);
  }
  /// Everything that a validator finds.
  [[nodiscard]] Lines validated(const ValidateOptions& options = {}) const {
    return lines_of(validate(xml_, {}, options));
  }

 private:
  [[nodiscard]] Lines lines_of(const std::vector<Diagnostic>& diagnostics) const {
    Lines lines;
    for (const Diagnostic& diagnostic : diagnostics) lines.push_back(without_folder(to_string(diagnostic)));
    return lines;
  }

  [[nodiscard]] std::string without_folder(std::string text) const {
    const std::string folder = folder_.path().string() + "/";
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder))
      text.erase(at, folder.size());
    return text;
  }

  TemporaryFolder folder_;
  std::filesystem::path xml_;
};

/// What reading finds in a model without weights file.
inline Lines findings(std::string_view xml, const ReadOptions& options = {}) {
  return ModelFiles(xml).findings(options);
}

/// What a validator finds in a model without weights file; without notes, and with them.
inline Lines validated(std::string_view xml) { return ModelFiles(xml).validated(); }
inline Lines validated_with_notes(std::string_view xml) {
  ValidateOptions options;
  options.notes = true;
  return ModelFiles(xml).validated(options);
}

/// `dims` is "1,3" or empty; `attributes` are those of the port behind its id.
inline std::string port(std::string_view id, std::string_view dims,
                        std::string_view attributes = R"(precision="FP32")") {
  std::string text = R"(<port id=")" + std::string(id) + "\" " + std::string(attributes) + ">";
  while (!dims.empty()) {
    const auto comma = dims.find(',');
    text += "<dim>" + std::string(dims.substr(0, comma)) + "</dim>";
    dims.remove_prefix(comma == std::string_view::npos ? dims.size() : comma + 1);
  }
  return text + "</port>";
}

/// One line: a layer with what stands in it.
inline std::string layer(std::string_view id, std::string_view type, std::string_view content,
                         std::string_view version = "opset1") {
  return "<layer id=\"" + std::string(id) + "\" name=\"n" + std::string(id) + "\" type=\"" +
         std::string(type) + "\" version=\"" + std::string(version) + "\">" + std::string(content) +
         "</layer>\n";
}

inline std::string inputs(std::string_view ports) { return "<input>" + std::string(ports) + "</input>"; }
inline std::string outputs(std::string_view ports) { return "<output>" + std::string(ports) + "</output>"; }

/// One line: an f32 parameter with output port 0.
inline std::string parameter(std::string_view id, std::string_view shape) {
  return layer(
      id, "Parameter",
      R"(<data element_type="f32" shape=")" + std::string(shape) + "\"/>" + outputs(port("0", shape)));
}

/// One line: a result with input port 0.
inline std::string result(std::string_view id, std::string_view shape,
                          std::string_view attributes = R"(precision="FP32")") {
  return layer(id, "Result", inputs(port("0", shape, attributes)));
}

/// One line: "0:1 2:3" is an edge from port 1 of layer 0 to port 3 of layer 2.
inline std::string edge(std::string_view ends) {
  const auto colon = ends.find(':');
  const auto blank = ends.find(' ');
  const auto second = ends.find(':', blank);
  const auto quoted = [](std::string_view text) { return "=\"" + std::string(text) + "\""; };
  return "<edge from-layer" + quoted(ends.substr(0, colon)) + " from-port" +
         quoted(ends.substr(colon + 1, blank - colon - 1)) + " to-layer" +
         quoted(ends.substr(blank + 1, second - blank - 1)) + " to-port" + quoted(ends.substr(second + 1)) +
         "/>\n";
}

/// Layers start in line 2.
inline std::string net(std::string_view layers, std::string_view edges, std::string_view version = "11") {
  return "<net name=\"test\" version=\"" + std::string(version) + "\"><layers>\n" + std::string(layers) +
         "</layers><edges>\n" + std::string(edges) + "</edges></net>\n";
}

/// A parameter, one layer with an input port 0 and an output port 1 of the same shape, and a result.
inline std::string chain(std::string_view type, std::string_view data, std::string_view shape,
                         std::string_view version = "opset1") {
  return net(parameter("0", shape) +
                 layer("1", type, std::string(data) + inputs(port("0", shape)) + outputs(port("1", shape)),
                       version) +
                 result("2", shape),
             edge("0:0 1:0") + edge("1:1 2:0"));
}

}  // namespace ir::test

#endif  // TESTS_IR_READER_SUPPORT_H_
