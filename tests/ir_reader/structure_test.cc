// Layers, ports and edges: what is wrong, and what only looks wrong.
#include "ir_runtime/compiled_model.h"
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

std::vector<std::string> node_names(const ir::Model& model) {
  std::vector<std::string> names;
  for (const auto& node : model.nodes()) names.push_back(node->name());
  return names;
}

TEST_CASE("a <net> without <layers> is no network") {
  CHECK(findings("<net name=\"a\" version=\"11\">\n  <edges/></net>") ==
        Lines{"model.xml:1:1: error: <net> has no <layers> [IR-structure]"});
}

// A chain whose <edges> is spelt `name`, with `before` in front of it.
std::string chain_with_edges(const std::string& name, const std::string& before = {}) {
  std::string text = chain("ReLU", "", "1,2");
  for (auto at = text.find("edges>"); at != std::string::npos; at = text.find("edges>", at + name.size()))
    text.replace(at, 5, name);
  return text.insert(text.find('<' + name), before);
}

TEST_CASE("edges that are not read are one mistake") {
  const std::string follow = "\n  2 more findings follow from this one";
  const std::string missing =
      " error: <net> has no <edges>, so that the layers are not connected [IR-structure]";
  CHECK(findings(chain_with_edges("Edges")) ==
        Lines{"model.xml:5:10:" + missing + "\n  hint: <Edges> is not read: did you mean 'edges'?" + follow});
  CHECK(findings(chain_with_edges("links")) == Lines{"model.xml:1:1:" + missing + follow});
  CHECK(findings(chain_with_edges("edges", "<edges/>")) ==
        Lines{"model.xml:5:18: error: a second <edges> is not read, beside that of line 5: layers are not "
              "connected [IR-structure]\n  hint: one <edges> holds all edges" +
              follow});
  std::string misspelt = chain("ReLU", "", "1,2");
  for (auto at = misspelt.find("<edge "); at != std::string::npos; at = misspelt.find("<edge "))
    misspelt.replace(at, 6, "<Edge ");
  CHECK(findings(misspelt) ==
        Lines{"model.xml:6:1: error: <edges> has no <edge>, so that the layers are not connected "
              "[IR-structure]\n  hint: <Edge> is not read: did you mean 'edge'?" +
              follow});
  // What a second <edges> would add is missed only where an input has no edge.
  std::string half = chain_with_edges("edges");
  const auto second = half.find("<edge ", half.find("<edge ") + 1);
  half.insert(second, "</edges><edges>");
  const Lines found = findings(half);
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("a second <edges> is not read") != std::string::npos);
  CHECK(found[0].ends_with("1 more finding follows from this one"));
  CHECK(findings(chain_with_edges("edges").insert(chain_with_edges("edges").find("</net>"), "<edges/>"))
            .empty());
  // A validator says nothing else of them.
  const Lines all = ir::test::validated(chain_with_edges("Edges"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].find("[IR-structure]") != std::string::npos);
}

TEST_CASE("a network without inputs needs no edges") {
  CHECK(findings("<net name=\"a\" version=\"11\"><layers>\n" + parameter("0", "1") + "</layers></net>")
            .empty());
}

TEST_CASE("every missing attribute of a layer is reported, and nothing that follows from it") {
  CHECK(
      findings(R"(<net name="a" version="11"><layers>
  <layer name="a" type="Parameter" version="opset1"/>
  <layer name="b" type="Parameter" version="opset1"/>
  <layer id="2" type="Parameter" version="opset1"><data element_type="f32" shape="1"/></layer>
  <layer id="3" name="d" version="opset1"/>
  <layer id="4" name="e" type="ReLU"/>
</layers><edges/></net>)") ==
      Lines{
          "model.xml:2:3: error: layer 'a' (Parameter): <layer> has no attribute 'id' [IR-attribute-missing]",
          "model.xml:3:3: error: layer 'b' (Parameter): <layer> has no attribute 'id' [IR-attribute-missing]",
          ("model.xml:4:3: error: layer '' (Parameter, id 2): <layer> has no attribute 'name' "
           "[IR-attribute-missing]"),
          ("model.xml:5:3: error: layer 'd' (no type, id 3): <layer> has no attribute 'type' "
           "[IR-attribute-missing]"),
          ("model.xml:6:3: error: layer 'e' (ReLU, id 4): <layer> has no attribute 'version' "
           "[IR-attribute-missing]")});
}

