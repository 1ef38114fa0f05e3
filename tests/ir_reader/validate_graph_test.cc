// What a validator says of layers, edges and elements that can be read and are odd.
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
using ir::test::validated;
using ir::test::validated_with_notes;

std::string relu(std::string_view id) {
  return layer(id, "ReLU", inputs(port("0", "1")) + outputs(port("1", "1")));
}

const std::string kUnused = "connect it, or remove it";

TEST_CASE("a good model has nothing to complain of") { CHECK(validated(chain("ReLU", "", "1")).empty()); }

TEST_CASE("a layer that nothing reads is reported once, with those that only lead to it") {
  const std::string text = net(parameter("0", "1") + relu("1") + relu("2") + relu("3") + result("4", "1"),
                               edge("0:0 4:0") + edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0"));
  CHECK(validated(text) == Lines{"model.xml:5:1: warning: layer 'n3' (ReLU, id 3): nothing reads the layer's "
                                 "outputs [IR-layer-unused]\n  hint: " +
                                 kUnused + "\n  2 more findings follow from this one"});
  // Readers do without this.
  CHECK(findings(text).empty());
}

TEST_CASE(
    "what is wrong with layers that no Result needs is no error, and they are left out, as in OpenVINO") {
  const std::string left_out = "no Result needs the layer, which is left out of the model";
  const auto with = [](const std::string& layers, const std::string& edges) {
    return net(parameter("0", "1") + relu("1") + layers + result("9", "1"),
               edge("0:0 1:0") + edge("1:1 9:0") + edges);
  };
  const auto check = [&](const std::string& text, const Lines& wanted) {
    const ModelFiles files(text);
    CHECK(files.findings() == wanted);
    CHECK(files.read()->nodes().size() == 3);
  };
  SECTION("an operation that does not exist, and what reads it") {
    check(with(layer("2", "Rulu", inputs(port("0", "1")) + outputs(port("1", "1"))) + relu("3"),
               edge("0:0 2:0") + edge("2:1 3:0")),
          {"model.xml:4:25: warning: layer 'n2' (Rulu, id 2): the operation 'Rulu' is not known "
           "[IR-operation-unknown]\n"
           "  hint: did you mean 'ReLU'?; " +
           left_out});
  }
  SECTION("an attribute") {
    check(
        with(layer("2", "Elu", R"(<data alpha="x"/>)" + inputs(port("0", "1")) + outputs(port("1", "1"))),
             edge("0:0 2:0")),
        {"model.xml:4:59: warning: layer 'n2' (Elu, id 2): attribute alpha is \"x\", which is not a number; "
         "it takes a number [IR-attribute-value]\n  hint: " +
         left_out});
  }
  SECTION("shapes, and an input without an edge") {
    check(with(layer("2", "Add", inputs(port("0", "1") + port("1", "1")) + outputs(port("2", "1"))),
               edge("0:0 2:0")),
          {"model.xml:4:109: warning: layer 'n2' (Add, id 2): no edge ends at input port 1 "
           "[IR-input-unconnected]\n  hint: " +
           left_out});
  }
  SECTION("a cycle") {
    check(with(relu("2") + relu("3"), edge("2:1 3:0") + edge("3:1 2:0")),
          {"model.xml:4:1: warning: layer 'n2' (ReLU, id 2): the layer's inputs depend on its own outputs: "
           "n2 -> n3 -> n2; 2 layers lie on or behind the cycle [IR-cycle]\n  hint: take out one of these "
           "edges; loops are written as Loop or TensorIterator; " +
           left_out});
  }
  // A Result by another spelling is one, too.
  CHECK(ModelFiles(with(layer("2", "Rulu", inputs(port("0", "1")) + outputs(port("1", "1"))) +
                            layer("3", "result", inputs(port("0", "1"))),
                        edge("0:0 2:0") + edge("2:1 3:0")))
            .findings()[0]
            .find(": error: ") != std::string::npos);
  // Without a Result all is judged.
  CHECK(ModelFiles(net(parameter("0", "1") + layer("2", "Rulu", inputs(port("0", "1"))), edge("0:0 2:0")))
            .findings()[0]
            .find(": error: ") != std::string::npos);
}

TEST_CASE("a list that a comma ends is read, and noted") {
  const std::string text =
      net(layer("0", "Parameter", R"(<data element_type="f32" shape="1,2,"/>)" + outputs(port("0", "1,2"))) +
              result("1", "1,2"),
          edge("0:0 1:0"));
  CHECK(findings(text).empty());
  CHECK(validated(text).empty());
  CHECK(validated_with_notes(text)[0].find(
            "attribute shape is written '1,2,' [IR-spelling]\n  hint: write '1,2'") != std::string::npos);
}

TEST_CASE("an input that nothing reads is reported as one") {
  CHECK(validated(net(parameter("0", "1") + parameter("1", "1") + result("2", "1"), edge("0:0 2:0"))) ==
        Lines{"model.xml:3:1: warning: layer 'n1' (Parameter, id 1): nothing reads this input of the model "
              "[IR-layer-unused]\n  hint: " +
              kUnused});
}

TEST_CASE("one of several outputs may be left unread") {
  const std::string axis = layer("1", "Const",
                                 R"(<data element_type="i64" shape="" offset="0" size="8"/>)" +
                                     outputs(port("0", "", R"(precision="I64")")));
  const std::string split =
      layer("2", "Split",
            R"(<data num_splits="2"/>)" + inputs(port("0", "2") + port("1", "", R"(precision="I64")")) +
                outputs(port("2", "1") + port("3", "1")));
  CHECK(ModelFiles(net(parameter("0", "2") + axis + split + result("3", "1"),
                       edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0")),
                   std::string(8, '\0'))
            .validated()
            .empty());
}

TEST_CASE("what a broken edge cuts off only follows from it") {
  const Lines found =
      validated(net(parameter("0", "1") + relu("1") + result("2", "1"), edge("0:0 1:0") + edge("1:7 2:0")));
  CHECK(found ==
        Lines{"model.xml:7:22: error: layer 'n1' (ReLU, id 1): the edge starts at output port 7, which "
              "the layer does not have [IR-edge]\n  hint: the layer has output port 1\n"
              "  2 more findings follow from this one"});
}

TEST_CASE("a network without a Result computes nothing") {
  CHECK(validated(net(parameter("0", "1"), "")) ==
        Lines{"model.xml:1:1: warning: the network has no Result [IR-no-result]\n"
              "  hint: add a Result behind each value that is wanted"});
  CHECK(validated(R"(<net name="a" version="11"><layers/><edges/></net>)").size() == 1);
}

TEST_CASE("names are unique and not empty") {
  const std::string twice = R"(<layer id="1" name="n0" type="ReLU" version="opset1">)" +
                            inputs(port("0", "1")) + outputs(port("1", "1")) + "</layer>\n";
  CHECK(
      validated(net(parameter("0", "1") + twice + result("2", "1"), edge("0:0 1:0") + edge("1:1 2:0"))) ==
      Lines{"model.xml:3:15: warning: layer 'n0' (ReLU, id 1): the name belongs to the layer of line 2, too "
            "[IR-name-duplicate]"});
  const std::string unnamed = R"(<layer id="1" name="" type="ReLU" version="opset1">)" +
                              inputs(port("0", "1")) + outputs(port("1", "1")) + "</layer>\n";
  CHECK(validated(net(parameter("0", "1") + unnamed + result("2", "1"), edge("0:0 1:0") + edge("1:1 2:0"))) ==
        Lines{"model.xml:3:15: warning: layer '' (ReLU, id 1): the layer's name is empty [IR-name-empty]\n"
              "  hint: inputs, outputs and reports go by names"});
}

TEST_CASE("ids that are no numbers are refused by OpenVINO") {
  CHECK(validated(net(parameter("a", "1") + result("1", "1"), edge("a:0 1:0"))) ==
        Lines{"model.xml:2:8: warning: layer 'na' (Parameter, id a): the id 'a' is no number [IR-id-text]\n"
              "  hint: OpenVINO refuses it; number layers and ports"});
  CHECK(validated(net(parameter("18446744073709551616", "1") + result("1", "1"),
                      edge("18446744073709551616:0 1:0")))[0]
            .find("the id '18446744073709551616' does not fit into 64 bits [IR-id-text]") !=
        std::string::npos);
}

TEST_CASE("an edge that stands twice is odd, two different ones to an input are wrong") {
  const std::string layers = parameter("0", "1") + result("1", "1");
  CHECK(validated(net(layers, edge("0:0 1:0") + edge("0:0 1:0"))) ==
        Lines{"model.xml:6:1: warning: layer 'n1' (Result, id 1): the edge to input port 0 stands twice "
              "[IR-edge-duplicate]"});
}

TEST_CASE("each cycle is reported with the names of its layers") {
  CHECK(findings(
            net(relu("0") + relu("1") + relu("2") + relu("3") + relu("4"),
                edge("0:1 1:0") + edge("1:1 2:0") + edge("2:1 0:0") + edge("3:1 4:0") + edge("4:1 3:0"))) ==
        Lines{"model.xml:2:1: error: layer 'n0' (ReLU, id 0): the layer's inputs depend on its own outputs: "
              "n0 -> "
              "n1 -> n2 -> n0; 5 layers lie on or behind the cycle [IR-cycle]\n"
              "  hint: take out one of these edges; loops are written as Loop or TensorIterator",
              "model.xml:5:1: error: layer 'n3' (ReLU, id 3): the layer's inputs depend on its own outputs: "
              "n3 -> "
              "n4 -> n3; 5 layers lie on or behind the cycle [IR-cycle]\n"
              "  hint: take out one of these edges; loops are written as Loop or TensorIterator"});
}

TEST_CASE("a long cycle is cut in the middle") {
  std::string layers;
  std::string edges;
  for (int i = 0; i < 20; ++i) {
    layers += relu(std::to_string(i));
    edges += edge(std::to_string(i) + ":1 " + std::to_string((i + 1) % 20) + ":0");
  }
  CHECK(findings(net(layers, edges))[0].find(
            "own outputs: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> (12 more) -> n19 -> n0; 20 layers") !=
        std::string::npos);
}

TEST_CASE("elements that are not read are reported with the one that was meant") {
  const std::string text = R"(<net name="a" version="11"><layers>
)" + parameter("0", "1") +
                           R"(<layer id="1" name="n1" type="Result" version="opset1">
  <input><port id="0" precision="FP32"><dim>1</dim><dims/></port></input>
  <datas/>
  <note/>
</layer></layers><edges>
)" + edge("0:0 1:0") + R"(</edges><layer/>
<edges/>
</net>)";
  CHECK(validated("<net version=\"11\"><layers/><edges/></net>\n<!-- --><net version=\"11\"/>").front() ==
        "model.xml:2:9: warning: <net> stands behind the end of <net> and is not read [IR-element-repeated]\n"
        "  hint: a file holds one network");
  CHECK(validated(text) ==
        Lines{"model.xml:9:9: warning: <net> has an element <layer>, which is not read [IR-element-unknown]\n"
              "  hint: did you mean 'layers'?",
              "model.xml:10:1: warning: a second <edges> is not read [IR-element-repeated]",
              "model.xml:5:3: warning: layer 'n1' (Result, id 1): <layer> has an element <datas>, which is "
              "not read "
              "[IR-element-unknown]\n  hint: did you mean 'data'?",
              "model.xml:6:3: warning: layer 'n1' (Result, id 1): <layer> has an element <note>, which is "
              "not read "
              "[IR-element-unknown]",
              "model.xml:4:52: warning: layer 'n1' (Result, id 1): <port> has an element <dims>, which is "
              "not read "
              "[IR-element-unknown]\n  hint: did you mean 'dim'?"});
}

