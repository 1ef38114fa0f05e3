// Types, opsets and attributes: near misses are named, quirks of converters are read.
#include <fmt/format.h>

#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/pooling.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::test::chain;
using ir::test::edge;
using ir::test::findings;
using ir::test::inputs;
using ir::test::layer;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::outputs;
using ir::test::parameter;
using ir::test::port;
using ir::test::result;

// An AvgPool over 4x4 whose <data> starts in column 3 of line 5.
std::string pool(const std::string& attributes, const std::string& version = "opset1") {
  return R"(<net name="a" version="11"><layers>
)" + parameter("0", "1,1,4,4") +
         "<layer id=\"1\" name=\"pool\" type=\"AvgPool\" version=\"" + version + R"(">

  <data )" +
         attributes + R"(/>
  <input><port id="0"><dim>1</dim><dim>1</dim><dim>4</dim><dim>4</dim></port></input>
  <output><port id="1" precision="FP32"><dim>1</dim><dim>1</dim><dim>2</dim><dim>2</dim></port></output>
</layer>
)" + result("2", "1,1,2,2") +
         "</layers><edges>\n" + edge("0:0 1:0") + edge("1:1 2:0") + "</edges></net>";
}

const std::string kRest = R"( strides="2,2" pads_begin="0,0" pads_end="0,0" exclude-pad="true")";

TEST_CASE("an unknown operation is reported with the one that was meant") {
  CHECK(findings(chain("Relux", "", "1")) ==
        Lines{"model.xml:3:25: error: layer 'n1' (Relux, id 1): the operation 'Relux' is not known "
              "[IR-operation-unknown]\n  hint: did you mean 'ReLU'?"});
  CHECK(findings(chain("MyOwnOperation", "", "1")) ==
        Lines{"model.xml:3:25: error: layer 'n1' (MyOwnOperation, id 1): the operation 'MyOwnOperation' is "
              "not known "
              "[IR-operation-unknown]"});
}

TEST_CASE("an operation that its opset lacks is reported with the opsets that have it") {
  const auto version = [](const std::string& type, const std::string& opset) {
    return findings(chain(type, "", "1", opset));
  };
  CHECK(version("Mish", "opset3") ==
        Lines{"model.xml:3:37: error: layer 'n1' (Mish, id 1): 'Mish' does not "
              "exist in 'opset3' [IR-opset-unknown]\n"
              "  hint: it exists in opset4 to opset17; write version=\"opset4\""});
  CHECK(version("ReLU", "opset18") ==
        Lines{"model.xml:3:37: error: layer 'n1' (ReLU, id 1): 'ReLU' does not "
              "exist in 'opset18' [IR-opset-unknown]\n"
              "  hint: it exists in opset1 to opset17; write version=\"opset1\""});
  for (const std::string strange :
       {"", "opset", "opset-1", "opset1x", "1", "extension", "opset99999999999"}) {
    CHECK(version("ReLU", strange) ==
          Lines{"model.xml:3:37: error: layer 'n1' (ReLU, id 1): 'ReLU' does not exist in '" + strange +
                "' [IR-opset-unknown]\n  hint: it exists in opset1 to opset17; write version=\"opset1\""});
  }
  CHECK(version("relu", "opset17").empty());
}

TEST_CASE("operations that old converters wrote into the wrong opset are found") {
  CHECK(findings(chain("MVN", R"(<data across_channels="false" normalize_variance="true" eps="1e-9"/>)",
                       "1,2,3,4"))
            .empty());
  const std::string cell = layer(
      "5", "GRUCell",
      R"(<data hidden_size="2" linear_before_reset="false" clip="0"/>)" +
          inputs(port("0", "1,2") + port("1", "1,2") + port("2", "6,2") + port("3", "6,2") + port("4", "6")) +
          outputs(port("5", "1,2")),
      "experimental");
  const std::string parameters = parameter("0", "1,2") + parameter("1", "1,2") + parameter("2", "6,2") +
                                 parameter("3", "6,2") + parameter("4", "6");
  const std::string edges = edge("0:0 5:0") + edge("1:0 5:1") + edge("2:0 5:2") + edge("3:0 5:3") +
                            edge("4:0 5:4") + edge("5:5 6:0");
  CHECK(findings(net(parameters + cell + result("6", "1,2"), edges)).empty());
}

TEST_CASE("types, enumerations, booleans and element types are read in any case") {
  CHECK(findings(chain("RELU", "", "1")).empty());
  CHECK(findings(pool(R"(kernel="2,2" auto_pad="VALID" rounding_type="Floor" strides="2,2" pads_begin="0,0" )"
                      R"(pads_end="0,0" exclude-pad="TRUE")"))
            .empty());
  const std::string in =
      layer("0", "PARAMETER",
            R"(<data element_type="F32" shape="1"/>)" + outputs(port("0", "1", R"(precision="fp32")")));
  CHECK(findings(net(in + layer("1", "result", inputs(port("0", "1"))), edge("0:0 1:0"))).empty());
}

TEST_CASE("lists are read with and without blanks, booleans as words and numbers") {
  for (const std::string kernel : {"2,2", "2, 2", " 2 ,2 "}) {
    const ModelFiles files(pool(fmt::format("kernel=\"{}\"{}", kernel, kRest)));
    const auto model = files.read();
    const auto* op = model->nodes()[1]->op().as<ir::op::v1::AvgPool>();
    REQUIRE(op != nullptr);
    CHECK(op->kernel == std::vector<std::int64_t>{2, 2});
    CHECK(op->exclude_pad);
  }
  const ModelFiles files(
      pool(R"(kernel="2,2" strides="2,2" pads_begin="0,0" pads_end="0,0" exclude-pad="0")"));
  CHECK_FALSE(files.read()->nodes()[1]->op().as<ir::op::v1::AvgPool>()->exclude_pad);
}