TEST_CASE("ids are unique: layers in the net, ports in their list") {
  CHECK(findings(net(parameter("0", "1") + parameter("0", "1"), "")) ==
        Lines{"model.xml:3:8: error: layer 'n0' (Parameter, id 0): the id 0 belongs to the layer of line 2 "
              "already "
              "[IR-id-duplicate]"});
  CHECK(findings(R"(<net name="a" version="11"><layers>
  <layer id="0" name="split" type="Parameter" version="opset1">
    <data element_type="f32" shape="1"/>
    <output>
      <port id="1" precision="FP32"><dim>1</dim></port>
      <port id="1" precision="FP32"><dim>1</dim></port>
    </output>
  </layer>
</layers><edges/></net>)")
            .front() ==
        "model.xml:6:13: error: layer 'split' (Parameter, id 0): two output ports have the id 1 "
        "[IR-port-duplicate]");
}

TEST_CASE("ports are found by their ids in lists of any length, and by the first of two") {
  const int count = GENERATE(2, 8, 9, 40);
  const bool repeats = GENERATE(false, true);
  INFO(count << (repeats ? " with an id twice" : ""));
  // Of shapes that tell them apart, in the reverse order of their ids.
  std::string layers;
  std::string edges;
  std::string ports;
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    const std::string shape = std::to_string(i + 1);
    const std::string id = std::to_string(500 - i);
    layers += parameter(std::to_string(i), shape);
    edges += edge(std::to_string(i) + ":0 100:" + id);
    ports += port(id, shape);
    sum += i + 1;
  }
  if (repeats) ports += port("500", "1");
  layers +=
      layer("100", "Concat", R"(<data axis="0"/>)" + inputs(ports) + outputs(port("0", std::to_string(sum))));
  const Lines found = findings(net(layers + result("101", std::to_string(sum)), edges + edge("100:0 101:0")));
  REQUIRE(found.size() == (repeats ? 2 : 0));
  if (!repeats) return;
  CHECK(found[0].ends_with("two input ports have the id 500 [IR-port-duplicate]"));
  CHECK(found[1].ends_with("no edge ends at input port 500 [IR-input-unconnected]"));
}

TEST_CASE("an id may serve an input port and an output port") {
  const std::string relu = layer("1", "ReLU", inputs(port("0", "1")) + outputs(port("0", "1")));
  CHECK(findings(net(parameter("0", "1") + relu + result("2", "1"), edge("0:0 1:0") + edge("1:0 2:0")))
            .empty());
}

TEST_CASE("port ids are labels: any text, in any order") {
  const std::string add =
      layer("1", "Subtract", inputs(port("right", "2") + port("7", "2")) + outputs(port("out", "2")));
  const ModelFiles files(net(parameter("a", "2") + parameter("b", "2") + add + result("r", "2"),
                             edge("b:0 1:7") + edge("1:out r:0") + edge("a:0 1:right")));
  CHECK(files.findings().empty());
  const auto model = files.read();
  const ir::Node& node = *model->nodes()[2];
  CHECK(node.input(0).node->layer_id() == "a");
  CHECK(node.input(1).node->layer_id() == "b");
}

