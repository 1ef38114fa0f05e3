// What a validator says of opsets, attributes and spellings.
#include <algorithm>

#include "ir_reader/opset_releases.h"
#include "ir_runtime/op.h"
#include "runtime/ops/fields.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::test::chain;
using ir::test::edge;
using ir::test::inputs;
using ir::test::layer;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::outputs;
using ir::test::parameter;
using ir::test::port;
using ir::test::result;
using ir::test::validated;
using ir::test::validated_with_notes;

const std::string kNeeds2022 =
    "model.xml:1:18: note: the model needs OpenVINO 2022.1 or later, for IR version 11 [IR-opset-release]";

// An AvgPool over 4x4 in line 3.
std::string pool(const std::string& attributes, const std::string& version = "opset1") {
  return net(
      parameter("0", "1,1,4,4") +
          layer("1", "AvgPool",
                "<data " + attributes + "/>" + inputs(port("0", "1,1,4,4")) + outputs(port("1", "1,1,2,2")),
                version) +
          result("2", "1,1,2,2"),
      edge("0:0 1:0") + edge("1:1 2:0"));
}
const std::string kRest = R"( strides="2,2" pads_begin="0,0" pads_end="0,0" exclude-pad="true")";

ir::Diagnostic first_finding(const std::string& text, bool notes = false) {
  ir::ValidateOptions options;
  options.notes = notes;
  const ModelFiles files(text);
  const std::vector<ir::Diagnostic> found = ir::validate(files.xml(), {}, options);
  REQUIRE_FALSE(found.empty());
  return found.front();
}

TEST_CASE("an opset that lacks an operation is reported with the release that brought the operation") {
  const auto first = [](const std::string& type, const std::string& opset) {
    return first_finding(chain(type, "", "1", opset));
  };
  const ir::Diagnostic mish = first("Mish", "opset3");
  CHECK(mish.code == "IR-opset-unknown");
  CHECK(mish.message == "'Mish' does not exist in 'opset3'");
  CHECK(mish.found == "opset3");
  CHECK(mish.expected == "opset4 to opset17");
  CHECK(mish.rule == "Mish came with opset4 (OpenVINO 2021.1)");
  CHECK(mish.hint == "it exists in opset4 to opset17; write version=\"opset4\"");
  // A class that later opsets left as it is has one id.
  CHECK(first("ReLU", "opset18").hint == "it exists in opset1 to opset17; write version=\"opset1\"");
  CHECK(
      first("SoftMax", "opset20").hint ==
      "it exists in opset1 to opset7, opset8 to opset17; write version=\"opset8\", the newest that is known");
  CHECK(first("Identity", "opset15").rule == "Identity came with opset16 (OpenVINO 2026.0)");
  CHECK(first("ErfInv", "opset16").rule == "ErfInv came with opset17 (OpenVINO 2026.2)");
  CHECK(first("ErfInv", "opset16").hint == "it exists in opset17; write version=\"opset17\"");
  // Between two versions that differ, nobody knows which one is meant.
  CHECK(first("LSTMSequence", "opset4").hint == "it exists in opset1 to opset3, opset5 to opset17");
  CHECK(first("Reverse", "opset5").hint == "it exists in opset1; write version=\"opset1\"");
}

TEST_CASE("an operation of an extension is reported as one") {
  CHECK(first_finding(chain("WordpieceTokenizer", "", "1", "extension")).hint ==
        "operations of version 'extension' come from libraries of their own, which cannot be loaded");
}

TEST_CASE("every opset has its release, and IR versions have the last one that read them") {
  CHECK(ir::reader::release_of_opset(1) == "2020.1");
  CHECK(ir::reader::release_of_opset(15) == "2024.5");
  CHECK(ir::reader::release_of_opset(16) == "2026.0");
  CHECK(ir::reader::release_of_opset(ir::kNewestOpset) == "2026.2");
  CHECK(ir::reader::release_of_opset(0).empty());
  CHECK(ir::reader::release_of_opset(ir::kNewestOpset + 1).empty());
  for (int version = 2; version <= 7; ++version) CHECK(ir::reader::last_release_of_ir(version) == "2020.4");
  for (const int version : {-1, 0, 1, 8, 10, 11}) CHECK(ir::reader::last_release_of_ir(version).empty());
}

