// Port maps of Loop: what the purpose of an entry makes of it.
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
using ir::test::validated;

std::vector<float> floats(const ir::Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

// Layer 4 is a Loop over [2] whose body doubles its value (0) and wants no second iteration: its condition
// (5) is the opposite of what goes in (3). Input 0 is the trip count, input 1 the first condition. The lines
// of `entries` begin with line 6, the port map stands in line 5.
std::string loop(const std::string& entries, const std::string& more_outputs = {}) {
  const std::string boolean = R"(precision="BOOL")";
  const std::string condition =
      layer("3", "Parameter", R"(<data element_type="boolean" shape=""/>)" + outputs(port("0", "", boolean)));
  const std::string integer =
      layer("1", "Parameter",
            R"(<data element_type="i64" shape=""/>)" + outputs(port("0", "", R"(precision="I64")")));
  const std::string body =
      "<body><layers>\n" + parameter("0", "2") + integer +
      layer("2", "Add", inputs(port("0", "2") + port("1", "2")) + outputs(port("2", "2"))) + condition +
      layer("6", "LogicalNot", inputs(port("0", "", boolean)) + outputs(port("1", "", boolean))) +
      result("4", "2") + layer("5", "Result", inputs(port("0", "", boolean))) + "</layers><edges>\n" +
      edge("0:0 2:0") + edge("0:0 2:1") + edge("2:2 4:0") + edge("3:0 6:0") + edge("6:1 5:0") +
      "</edges></body>\n";
  return net(
      integer + condition + parameter("2", "2") +
          layer("4", "Loop",
                inputs(port("0", "", "") + port("1", "", "") + port("2", "2", "")) +
                    outputs(port("3", "2") + more_outputs) + "\n<port_map>\n" + entries +
                    "</port_map><back_edges><edge from-layer=\"4\" to-layer=\"0\"/></back_edges>\n" + body,
                "opset5") +
          result("5", "2"),
      edge("1:0 4:0") + edge("3:0 4:1") + edge("2:0 4:2") + edge("4:3 5:0"));
}

const std::string kValue = R"(<input external_port_id="2" internal_layer_id="0"/>
<input external_port_id="1" internal_layer_id="3"/>
<output external_port_id="3" internal_layer_id="4"/>
)";
const std::string kIteration =
    "<input external_port_id=\"-1\" internal_layer_id=\"1\" purpose=\"current_iteration\"/>\n";
const std::string kCondition =
    "<output external_port_id=\"-1\" internal_layer_id=\"5\" purpose=\"execution_condition\"/>\n";

std::vector<float> after_three_trips(const ir::Model& model) {
  ir::InferRequest request = ir::compile_model(model).create_infer_request();
  request.set_input_tensor(0, ir::Tensor::of<std::int64_t>({}, {3}));
  request.set_input_tensor(1, ir::Tensor::of<bool>({}, {true}));
  request.set_input_tensor(2, ir::Tensor::of<float>({2}, {1, 2}));
  request.infer();
  return floats(request.output_tensor(0));
}

const ir::Subgraph& body_of(const ir::Model& model) {
  const auto* op = model.nodes()[3]->op().as<ir::op::v5::Loop>();
  REQUIRE(op != nullptr);
  return op->body;
}

TEST_CASE("a Loop knows its iteration and its condition by their purpose") {
  const ModelFiles files(loop(kValue + kIteration + kCondition));
  CHECK(files.validated() == kNoFindings);
  const auto model = files.read();
  REQUIRE(body_of(*model).outputs.size() == 2);
  CHECK(body_of(*model).outputs[0].outer == -1);
  CHECK(body_of(*model).outputs[1].outer == 0);
  CHECK(body_of(*model).inputs[2].outer == -1);
  CHECK(after_three_trips(*model) == std::vector<float>{2, 4});
}

TEST_CASE("a Loop's iteration and condition may have ids of ports, and are outputs then, too") {
  const ModelFiles files(loop(
      kValue + R"(<input external_port_id="0" internal_layer_id="1" purpose="current_iteration" axis="0"/>
<output external_port_id="4" internal_layer_id="5" purpose="execution_condition"/>
)",
      port("4", "", R"(precision="BOOL")")));
  CHECK(files.validated() == kNoFindings);
  const auto model = files.read();
  REQUIRE(body_of(*model).outputs.size() == 3);
  CHECK(body_of(*model).outputs[0].outer == -1);
  CHECK(body_of(*model).outputs[0].result == body_of(*model).outputs[2].result);
  CHECK(body_of(*model).outputs[2].outer == 1);
  CHECK(body_of(*model).inputs[2].outer == -1);
  CHECK(after_three_trips(*model) == std::vector<float>{2, 4});
}

const std::string kLoop = "error: layer 'n4' (Loop, id 4): ";

TEST_CASE("a Loop has a condition") {
  const std::string missing = kLoop +
                              "no <output> is marked as the condition of the next iteration [IR-port-map]\n"
                              "  hint: the entry of the body's condition has purpose=\"execution_condition\"";
  CHECK(findings(loop(kValue + kIteration)) == Lines{"model.xml:6:1: " + missing});
  // Where there is an entry that most likely is the one, it is shown.
  CHECK(findings(loop(kValue + kIteration + "<output external_port_id=\"-1\" internal_layer_id=\"5\"/>\n")) ==
        Lines{"model.xml:11:1: " + missing});
  CHECK(findings(loop(kValue + kIteration + kCondition + kCondition)) ==
        Lines{"model.xml:12:1: " + kLoop +
              "a second <output> has the purpose 'execution_condition', beside that of line 11 "
              "[IR-port-map]"});
}

TEST_CASE("an entry of a Loop that has no known purpose is reported where it stands") {
  CHECK(validated(loop(kValue + kIteration +
                       "<output external_port_id=\"-1\" internal_layer_id=\"5\" "
                       "purpose=\"execution_cond\"/>\n")) ==
        Lines{"model.xml:11:53: " + kLoop +
              "the purpose 'execution_cond' of an <output> is not known [IR-port-map]\n"
              "  hint: it can be 'execution_condition'"});
  CHECK(findings(loop(kValue + kCondition +
                      "<input external_port_id=\"0\" internal_layer_id=\"1\" "
                      "purpose=\"curent_iteration\"/>\n")) ==
        Lines{"model.xml:11:51: " + kLoop +
              "the purpose 'curent_iteration' of an <input> is not known [IR-port-map]\n"
              "  hint: did you mean 'current_iteration'?"});
  CHECK(findings(loop(kValue + kCondition + "<input external_port_id=\"-1\" internal_layer_id=\"1\"/>\n")) ==
        Lines{"model.xml:11:1: " + kLoop +
              "external_port_id -1 is no input of the layer, which has 3 [IR-port-map]\n"
              "  hint: the number of the iteration has purpose=\"current_iteration\""});
}

TEST_CASE("a result of a body that is neither output nor condition is odd") {
  CHECK(
      ir::test::validated(loop(kValue + kIteration + kCondition +
                               "<output external_port_id=\"-1\" internal_layer_id=\"4\"/>\n")) ==
      Lines{"model.xml:12:9: warning: layer 'n4' (Loop, id 4): external_port_id -1 is no output port of the "
            "layer [IR-port-map]\n  hint: the entry is not read"});
}

}  // namespace