TEST_CASE("a port needs an id and a known precision") {
  CHECK(findings(R"(<net name="a" version="11"><layers>
  <layer id="0" name="in" type="Parameter" version="opset1">
    <data element_type="f32" shape="1"/>
    <output>
      <port precision="FP31"><dim>1</dim></port>
    </output>
  </layer>
</layers><edges/></net>)") ==
        Lines{"model.xml:5:7: error: layer 'in' (Parameter, id 0): <port> has no attribute 'id' "
              "[IR-attribute-missing]",
              "model.xml:5:13: error: layer 'in' (Parameter, id 0): port  has the unknown precision 'FP31' "
              "[IR-precision]\n  hint: did you mean 'FP32'?"});
}

TEST_CASE("a <dim> is one integer from -1 on; blanks around it do not count") {
  const auto with_dim = [](const std::string& dim) {
    return findings(R"(<net name="a" version="11"><layers>
  <layer id="0" name="in" type="Parameter" version="opset1">
    <data element_type="f32" shape="3"/>
    <output><port id="0" precision="FP32">
      <dim>)" + dim +
                    R"(</dim>
    </port></output>
  </layer>
</layers><edges/></net>)");
  };
  for (const std::string bad : {"x", "", "-2", "1.5", "3 4", "?", "99999999999999999999"}) {
    CHECK(with_dim(bad) == Lines{"model.xml:5:7: error: layer 'in' (Parameter, id 0): <dim> holds '" + bad +
                                 "'; it takes one integer that is -1 (unknown) or more [IR-dim]"});
  }
  CHECK(with_dim("3").empty());
  CHECK(with_dim("\n  3\t").empty());
  CHECK(with_dim("-1").empty());
}

TEST_CASE("edges have ends, which exist") {
  const std::string layers = parameter("0", "1") + result("1", "1");
  const auto first = [&](const std::string& text) { return findings(net(layers, text)).front(); };
  CHECK(first("<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\"/>") ==
        "model.xml:5:1: error: <edge> has no attribute 'to-port' [IR-edge]");
  CHECK(first("<edge from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>") ==
        "model.xml:5:1: error: <edge> has no attribute 'from-layer' [IR-edge]");
  CHECK(first(edge("5:0 1:0")) ==
        "model.xml:5:7: error: the edge starts at layer 5, which does not exist [IR-edge]");
  CHECK(first(edge("0:0 5:0")) ==
        "model.xml:5:36: error: the edge ends at layer 5, which does not exist [IR-edge]\n"
        "  1 more finding follows from this one");
  CHECK(first(edge("0:3 1:0")) ==
        "model.xml:5:22: error: layer 'n0' (Parameter, id 0): the edge starts at output port 3, which the "
        "layer does "
        "not have [IR-edge]\n  hint: the layer has output port 0");
  CHECK(first(edge("0:0 1:3")) ==
        "model.xml:5:49: error: layer 'n1' (Result, id 1): the edge ends at input port 3, which the layer "
        "does not "
        "have [IR-edge]\n  hint: the layer has input port 0\n  1 more finding follows from this one");
  // An edge that starts nowhere is the only thing wrong with the input where it ends.
  CHECK(findings(net(layers, edge("5:0 1:0"))).size() == 1);
}

TEST_CASE("an input takes one edge, and needs it") {
  const std::string layers = parameter("0", "1") + parameter("1", "1") + result("2", "1");
  CHECK(findings(net(layers, edge("0:0 2:0") + edge("1:0 2:0"))) ==
        Lines{"model.xml:7:1: error: layer 'n2' (Result, id 2): two edges end at input port 0, the other one "
              "in line 6 [IR-edge]"});
  CHECK(findings(net(layers + result("3", "1"), edge("0:0 3:0"))) ==
        Lines{"model.xml:4:63: error: layer 'n2' (Result, id 2): no edge ends at input port 0 "
              "[IR-input-unconnected]\n  hint: output port 0 of layer 'n1' in line 3 is read by nothing and "
              "fits: is from-layer=\"1\" from-port=\"0\" meant?"});
}