TEST_CASE("each row on older opsets names classes and an attribute that exist") {
  for (const ir::reader::OpsetDowngrade& row : ir::reader::opset_downgrades()) {
    INFO(row.type << " opset" << row.from);
    const ir::OpClass* from = ir::find_op_class(row.type, row.from);
    const ir::OpClass* to = ir::find_op_class(row.type, row.to);
    REQUIRE(from != nullptr);
    REQUIRE(to != nullptr);
    CHECK(from->info.first_opset == row.from);
    CHECK(to->info.first_opset == row.to);
    CHECK(row.to < row.from);
    const auto field = std::ranges::find(from->fields, row.attribute, &ir::Field::name);
    REQUIRE(field != from->fields.end());
    for (const std::string_view value : row.values) {
      ir::Op op(*from);
      REQUIRE_FALSE(read_field(*field, op.descriptor(), value).has_value());
      CHECK(field_text(*field, op.descriptor()) == value);
    }
  }
}

TEST_CASE("a note names the release that a model needs, and the older opset that would do") {
  CHECK(validated_with_notes(chain("ReLU", "", "1")) == Lines{kNeeds2022});
  CHECK(validated(chain("ReLU", "", "1")).empty());
  CHECK(
      validated_with_notes(pool(R"(kernel="2,2" rounding_type="floor")" + kRest, "opset14")) ==
      Lines{"model.xml:3:40: note: layer 'n1' (AvgPool, id 1): the model needs OpenVINO 2024.0 or later, for "
            "AvgPool of opset14 [IR-opset-release]",
            "model.xml:3:40: note: layer 'n1' (AvgPool, id 1): AvgPool of opset14 with "
            "rounding_type=\"floor\" is "
            "AvgPool of opset1 [IR-opset-downgrade]\n"
            "  hint: version=\"opset1\" without the attribute serves OpenVINO 2020.1 and later"});
  CHECK(validated_with_notes(pool(R"(kernel="2,2" rounding_type="ceil_torch")" + kRest, "opset14")).size() ==
        1);
  // The class is that of opset1, but older readers do not know the opset.
  CHECK(validated_with_notes(chain("ReLU", "", "1", "opset13")) ==
        Lines{"model.xml:3:37: note: layer 'n1' (ReLU, id 1): the model needs OpenVINO 2023.2 or later, for "
              "ReLU of "
              "opset13 [IR-opset-release]",
              "model.xml:3:37: note: layer 'n1' (ReLU, id 1): ReLU of opset13 is ReLU of opset1 "
              "[IR-opset-downgrade]\n"
              "  hint: version=\"opset1\" serves OpenVINO 2020.1 and later"});
}

TEST_CASE("a misspelt attribute is reported once, also when it must be there") {
  const ModelFiles files(pool(R"(kernal="2,2")" + kRest));
  CHECK(files.findings() ==
        Lines{"model.xml:3:63: error: layer 'n1' (AvgPool, id 1): AvgPool of opset1 has no "
              "attribute 'kernal' [IR-attribute-unknown]\n  hint: did you mean 'kernel'?"});
  const ir::Diagnostic found = first_finding(pool(R"(kernal="2,2")" + kRest));
  CHECK(found.found == "kernal");
  CHECK(found.expected == "kernel");
}

TEST_CASE("a wrong value says what was found and what the attribute takes") {
  const ir::Diagnostic found = first_finding(pool(R"(kernel="2,x")" + kRest));
  CHECK(found.code == "IR-attribute-value");
  CHECK(found.found == "2,x");
  CHECK(found.expected == "integers of at least 1, separated by commas");
}

TEST_CASE("attributes that others make void are noted, unless they are neutral") {
  const std::string padded =
      R"(auto_pad="valid" kernel="2,2" strides="2,2" pads_begin="1,1" pads_end="0,0" exclude-pad="true")";
  CHECK(validated_with_notes(pool(padded)) == Lines{"model.xml:3:107: note: layer 'n1' (AvgPool, id 1): "
                                                    "pads_begin is \"1, 1\" and is not read: auto_pad is "
                                                    "valid [IR-attribute-ignored]",
                                                    kNeeds2022});
  CHECK(validated(pool(padded)).empty());
}

