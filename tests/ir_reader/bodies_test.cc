// Port maps of TensorIterator, Loop and If.
#include <algorithm>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/ops/control_flow.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::test::edge;
using ir::test::findings;
using ir::test::inputs;
using ir::test::kNoFindings;
using ir::test::layer;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::outputs;
using ir::test::parameter;
using ir::test::port;
using ir::test::result;

std::string body(const std::string& layers, const std::string& edges, const std::string& name = "body") {
  return "<" + name + "><layers>\n" + layers + "</layers><edges>\n" + edges + "</edges></" + name + ">\n";
}

// Adds what comes in (sliced, layer 1) to what goes round (layer 2): a running sum along axis 0.
const std::string kSumBody =
    body(parameter("1", "1,2") + parameter("2", "1,2") +
             layer("7", "Add", inputs(port("0", "1,2") + port("1", "1,2")) + outputs(port("2", "1,2"))) +
             result("8", "1,2"),
         edge("1:0 7:0") + edge("2:0 7:1") + edge("7:2 8:0"));

const std::string kSumMap =
    R"(<port_map>
<input external_port_id="0" internal_layer_id="1" axis="0"/>
<input external_port_id="1" internal_layer_id="2"/>
<output external_port_id="2" internal_layer_id="8"/>
<output external_port_id="3" internal_layer_id="8" axis="0"/>
</port_map>
<back_edges><edge from-layer="8" to-layer="2"/></back_edges>
)";

// Layer 2 is the iterator over [3,2]; its outputs are the last sum and all sums.
std::string iterator(const std::string& map_and_body) {
  return net(parameter("0", "3,2") + parameter("1", "1,2") +
                 layer("2", "TensorIterator",
                       inputs(port("0", "3,2") + port("1", "1,2")) +
                           outputs(port("2", "1,2") + port("3", "3,2")) + "\n" + map_and_body) +
                 result("3", "1,2") + result("4", "3,2"),
             edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("2:3 4:0"));
}