// Layers 0 and 1 give [1] and [2]; layer 2 reads both, layer 3 what it gives.
std::string concat_of(const std::string& edges, const std::string& last_id = "3") {
  const std::string concat =
      layer("2", "Concat",
            R"(<data axis="0"/>)" + inputs(port("0", "1") + port("1", "2")) + outputs(port("2", "3")));
  return net(parameter("0", "1") + parameter("1", "2") + concat + result(last_id, "3"), edges);
}

TEST_CASE("of two edges to one input, the one that was meant for the open input is named") {
  const std::string hint =
      "\n  hint: no edge ends at input port 1 of layer 'n2' in line 4: is to-layer=\"2\" to-port=\"1\" meant?"
      "\n  1 more finding follows from this one";
  CHECK(findings(concat_of(edge("0:0 2:0") + edge("1:0 2:0") + edge("2:2 3:0"))) ==
        Lines{"model.xml:8:1: error: layer 'n2' (Concat, id 2): two edges end at input port 0, the other one "
              "in line 7 [IR-edge]" +
              hint});
  // Shapes tell it, not the order of the edges.
  CHECK(findings(concat_of(edge("1:0 2:0") + edge("0:0 2:0") + edge("2:2 3:0"))) ==
        Lines{"model.xml:7:1: error: layer 'n2' (Concat, id 2): two edges end at input port 0, the other one "
              "in line 8 [IR-edge]" +
              hint});
}

TEST_CASE("for an input without an edge, the one output is named that nothing reads and that fits") {
  CHECK(findings(concat_of(edge("0:0 2:0") + edge("2:2 3:0"))) ==
        Lines{"model.xml:4:128: error: layer 'n2' (Concat, id 2): no edge ends at input port 1 "
              "[IR-input-unconnected]\n  hint: output port 0 of layer 'n1' in line 3 is read by nothing and "
              "fits: "
              "is from-layer=\"1\" from-port=\"0\" meant?"});
  // An edge that starts at another layer leaves one unread, too.
  CHECK(
      findings(concat_of(edge("0:0 2:0") + edge("0:0 2:1") + edge("2:2 3:0"))) ==
      Lines{
          "model.xml:4:158: error: layer 'n2' (Concat, id 2): dim 0 of input port 1 is declared 2, inference "
          "gives 1 [IR-shape-mismatch]\n  hint: output port 0 of layer 'n1' in line 3 is read by nothing and "
          "fits: is from-layer=\"1\" from-port=\"0\" meant?\n  1 more finding follows from this one"});
}

TEST_CASE("an input without an edge follows from the one edge that ends nowhere") {
  CHECK(
      findings(concat_of(edge("0:0 2:0") + edge("1:0 3:1") + edge("2:2 3:0"))) ==
      Lines{
          "model.xml:8:49: error: layer 'n3' (Result, id 3): the edge ends at input port 1, which the layer "
          "does not have [IR-edge]\n  hint: the layer has input port 0\n"
          "  1 more finding follows from this one"});
}