TEST_CASE("an order among equal elements that TopK does not sort is noted") {
  const auto top_k = [](const std::string& sort) {
    const std::string k =
        layer("1", "Parameter",
              R"(<data element_type="i64" shape=""/>)" + outputs(port("0", "", R"(precision="I64")")));
    const std::string data =
        R"(<data axis="0" mode="max" sort=")" + sort + R"(" index_element_type="i32" stable="true"/>)";
    const std::string reads = inputs(port("0", "4") + port("1", "", R"(precision="I64")"));
    const std::string gives = outputs(port("2", "-1") + port("3", "-1", R"(precision="I32")"));
    return validated_with_notes(net(parameter("0", "4") + k +
                                        layer("2", "TopK", data + reads + gives, "opset11") +
                                        result("3", "-1") + result("4", "-1", R"(precision="I32")"),
                                    edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("2:3 4:0")));
  };
  const auto ignored = [](const Lines& lines) {
    return std::ranges::count_if(
        lines, [](const std::string& line) { return line.find("[IR-attribute-ignored]") != line.npos; });
  };
  REQUIRE(ignored(top_k("none")) == 1);
  CHECK(ignored(top_k("value")) == 0);
  CHECK(std::ranges::any_of(top_k("none"), [](const std::string& line) {
    return line.find("stable is \"true\" and is not read: sort is none [IR-attribute-ignored]") != line.npos;
  }));
}

TEST_CASE("spellings of other days are noted, and warned of where OpenVINO refuses them") {
  CHECK(validated_with_notes(chain("relu", "", "1")) ==
        Lines{"model.xml:3:25: note: layer 'n1' (relu, id 1): the type is written 'relu' [IR-spelling]\n"
              "  hint: write 'ReLU'",
              kNeeds2022});
  CHECK(validated(chain("relu", "", "1")).empty());
  // OpenVINO looks for these types by their exact spelling.
  CHECK(
      validated(net(parameter("0", "1") + layer("1", "result", inputs(port("0", "1"))), edge("0:0 1:0"))) ==
      Lines{"model.xml:3:25: warning: layer 'n1' (result, id 1): the type is written 'result' [IR-spelling]\n"
            "  hint: write 'Result', the only spelling that OpenVINO takes"});
  // The spelling of ports stands in no attribute.
  const std::string in =
      layer("0", "Parameter",
            R"(<data element_type="FP32" shape="1"/>)" + outputs(port("0", "1", R"(precision="fp32")")));
  CHECK(
      validated_with_notes(net(in + result("1", "1"), edge("0:0 1:0"))) ==
      Lines{"model.xml:2:65: warning: layer 'n0' (Parameter, id 0): attribute element_type is written 'FP32' "
            "[IR-spelling]\n  hint: write 'f32', the only spelling that OpenVINO takes",
            "model.xml:2:117: note: layer 'n0' (Parameter, id 0): the precision of port 0 is written 'fp32' "
            "[IR-spelling]\n  hint: write 'FP32'",
            kNeeds2022});
}

TEST_CASE("aliases of attributes' values are read and noted") {
  const std::string add = layer("2", "Add",
                                R"(<data auto_broadcast="explicit"/>)" +
                                    inputs(port("0", "1") + port("1", "1")) + outputs(port("2", "1")));
  const std::string text = net(parameter("0", "1") + parameter("1", "1") + add + result("3", "1"),
                               edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0"));
  CHECK(validated(text).empty());
  CHECK(validated_with_notes(text) ==
        Lines{"model.xml:4:59: note: layer 'n2' (Add, id 2): attribute auto_broadcast is written 'explicit' "
              "[IR-spelling]\n  hint: write 'none'",
              kNeeds2022});
  // An element type of BIN is u1, and undefined is dynamic.
  const std::string bits =
      layer("0", "Parameter",
            R"(<data element_type="BIN" shape="8"/>)" + outputs(port("0", "8", R"(precision="BIN")")));
  CHECK(
      validated(net(bits + result("1", "8", ""), edge("0:0 1:0"))) ==
      Lines{"model.xml:2:65: warning: layer 'n0' (Parameter, id 0): attribute element_type is written 'BIN' "
            "[IR-spelling]\n  hint: write 'u1', the only spelling that OpenVINO takes"});
  const std::string open = layer("0", "Parameter",
                                 R"(<data element_type="undefined" shape="8"/>)" +
                                     outputs(port("0", "8", R"(precision="UNSPECIFIED")")));
  CHECK(validated_with_notes(net(open + result("1", "8", ""), edge("0:0 1:0")))[0].find(
            "note: layer 'n0' (Parameter, id 0): attribute element_type is written 'undefined' "
            "[IR-spelling]") != std::string::npos);
}

TEST_CASE("one spelling in many layers is one finding") {
  const std::string text =
      net(parameter("0", "1") + layer("1", "relu", inputs(port("0", "1")) + outputs(port("1", "1"))) +
              layer("2", "relu", inputs(port("0", "1")) + outputs(port("1", "1"))) + result("3", "1"),
          edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0"));
  REQUIRE(validated_with_notes(text).size() == 2);
  CHECK(validated_with_notes(text)[0].ends_with("1 more finding follows from this one"));
}

}  // namespace