// The chain with the first `from` replaced by `to`.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = ir::test::chain("ReLU", "", "1,2");
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("elements are known in every list") {
  CHECK(validated(changed("</layers>", "<Layer/></layers>")) ==
        Lines{"model.xml:5:1: warning: <layers> has an element <Layer>, which is not read "
              "[IR-element-unknown]\n  hint: did you mean 'layer'?"});
  CHECK(validated(changed("</edges>", "<Edge/></edges>")) ==
        Lines{"model.xml:8:1: warning: <edges> has an element <Edge>, which is not read "
              "[IR-element-unknown]\n  hint: did you mean 'edge'?"});
  const std::string relu = "layer 'n1' (ReLU, id 1): ";
  CHECK(validated(changed("<input>", "<input><Port/>")) ==
        Lines{"model.xml:3:61: warning: " + relu +
              "<input> has an element <Port>, which is not read [IR-element-unknown]\n"
              "  hint: did you mean 'port'?"});
  // Others may stand there, too.
  CHECK(validated(changed("<input>", "<rt_info><attribut/><other/></rt_info><input>")) ==
        Lines{"model.xml:3:63: warning: " + relu +
              "<rt_info> has an element <attribut>, which is not read [IR-element-unknown]\n"
              "  hint: did you mean 'attribute'?"});
}