TEST_CASE("a layer that lacks the port of an edge is not reported for what it does without") {
  const std::string add = layer("2", "Add", inputs(port("0", "1")) + outputs(port("2", "1")));
  CHECK(findings(net(parameter("0", "1") + parameter("1", "1") + add + result("3", "1"),
                     edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0"))) ==
        Lines{"model.xml:8:49: error: layer 'n2' (Add, id 2): the edge ends at input port 1, which the layer "
              "does not have [IR-edge]\n  hint: the layer has input port 0\n"
              "  1 more finding follows from this one"});
}

TEST_CASE("edges of one layer that does not exist are one finding") {
  CHECK(findings(net(parameter("0", "1") + result("1", "1") + result("2", "1"),
                     edge("9:0 1:0") + edge("9:0 2:0"))) ==
        Lines{"model.xml:6:7: error: the edge starts at layer 9, which does not exist [IR-edge]\n"
              "  1 more finding follows from this one"});
}

TEST_CASE("of two layers with one id, the one that edges miss is named, and nothing follows") {
  const std::string edges = edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0");
  CHECK(
      findings(concat_of(edges, "2")) ==
      Lines{
          "model.xml:5:8: error: layer 'n2' (Result, id 2): the id 2 belongs to the layer of line 4 already "
          "[IR-id-duplicate]\n  hint: edges name layer 3, which does not exist: is id=\"3\" meant?"});
  // Here it is the first of both: its shape is that of input 0.
  CHECK(
      findings(net(parameter("1", "1") + parameter("1", "2") +
                       layer("2", "Concat",
                             R"(<data axis="0"/>)" + inputs(port("0", "1") + port("1", "2")) +
                                 outputs(port("2", "3"))) +
                       result("3", "3"),
                   edges)) ==
      Lines{
          "model.xml:2:8: error: layer 'n1' (Parameter, id 1): the id 1 belongs to the layer of line 3, too "
          "[IR-id-duplicate]\n  hint: edges name layer 0, which does not exist: is id=\"0\" meant?"});
}

TEST_CASE("a cycle is reported at one of its layers, not at one behind it") {
  const std::string relu2 = layer("2", "ReLU", inputs(port("0", "1")) + outputs(port("1", "1")));
  const std::string relu3 = layer("3", "ReLU", inputs(port("0", "1")) + outputs(port("1", "1")));
  const std::string behind = layer("1", "ReLU", inputs(port("0", "1")) + outputs(port("1", "1")));
  const Lines found = findings(net(parameter("0", "1") + behind + relu2 + relu3 + result("4", "1"),
                                   edge("2:1 3:0") + edge("3:1 2:0") + edge("3:1 1:0") + edge("0:0 4:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].find(
            "layer 'n3' (ReLU, id 3): the layer's inputs depend on its own outputs: n3 -> n2 -> n3; 3 layers "
            "lie on or behind the cycle [IR-cycle]") != std::string::npos);
  const std::string self = layer("1", "ReLU", inputs(port("0", "1")) + outputs(port("1", "1")));
  CHECK(findings(net(self, edge("1:1 1:0"))) ==
        Lines{"model.xml:2:1: error: layer 'n1' (ReLU, id 1): the "
              "layer's inputs depend on its own outputs: n1 -> n1; 1 layers "
              "lie on or behind the cycle [IR-cycle]\n"
              "  hint: take out one of these edges; loops are written as Loop or TensorIterator"});
}

TEST_CASE("layers stand in any order; inputs and outputs keep that of the file") {
  const std::string relu = layer("9", "ReLU", inputs(port("0", "1")) + outputs(port("1", "1")));
  const ModelFiles files(
      net(result("2", "1") + result("1", "1") + relu + parameter("5", "1") + parameter("4", "1"),
          edge("5:0 9:0") + edge("9:1 2:0") + edge("4:0 1:0")));
  const auto model = files.read();
  CHECK(node_names(*model) == std::vector<std::string>{"n5", "n4", "n9", "n2", "n1"});
  CHECK(model->inputs()[0].name() == "n5");
  CHECK(model->outputs()[0].name() == "n9");
  CHECK(model->outputs()[1].name() == "n4");
}

TEST_CASE("several <input> blocks count as one list") {
  const std::string add =
      layer("2", "Add", inputs(port("0", "1", "")) + inputs(port("1", "1", "")) + outputs(port("2", "1")));
  const ModelFiles files(net(parameter("0", "1") + parameter("1", "1") + add + result("3", "1"),
                             edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0")));
  CHECK(files.findings().empty());
  CHECK(files.read()->nodes()[2]->inputs().size() == 2);
}

TEST_CASE("names of ports name the model's inputs and outputs; a backslash keeps a comma") {
  const std::string in = layer("0", "Parameter",
                               R"(<data element_type="f32" shape="1"/>)" +
                                   outputs(port("0", "1", R"(precision="FP32" names="x,y\,z")")));
  const ModelFiles files(net(in + result("1", "1"), edge("0:0 1:0")));
  CHECK(files.read()->inputs()[0].names == std::vector<std::string>{"x", "y,z"});
  CHECK(files.read()->outputs()[0].names == std::vector<std::string>{"x", "y,z"});
}

TEST_CASE("in version 10 inputs and outputs go by their layers, too") {
  const std::string in = layer(
      "0", "Parameter",
      R"(<data element_type="f32" shape="1"/>)" + outputs(port("0", "1", R"(precision="FP32" names="x:0")")));
  const std::string negated = layer(
      "1", "Negative", inputs(port("0", "1")) + outputs(port("1", "1", R"(precision="FP32" names="y:0")")));
  const auto read = [&](const std::string& version) {
    return ModelFiles(net(in + negated + result("2", "1"), edge("0:0 1:0") + edge("1:1 2:0"), version))
        .read();
  };
  const auto ten = read("10");
  CHECK(ten->inputs()[0].names == std::vector<std::string>{"x:0", "n0"});
  CHECK(ten->outputs()[0].names == std::vector<std::string>{"y:0", "n1"});
  ir::InferRequest request = ir::compile_model(*ten).create_infer_request();
  request.set_tensor("n0", ir::Tensor::of<float>({1}, {2}));
  request.infer();
  CHECK(request.tensor("n1").data<float>()[0] == -2);
  const auto eleven = read("11");
  CHECK(eleven->inputs()[0].names == std::vector<std::string>{"x:0"});
  CHECK(eleven->outputs()[0].names == std::vector<std::string>{"y:0"});
}

TEST_CASE("in version 10 a tensor's name comes before that of another layer") {
  const auto in = [](const std::string& id, const std::string& name) {
    return layer(id, "Parameter",
                 R"(<data element_type="f32" shape="1"/>)" +
                     outputs(port("0", "1", "precision=\"FP32\" names=\"" + name + "\"")));
  };
  const ModelFiles files(net(in("0", "x") + in("1", "n0") + result("2", "1") + result("3", "1"),
                             edge("0:0 2:0") + edge("1:0 3:0"), "10"));
  const auto model = files.read();
  CHECK(model->inputs()[0].names == std::vector<std::string>{"x"});
  CHECK(model->inputs()[1].names == std::vector<std::string>{"n0", "n1"});
}

TEST_CASE("a result's output_names name the model's output") {
  const std::string named = R"(<layer id="1" name="r" type="Result" version="opset1" output_names="a,b">)" +
                            inputs(port("0", "1")) + "</layer>\n";
  const ModelFiles files(net(parameter("0", "1") + named, edge("0:0 1:0")));
  CHECK(files.read()->outputs()[0].names == std::vector<std::string>{"a", "b"});
  CHECK(files.read()->inputs()[0].names == std::vector<std::string>{"n0"});
}

TEST_CASE("all errors of a file are reported in one go, causes first and no consequences") {
  const std::string bad_dim = layer("1", "ReLU", inputs(port("0", "1")) + outputs(port("1", "x")));
  const std::string unknown = layer("2", "Relux", inputs(port("0", "1")) + outputs(port("1", "7")));
  const std::string behind = layer("3", "ReLU", inputs(port("0", "7")) + outputs(port("1", "7")));
  const Lines found =
      findings(net(parameter("0", "1") + bad_dim + unknown + behind + result("4", "7"),
                   edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0") + edge("3:1 4:0") + edge("8:0 4:0")));
  REQUIRE(found.size() == 3);
  CHECK(found[0].find("<dim> holds 'x'") != std::string::npos);
  CHECK(found[1].find("starts at layer 8") != std::string::npos);
  CHECK(found[2].find("the operation 'Relux' is not known") != std::string::npos);
}

}  // namespace