std::vector<float> floats(const ir::Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

TEST_CASE("a TensorIterator runs its body once per slice") {
  const ModelFiles files(iterator(kSumMap + kSumBody));
  CHECK(files.findings() == kNoFindings);
  ir::InferRequest request = ir::compile_model(*files.read()).create_infer_request();
  request.set_input_tensor(0, ir::Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  request.set_input_tensor(1, ir::Tensor::of<float>({1, 2}, {10, 20}));
  request.infer();
  CHECK(floats(request.output_tensor(0)) == std::vector<float>{19, 32});
  CHECK(floats(request.output_tensor(1)) == std::vector<float>{11, 22, 14, 26, 19, 32});
}

TEST_CASE("outputs of a port map are numbered by rank, from zero or on from the inputs") {
  std::string from_zero = kSumMap;
  from_zero.replace(from_zero.find("external_port_id=\"3\""), 20, "external_port_id=\"1\"");
  from_zero.replace(from_zero.find("<output external_port_id=\"2\""), 28, "<output external_port_id=\"0\"");
  const auto model = ModelFiles(iterator(from_zero + kSumBody)).read();
  const auto* op = model->nodes()[2]->op().as<ir::op::v0::TensorIterator>();
  REQUIRE(op != nullptr);
  REQUIRE(op->body.outputs.size() == 2);
  CHECK(op->body.outputs[0].outer == 0);
  CHECK_FALSE(op->body.outputs[0].slicing.has_value());
  CHECK(op->body.outputs[1].outer == 1);
  CHECK(op->body.outputs[1].slicing.has_value());
}

// The findings of an iterator whose port map has `from` replaced by `to`.
Lines broken(const std::string& from, const std::string& to) {
  std::string map = kSumMap;
  REQUIRE(map.find(from) != std::string::npos);
  map.replace(map.find(from), from.size(), to);
  Lines found = findings(iterator(map + kSumBody));
  // Behind the cause come no consequences.
  CHECK(found.size() == 1);
  return found;
}

TEST_CASE("entries of a port map that name nothing are reported where they stand") {
  const std::string layer_text = "error: layer 'n2' (TensorIterator, id 2): ";
  CHECK(broken("internal_layer_id=\"8\"/>", "internal_layer_id=\"1\"/>")[0] ==
        "model.xml:8:1: " + layer_text +
            "'internal_layer_id' names layer 1, which is no Result of the body [IR-port-map]");
  CHECK(broken("from-layer=\"8\"", "from-layer=\"9\"")[0] ==
        "model.xml:11:13: " + layer_text +
            "'from-layer' names layer 9, which is no Result of the body [IR-port-map]");
  CHECK(broken("to-layer=\"2\"", "to-layer=\"7\"")[0] ==
        "model.xml:11:13: " + layer_text +
            "'to-layer' names layer 7, which is no Parameter of the body [IR-port-map]");
  CHECK(broken("axis=\"0\"/>", "axis=\"x\"/>")[0] ==
        "model.xml:6:1: " + layer_text +
            "attribute 'axis' holds 'x', which is no integer [IR-attribute-value]");
  CHECK(broken("<input external_port_id=\"1\" ", "<input ")[0] ==
        "model.xml:7:1: " + layer_text +
            "<input> has no attribute 'external_port_id' [IR-attribute-missing]");
  CHECK(broken("external_port_id=\"1\"", "external_port_id=\"5\"")[0] ==
        "model.xml:7:1: " + layer_text +
            "external_port_id 5 is no input of the layer, which has 2 [IR-port-map]");
}

TEST_CASE("every parameter of a body is fed, once") {
  const Lines twice = findings(iterator(
      R"(<port_map><input external_port_id="0" internal_layer_id="1"/><input external_port_id="1" internal_layer_id="1"/>)"
      R"(<output external_port_id="2" internal_layer_id="8"/></port_map>)" +
      kSumBody));
  REQUIRE(twice.size() == 2);
  CHECK(twice[0].find("the body parameter 1 is mapped twice [IR-port-map]") != std::string::npos);
  CHECK(twice[1].find("the body parameter 2 is not mapped to any input [IR-port-map]") != std::string::npos);
  CHECK(findings(iterator(kSumBody))[0].find("is not mapped to any input") != std::string::npos);
}

TEST_CASE("slices that do not fit are reported at the layer") {
  const auto first = [](const std::string& slicing) {
    std::string map = kSumMap;
    map.replace(map.find("axis=\"0\"/>"), 10, slicing + "/>");
    const Lines found = findings(iterator(map + kSumBody));
    REQUIRE_FALSE(found.empty());
    return found[0];
  };
  CHECK(first("axis=\"2\"").find("[IR-axis]") != std::string::npos);
  CHECK(first("axis=\"0\" part_size=\"0\"").find("part_size is 0 [IR-port-map]") != std::string::npos);
  CHECK(first("axis=\"0\" part_size=\"2\" stride=\"1\"").find("stride 1 does not match part_size 2") !=
        std::string::npos);
  CHECK(first("axis=\"0\" start=\"9223372036854775807\"").find("out of range") != std::string::npos);
  CHECK(first("axis=\"0\" end=\"-9223372036854775808\"").find("out of range") != std::string::npos);
}

TEST_CASE("a missing body and an error inside of a body are reported") {
  CHECK(
      findings(iterator(kSumMap)) ==
      Lines{
          "model.xml:4:1: error: layer 'n2' (TensorIterator, id 2): the layer has no <body> [IR-structure]"});
  std::string wrong = kSumBody;
  wrong.replace(wrong.find("\"Add\""), 5, "\"Addd\"");
  const Lines found = findings(iterator(kSumMap + wrong));
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("layer 'n7' (Addd, id 7): the operation 'Addd' is not known") != std::string::npos);
}

TEST_CASE("a declared dim in a body only warns, since converters leave old ones there") {
  std::string stale = kSumBody;
  const auto at = stale.find("<dim>2</dim></port></output></layer>\n<layer id=\"8\"");
  REQUIRE(at != std::string::npos);
  stale.replace(at, 12, "<dim>5</dim>");
  const ModelFiles files(iterator(kSumMap + stale));
  const Lines found = files.findings();
  REQUIRE_FALSE(found.empty());
  CHECK(std::ranges::all_of(
      found, [](const std::string& line) { return line.find(" warning: ") != std::string::npos; }));
  CHECK(files.read() != nullptr);
}

// An If that gives its input or the negative of it; `first_output` numbers the outputs of both port maps.
std::string branches(const std::string& first_output, const std::string& attributes = "") {
  const auto map = [&](const std::string& name) {
    return "<" + name + R"(><input external_port_id="1" internal_layer_id="0"/><output external_port_id=")" +
           first_output + R"(" internal_layer_id="2"/></)" + name + ">\n";
  };
  const auto unary = [](const std::string& type, const std::string& name) {
    return body(parameter("0", "2") + layer("1", type, inputs(port("0", "2")) + outputs(port("1", "2"))) +
                    result("2", "2"),
                edge("0:0 1:0") + edge("1:1 2:0"), name);
  };
  return net(
      layer("0", "Parameter",
            R"(<data element_type="boolean" shape=""/>)" + outputs(port("0", "", R"(precision="BOOL")"))) +
          parameter("1", "2") +
          layer("2", "If",
                inputs(port("0", "", "") + port("1", "2", "")) + outputs(port("2", "2")) + "\n" +
                    map("then_port_map") + map("else_port_map") + unary("ReLU", "then_body") +
                    unary("Negative", "else_body") + attributes,
                "opset8") +
          result("3", "2"),
      edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0"));
}

TEST_CASE("an If runs the branch that its input says, with outputs counted either way") {
  for (const std::string first_output : {"0", "2"}) {
    const ModelFiles files(branches(first_output));
    CHECK(files.findings() == kNoFindings);
    ir::InferRequest request = ir::compile_model(*files.read()).create_infer_request();
    request.set_input_tensor(1, ir::Tensor::of<float>({2}, {-1, 2}));
    request.set_input_tensor(0, ir::Tensor::of<bool>({}, {true}));
    request.infer();
    CHECK(floats(request.output_tensor(0)) == std::vector<float>{0, 2});
    request.set_input_tensor(0, ir::Tensor::of<bool>({}, {false}));
    request.infer();
    CHECK(floats(request.output_tensor(0)) == std::vector<float>{1, -2});
  }
}