TEST_CASE("a missing attribute is reported with what it is for") {
  CHECK(findings(pool("x=\"1\"" + kRest))[0] ==
        "model.xml:5:3: error: layer 'pool' (AvgPool, id 1): the attribute 'kernel' is missing "
        "[IR-attribute-missing]\n  hint: Size of the window.");
  // Without <data> the layer stands for it, and each attribute is missing.
  const Lines found = findings(chain("AvgPool", "", "1,1,4,4"));
  REQUIRE(found.size() == 5);
  CHECK(found[0].starts_with(
      "model.xml:3:1: error: layer 'n1' (AvgPool, id 1): the attribute 'strides' is missing"));
}

TEST_CASE("a malformed or out-of-range attribute is reported with what it takes") {
  const auto kernel = [](const std::string& text) {
    const Lines found = findings(pool("kernel=\"" + text + "\"" + kRest));
    REQUIRE(found.size() == 1);
    return found[0];
  };
  const std::string start = "model.xml:5:9: error: layer 'pool' (AvgPool, id 1): attribute kernel is ";
  const std::string end = "; it takes integers of at least 1, separated by commas [IR-attribute-value]";
  CHECK(kernel("2,x") == start + "\"2,x\", which has entry 2, \"x\", that is not an integer" + end);
  CHECK(kernel("2,,2") == start + "\"2,,2\", which has an empty entry 2" + end);
  CHECK(kernel("0,2") == start + "\"0,2\", which has entry 1, \"0\", that is out of range" + end);
  CHECK(kernel("2,99999999999999999999") == start +
                                                "\"2,99999999999999999999\", which has entry 2, "
                                                "\"99999999999999999999\", that does not fit into 64 "
                                                "bits" +
                                                end);
  CHECK(findings(pool(R"(auto_pad="same" kernel="2,2")" + kRest)) ==
        Lines{"model.xml:5:9: error: layer 'pool' (AvgPool, id 1): attribute auto_pad is \"same\", which is "
              "not one of "
              "its values; it takes one of explicit, same_upper, same_lower, valid [IR-attribute-value]"});
}

TEST_CASE("words that are near to what an attribute or port takes are named") {
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  };
  const auto attribute = [&](const std::string& attributes) {
    return findings(pool(attributes + kRest)).front();
  };
  CHECK(
      ends_with(attribute(R"(kernel="2,2" auto_pad="smae_upper")"), "\n  hint: did you mean 'same_upper'?"));
  CHECK(ends_with(attribute(R"(kernel="2,2" auto_pad="none")"), "[IR-attribute-value]"));
  const auto to = [](const std::string& type) {
    return findings(chain("Convert", "<data destination_type=\"" + type + "\"/>", "1")).front();
  };
  CHECK(ends_with(to("f33"), "\n  hint: did you mean 'f32'?"));
  CHECK(ends_with(to("Float32"), "\n  hint: did you mean 'f32'?"));
  CHECK(ends_with(to("uint8"), "\n  hint: did you mean 'u8'?"));
  CHECK(ends_with(to("number"), "[IR-attribute-value]"));
  // Two neighbours that changed places are one slip.
  CHECK(ends_with(findings(chain("RLeU", "", "1")).front(), "\n  hint: did you mean 'ReLU'?"));
}

TEST_CASE("a misspelt attribute is not followed by what the layer does without it") {
  CHECK(
      findings(
          pool(
              R"(kernel="2,2" rounding_typ="ceil" strides="1,1" pads_begin="0,0" pads_end="0,0" exclude-pad="true")"))
          .size() == 1);
}

TEST_CASE("several wrong attributes of a layer are reported together") {
  CHECK(findings(pool(R"(kernel="a" auto_pad="b" rounding_type="c")" + kRest)).size() == 3);
}

TEST_CASE("a misspelt attribute is an error, one that means nothing here a warning") {
  const ModelFiles misspelt(pool(R"(kernel="2,2" rounding_typ="ceil")" + kRest));
  CHECK(misspelt.findings() == Lines{"model.xml:5:22: error: layer 'pool' (AvgPool, id 1): AvgPool of opset1 "
                                     "has no attribute 'rounding_typ' "
                                     "[IR-attribute-unknown]\n  hint: did you mean 'rounding_type'?"});
  const ModelFiles foreign(pool(R"(kernel="2,2" colour="blue")" + kRest));
  CHECK(foreign.findings() == Lines{"model.xml:5:22: warning: layer 'pool' (AvgPool, id 1): AvgPool of "
                                    "opset1 has no attribute 'colour' "
                                    "[IR-attribute-unknown]\n  hint: it is ignored"});
  CHECK(foreign.read() != nullptr);
}

TEST_CASE("attributes that old converters wrote for nothing are passed over in silence") {
  CHECK(findings(pool(R"(kernel="2,2" pool-method="avg")" + kRest)).empty());
}

TEST_CASE("what inference says of a layer is reported at the layer") {
  CHECK(findings(pool(R"(kernel="2" strides="2,2" pads_begin="0,0" pads_end="0,0" exclude-pad="true")"))[0]
            .starts_with("model.xml:3:1: error: layer 'pool' (AvgPool, id 1): "));
}

}  // namespace
