// What a validator says of bodies and port maps.
#include "tests/ir_reader/support.h"

namespace {

using ir::test::edge;
using ir::test::findings;
using ir::test::inputs;
using ir::test::layer;
using ir::test::Lines;
using ir::test::net;
using ir::test::outputs;
using ir::test::parameter;
using ir::test::port;
using ir::test::result;
using ir::test::validated;
using ir::test::validated_with_notes;

// Layer 2 is an iterator over [3,2] with a running sum: `map` in lines 5 to 10, layers of the body from line
// 11 on.
std::string iterator(const std::string& map, const std::string& more_layers = {},
                     const std::string& opset = "opset1") {
  const std::string body =
      "<body><layers>\n" + parameter("1", "1,2") + parameter("2", "1,2") +
      layer("7", "Add", inputs(port("0", "1,2") + port("1", "1,2")) + outputs(port("2", "1,2")), opset) +
      result("8", "1,2") + more_layers + "</layers><edges>\n" + edge("1:0 7:0") + edge("2:0 7:1") +
      edge("7:2 8:0") + "</edges></body>\n";
  return net(parameter("0", "3,2") + parameter("1", "1,2") +
                 layer("2", "TensorIterator",
                       inputs(port("0", "3,2") + port("1", "1,2")) +
                           outputs(port("2", "1,2") + port("3", "3,2")) + "\n" + map + body) +
                 result("3", "1,2") + result("4", "3,2"),
             edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("2:3 4:0"));
}

std::string port_map(const std::string& outputs_text, const std::string& back_edges) {
  return R"(<port_map><input external_port_id="0" internal_layer_id="1" axis="0"/>
<input external_port_id="1" internal_layer_id="2"/>
)" + outputs_text +
         "</port_map>\n<back_edges>" + back_edges + "</back_edges>\n";
}

const std::string kOutputs = R"(<output external_port_id="2" internal_layer_id="8"/>
<output external_port_id="3" internal_layer_id="8" axis="0"/>
)";
const std::string kBackEdge = R"(<edge from-layer="8" to-layer="2"/>)";
const std::string kLayer = "layer 'n2' (TensorIterator, id 2): ";

TEST_CASE("a good iterator has nothing to complain of") {
  CHECK(validated(iterator(port_map(kOutputs, kBackEdge))).empty());
}

TEST_CASE("an output of a port map that is no port of the layer is odd") {
  std::string outputs_text = kOutputs;
  outputs_text.replace(outputs_text.find("\"3\""), 3, "\"9\"");
  const std::string text = iterator(port_map(outputs_text, kBackEdge));
  CHECK(validated(text) == Lines{"model.xml:8:9: warning: " + kLayer +
                                 "external_port_id 9 is no output port of the layer [IR-port-map]\n"
                                 "  hint: outputs are numbered by the order of these ids"});
  CHECK(findings(text).empty());
}

TEST_CASE("an output of a port map that stands twice is odd") {
  const std::string again = R"(<output external_port_id="3" internal_layer_id="8"/>
)";
  CHECK(
      validated(iterator(port_map(kOutputs + again, kBackEdge))) ==
      Lines{"model.xml:9:9: warning: " + kLayer +
            "external_port_id 3 stands twice among the outputs [IR-port-map]\n  hint: the first one counts"});
}

TEST_CASE("elements and attributes of port maps and back edges are known") {
  std::string text = iterator(port_map(kOutputs, kBackEdge));
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("</port_map>", "<Output/></port_map>");
  replace("internal_layer_id=\"2\"/>", "internal_layer_id=\"2\" axes=\"0\"/>");
  replace("to-layer=\"2\"/>", "to-layer=\"2\" to_port=\"0\"/>");
  const Lines found = validated(text);
  REQUIRE(found.size() == 3);
  CHECK(
      found[0].find(kLayer + "<port_map> has an element <Output>, which is not read [IR-element-unknown]") !=
      std::string::npos);
  CHECK(found[1].find(kLayer + "<input> has an attribute 'axes', which is not read [IR-attribute-unknown]\n"
                               "  hint: did you mean 'axis'?") != std::string::npos);
  CHECK(found[2].find(kLayer + "<edge> has an attribute 'to_port', which is not read "
                               "[IR-attribute-unknown]\n  hint: did you mean 'to-port'?") !=
        std::string::npos);
}

TEST_CASE("a body may have annotations, as the network may") {
  std::string text = iterator(port_map(kOutputs, kBackEdge));
  const std::string end = "</edges></body>";
  REQUIRE(text.find(end) != std::string::npos);
  text.replace(text.find(end), end.size(), "</edges><rt_info/></body>");
  CHECK(validated(text).empty());
}

TEST_CASE("a parameter of a body takes one back edge") {
  CHECK(validated(iterator(port_map(kOutputs, kBackEdge + kBackEdge))) ==
        Lines{"model.xml:10:48: error: " + kLayer + "two back edges feed the parameter 2 [IR-port-map]"});
}

TEST_CASE("a failure in a body, for the shapes that the layer feeds it, is about no port of the layer") {
  std::string text = iterator(port_map(kOutputs, kBackEdge));
  // The second input of the layer, not of the body.
  for (const auto& [from, to] : {std::pair(parameter("1", "1,2"), parameter("1", "1,3")),
                                 std::pair(port("1", "1,2") + "</input>", port("1", "1,3") + "</input>")}) {
    text.replace(text.find(from), from.size(), to);
  }
  const auto found = ir::read_and_check(ir::test::ModelFiles(text).xml()).diagnostics;
  REQUIRE(found.size() == 1);
  CHECK(found[0].message ==
        "layer 'n7' (Add): input 1 of shape [1,3] does not match [1,2] of the inputs before it: axis 1 would "
        "be 2 and 3");
  CHECK(found[0].layer == ir::LayerReference{"2", "n2", "TensorIterator"});
  CHECK(found[0].found == "[1,3]");
  CHECK(found[0].expected == "[1,2]");
  CHECK(found[0].port == ir::PortReference{});
}

TEST_CASE("bodies are audited, but for parameters that they do not read") {
  const std::string relu = layer(
      "9", "ReLU", inputs(port("0", "1,2")) + outputs(port("1", "1,2", R"(precision="FP32" names=",")")));
  const Lines found = validated(iterator(port_map(kOutputs, kBackEdge), relu));
  // No edge ends at it.
  REQUIRE(found.size() == 2);
  CHECK(
      found[0].find("warning: layer 'n9' (ReLU, id 9): no edge ends at input port 0 [IR-input-unconnected]\n"
                    "  hint: no Result needs the layer, which is left out of the model\n"
                    "  1 more finding follows from this one") != std::string::npos);
  CHECK(found[1].find("warning: layer 'n9' (ReLU, id 9): the names of output port 1 hold an empty name") !=
        std::string::npos);
}

TEST_CASE("the release that a model needs comes from its bodies, too") {
  const Lines found = validated_with_notes(iterator(port_map(kOutputs, kBackEdge), {}, "opset12"));
  REQUIRE(found.size() == 2);
  CHECK(
      found[0].find("layer 'n7' (Add, id 7): the model needs OpenVINO 2023.1 or later, for Add of opset12") !=
      std::string::npos);
  CHECK(found[1].find("layer 'n7' (Add, id 7): Add of opset12 is Add of opset1 [IR-opset-downgrade]") !=
        std::string::npos);
}

}  // namespace