TEST_CASE("only a Loop has a number of the iteration") {
  std::string text = branches("0");
  text.replace(text.find("external_port_id=\"1\""), 20, "external_port_id=\"-1\"");
  CHECK_FALSE(findings(text).empty());
}

TEST_CASE("an output that one branch of an If leaves out is reported, as others would move up") {
  std::string text = branches("2");
  const std::string more = R"(<output external_port_id="3" internal_layer_id="2"/>)";
  const std::string layer_text = "error: layer 'n2' (If, id 2): ";
  text.replace(text.find("</output>\n<then"), 9, port("3", "2") + "</output>");
  const std::string without = text;
  text.insert(text.find("</else_port_map>"), more);
  CHECK(findings(text) == Lines{"model.xml:5:1: " + layer_text +
                                "<then_port_map> has no <output> with external_port_id 3, which "
                                "<else_port_map> has [IR-port-map]\n"
                                "  hint: both branches give all outputs of the layer"});
  text.insert(text.find("</then_port_map>"), more);
  CHECK(findings(text).empty());
  text.erase(text.find("<output external_port_id=\"2\""), 50);
  CHECK(findings(text) == Lines{"model.xml:5:1: " + layer_text +
                                "<then_port_map> has no <output> with external_port_id 2, which "
                                "<else_port_map> has [IR-port-map]\n"
                                "  hint: both branches give all outputs of the layer"});
  const Lines both = findings(without);
  REQUIRE(both.size() == 1);
  CHECK(both[0].find("2 output ports are declared, If gives 1 [IR-output-count]") != std::string::npos);
}

TEST_CASE("bodies nest as deep as the limit says") {
  const std::string map = R"(<port_map><input external_port_id="0" internal_layer_id="0" axis="0"/>)"
                          R"(<output external_port_id="1" internal_layer_id="2" axis="0"/></port_map>)";
  const auto nested = [&](const std::string& content) {
    return parameter("0", "1") +
           layer("1", "TensorIterator", inputs(port("0", "1")) + outputs(port("1", "1")) + map + content) +
           result("2", "1");
  };
  const std::string edges = edge("0:0 1:0") + edge("1:1 2:0");
  std::string inner = body(parameter("0", "1") + result("2", "1"), edge("0:0 2:0"));
  inner = body(nested(inner), edges);
  const std::string text = net(nested(inner), edges);
  CHECK(findings(text) == kNoFindings);
  ir::ReadOptions options;
  options.limits.max_body_depth = 2;
  CHECK(findings(text, options).empty());
  options.limits.max_body_depth = 1;
  const Lines found = findings(text, options);
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("bodies are nested deeper than the limit max_body_depth of 1 [IR-limit]") !=
        std::string::npos);
}

TEST_CASE("bodies nest 64 deep by default, as OpenVINO reads them at least") {
  const std::string map = R"(<port_map><input external_port_id="0" internal_layer_id="0" axis="0"/>)"
                          R"(<output external_port_id="1" internal_layer_id="2" axis="0"/></port_map>)";
  const std::string edges = edge("0:0 1:0") + edge("1:1 2:0");
  const auto deep = [&](int depth) {
    std::string text = body(parameter("0", "1") + result("2", "1"), edge("0:0 2:0"));
    const std::string ports_and_map = inputs(port("0", "1")) + outputs(port("1", "1")) + map;
    for (int i = 1; i < depth; ++i) {
      std::string layers = parameter("0", "1");
      layers += layer("1", "TensorIterator", ports_and_map + text);
      layers += result("2", "1");
      text = body(layers, edges);
    }
    return net(
        parameter("0", "1") +
            layer("1", "TensorIterator", inputs(port("0", "1")) + outputs(port("1", "1")) + map + text) +
            result("2", "1"),
        edges);
  };
  CHECK(findings(deep(64)) == kNoFindings);
  CHECK(findings(deep(65)).size() == 1);
}

TEST_CASE("slices come before a back edge") {
  const std::string map = R"(<port_map><input external_port_id="0" internal_layer_id="0" axis="0"/>)"
                          R"(<output external_port_id="1" internal_layer_id="2" axis="0"/></port_map>
<back_edges><edge from-layer="2" to-layer="0"/></back_edges>)";
  const std::string text = net(parameter("0", "3") +
                                   layer("1", "TensorIterator",
                                         inputs(port("0", "3")) + outputs(port("1", "3")) + map +
                                             body(parameter("0", "1") + result("2", "1"), edge("0:0 2:0"))) +
                                   result("2", "3"),
                               edge("0:0 1:0") + edge("1:1 2:0"));
  CHECK(findings(text) ==
        Lines{"model.xml:4:34: warning: layer 'n1' (TensorIterator, id 1): the back edge feeds the parameter "
              "0, which takes slices of an input [IR-port-map]\n  hint: the back edge is not read"});
  const auto model = ModelFiles(text).read();
  CHECK(model->outputs()[0].shape == ir::PartialShape{3});
}

}  // namespace