TEST_CASE("attributes that are near to one that is read are reported") {
  const std::string relu = "layer 'n1' (ReLU, id 1): ";
  CHECK(validated(changed("type=\"ReLU\"", "type=\"ReLU\" presicion=\"FP32\" colour=\"red\"")) ==
        Lines{"model.xml:3:37: warning: " + relu +
              "<layer> has an attribute 'presicion', which is not read [IR-attribute-unknown]\n"
              "  hint: did you mean 'precision'?"});
  CHECK(validated(changed("<port id=\"1\"", "<port id=\"1\" name=\"x\"")) ==
        Lines{"model.xml:3:151: warning: " + relu +
              "<port> has an attribute 'name', which is not read [IR-attribute-unknown]\n"
              "  hint: did you mean 'names'?"});
  CHECK(validated(changed("to-port=\"0\"", "to-port=\"0\" to-ports=\"1\"")) ==
        Lines{"model.xml:6:61: warning: <edge> has an attribute 'to-ports', which is not read "
              "[IR-attribute-unknown]\n  hint: did you mean 'to-port'?"});
}

TEST_CASE("an attribute that stands twice is reported") {
  CHECK(validated(R"(<net name="a" version="11"><layers>
<layer id="0" name="n0" type="Parameter" version="opset1" name="other">
<data element_type="f32" shape="1" shape="2"/>
<output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="1" name="n1" type="Result" version="opset1"><input><port id="0"><dim>1</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>)") ==
        Lines{"model.xml:2:15: warning: layer 'n0' (Parameter, id 0): the attribute 'name' stands twice "
              "[IR-attribute-duplicate]\n  hint: the first one counts",
              "model.xml:3:26: warning: layer 'n0' (Parameter, id 0): the attribute 'shape' stands twice "
              "[IR-attribute-duplicate]\n  hint: the first one counts"});
}

TEST_CASE("a misspelt attribute of an element is named where the right one is missing") {
  CHECK(findings(R"(<net name="a" version="11"><layers>
<layer id="0" name="n0" type="Parameter" verson="opset1"/>
</layers><edges/></net>)") ==
        Lines{"model.xml:2:1: error: layer 'n0' (Parameter, id 0): <layer> has no attribute 'version' "
              "[IR-attribute-missing]\n  hint: is 'verson' meant for it?"});
}

}  // namespace
