// Causes and consequences among declared types and dims, and the facts that findings carry.
#include "tests/ir_reader/support.h"

namespace {

using ir::Diagnostic;
using ir::PortKind;
using ir::PortReference;
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

// A row of ReLU layers 1 to n, each with the dims of its input and output port; then a Result.
std::string row(const std::vector<std::pair<std::string, std::string>>& dims, const std::string& shape,
                const std::string& declared) {
  std::string layers =
      layer("0", "Parameter",
            R"(<data element_type="f32" shape=")" + shape + "\"/>" + outputs(port("0", declared)));
  std::string edges;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::string id = std::to_string(i + 1);
    layers += layer(id, "ReLU", inputs(port("0", dims[i].first)) + outputs(port("1", dims[i].second)));
    edges += edge(std::to_string(i) + (i == 0 ? ":0 " : ":1 ") + id + ":0");
  }
  const std::string last = std::to_string(dims.size() + 1);
  layers += result(last, dims.empty() ? declared : dims.back().second);
  edges += edge(std::to_string(dims.size()) + (dims.empty() ? ":0 " : ":1 ") + last + ":0");
  return net(layers, edges);
}

std::vector<Diagnostic> validate(const std::string& text) { return ir::validate(ModelFiles(text).xml()); }

TEST_CASE("a finding names the port, what was found, what is right, and the rule") {
  const std::string pool = layer(
      "1", "AvgPool",
      R"(<data auto_pad="explicit" exclude-pad="false" kernel="5,5" pads_begin="1,1" pads_end="1,1" strides="2,2"/>)" +
          inputs(port("0", "1,3,32,32")) + outputs(port("1", "1,3,16,15")));
  const auto found = validate(
      net(parameter("0", "1,3,32,32") + pool + result("2", "1,3,16,15"), edge("0:0 1:0") + edge("1:1 2:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "IR-shape-mismatch");
  CHECK(found[0].port == PortReference(PortKind::output, "1"));
  CHECK(found[0].found == "16");
  CHECK(found[0].expected == "15");
  CHECK(found[0].rule == "floor((32 + 1 + 1 - 5) / 2) + 1 = 15");
  CHECK(found[0].layer == ir::LayerReference{"1", "n1", "AvgPool"});
}

TEST_CASE("an input that an operation does not take is named by the label of its port") {
  const std::string bitwise =
      layer("1", "BitwiseNot", inputs(port("7", "4")) + outputs(port("8", "4")), "opset13");
  const auto found =
      validate(net(parameter("0", "4") + bitwise + result("2", "4"), edge("0:0 1:7") + edge("1:8 2:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "IR-element-type");
  CHECK(found[0].port == PortReference(PortKind::input, "7"));
  CHECK(found[0].found == "f32");
  CHECK(found[0].expected == "an integer type");
}

TEST_CASE("layers that are declared as inference says follow from the layer that is not") {
  // Only the port of layer 1 is wrong; those behind were declared by what it computes.
  const auto found = validate(row({{"1,4", "1,5"}, {"1,4", "1,4"}, {"1,4", "1,4"}}, "1,4", "1,4"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "dim 1 of output port 1 is declared 5, inference gives 4");
  CHECK(found[0].layer.id == "1");
  // At layer 2 the input port contradicts the declared 5, and so does its output.
  REQUIRE(found[0].consequences.size() == 2);
  CHECK(found[0].consequences[0].message == "dim 1 of input port 0 is declared 4, inference gives 5");
  CHECK(found[0].consequences[1].message == "dim 1 of output port 1 is declared 4, inference gives 5");
  CHECK(found[0].consequences[1].layer.id == "2");
}

TEST_CASE("an input that was changed in one place is reported at the first layer that contradicts it") {
  const auto found = validate(row({{"1,4", "1,4"}, {"1,4", "1,4"}}, "1,9", "1,9"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].layer.id == "1");
  CHECK(found[0].message == "dim 1 of input port 0 is declared 4, inference gives 9");
  REQUIRE(found[0].consequences.size() == 1);
  CHECK(found[0].consequences[0].message == "dim 1 of output port 1 is declared 4, inference gives 9");
}

TEST_CASE("two mistakes are two findings") {
  const auto found = validate(row({{"1,4", "1,5"}, {"1,5", "1,6"}, {"1,6", "1,6"}}, "1,4", "1,4"));
  REQUIRE(found.size() == 2);
  CHECK(found[0].layer.id == "1");
  CHECK(found[1].layer.id == "2");
  CHECK(found[0].consequences.empty());
  CHECK(found[1].consequences.empty());
}

TEST_CASE("a failure behind a wrong declaration follows from it") {
  // Layer 1 computes [2,3] and declares [2,4]; with that, the product has no common dim.
  const std::string first = layer("1", "ReLU", inputs(port("0", "2,3")) + outputs(port("1", "2,4")));
  const std::string product =
      layer("3", "MatMul", inputs(port("0", "2,3") + port("1", "3,5")) + outputs(port("2", "2,5")));
  const auto found =
      validate(net(parameter("0", "2,3") + first + parameter("2", "3,5") + product + result("4", "2,5"),
                   edge("0:0 1:0") + edge("1:1 3:0") + edge("2:0 3:1") + edge("3:2 4:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].layer.id == "1");
  REQUIRE(found[0].consequences.size() == 2);
  CHECK(found[0].consequences[1].layer.type == "MatMul");
}

TEST_CASE("an output that is declared wrongly behind a failure is named, not the right one behind it") {
  // Layer 1 declares [2,4] for [2,3]. With that the product fails; by what its port says it gives [2,5],
  // and declares [2,6].
  const std::string first = layer("1", "ReLU", inputs(port("0", "2,3")) + outputs(port("1", "2,4")));
  const std::string product =
      layer("3", "MatMul", inputs(port("0", "2,3") + port("1", "3,5")) + outputs(port("2", "2,6")));
  const std::string last = layer("4", "ReLU", inputs(port("0", "2,5")) + outputs(port("1", "2,5")));
  const auto found = validate(
      net(parameter("0", "2,3") + first + parameter("2", "3,5") + product + last + result("5", "2,5"),
          edge("0:0 1:0") + edge("1:1 3:0") + edge("2:0 3:1") + edge("3:2 4:0") + edge("4:1 5:0")));
  REQUIRE(found.size() == 2);
  CHECK(found[0].layer.id == "1");
  CHECK(found[1].layer.id == "3");
  CHECK(found[1].message ==
        "dim 1 of output port 2 is declared 6, inference gives 5: columns of input 1 = 5, declared 6");
}

TEST_CASE("an output that repeats a wrong declaration in its input port follows from it, too") {
  // Layer 2 says that 5 flows in and 4 out.
  const auto found = validate(row({{"1,4", "1,5"}, {"1,5", "1,4"}}, "1,4", "1,4"));
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].consequences.size() == 1);
  CHECK(found[0].consequences[0].layer.id == "2");
}

TEST_CASE("declared types have consequences, too") {
  const std::string first =
      layer("1", "ReLU", inputs(port("0", "4")) + outputs(port("1", "4", R"(precision="I32")")));
  const std::string second = layer("2", "ReLU", inputs(port("0", "4")) + outputs(port("1", "4")));
  const auto found = validate(net(parameter("0", "4") + first + second + result("3", "4"),
                                  edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "IR-precision-mismatch");
  CHECK(found[0].found == "I32");
  CHECK(found[0].expected == "FP32");
  CHECK(found[0].consequences.size() == 2);
}

// "found | expected | rule" of the one error, and the port when there is one.
std::string compared(std::string_view text) {
  const std::vector<Diagnostic> found = ir::read_and_check(ModelFiles(text).xml()).diagnostics;
  REQUIRE(found.size() == 1);
  const std::string port = found[0].port.id.empty() ? "" : " at " + found[0].port.id;
  return found[0].found + " | " + found[0].expected + " | " + found[0].rule + port;
}

std::string two_inputs(std::string_view type, std::string_view first, std::string_view second) {
  return net(
      parameter("0", first) + parameter("1", second) +
          layer("2", type, inputs(port("10", first) + port("11", second)) + outputs(port("12", first))) +
          result("3", first),
      edge("0:0 2:10") + edge("1:0 2:11") + edge("2:12 3:0"));
}

TEST_CASE("what an operation compares stands apart for programs") {
  CHECK(compared(
            chain("MaxPool",
                  R"(<data strides="1,1" pads_begin="0,1" pads_end="0,0" kernel="2,5" rounding_type="floor" )"
                  R"(auto_pad="explicit"/>)",
                  "1,1,3,3")) == "5 | at most 4 | 1 + 3 + 0 = 4");
  CHECK(compared(chain("SoftMax", R"(<data axis="4"/>)", "1,2", "opset8")) == "4 | [-2, 2) | for rank 2");
  CHECK(compared(two_inputs("MatMul", "2,3", "4,5")) == "4 | 3 |  at 11");
  CHECK(compared(two_inputs("Add", "2,3", "4,3")) == "[4,3] | [2,3] | axis 0 would be 2 and 4 at 11");
  CHECK(compared(chain("ReorgYolo", R"(<data stride="2"/>)", "1,3,4,4", "opset2")) ==
        "3 | at least 4 | stride^2 = 4 at 0");
  CHECK(compared(chain("DepthToSpace", R"(<data mode="blocks_first" block_size="2"/>)", "1,3,4,4")) ==
        "3 | a multiple of 4 |  at 0");
}

TEST_CASE("reading reports the same, and counts consequences") {
  const Lines found = ModelFiles(row({{"1,4", "1,5"}, {"1,4", "1,4"}}, "1,4", "1,4")).findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].ends_with(
      "[IR-shape-mismatch]\n  hint: what reads the port declares what inference gives: mend "
      "the port\n  2 more findings follow from this one"));
}

// Hints of all findings; "-" for those without.
Lines hints(const std::string& text) {
  Lines lines;
  for (const Diagnostic& finding : validate(text)) lines.push_back(finding.hint.empty() ? "-" : finding.hint);
  return lines;
}

// A convolution of an image [1,3,8,8] with filters 3x3, as the attributes and ports say.
std::string convolution(const std::string& strides, const std::string& declared, const std::string& read) {
  const std::string data =
      "<data auto_pad=\"explicit\" dilations=\"1,1\" pads_begin=\"1,1\" pads_end=\"1,1\" strides=\"" +
      strides + "\"/>";
  return net(
      parameter("0", "1,3,8,8") + parameter("1", "5,3,3,3") +
          layer("2", "Convolution",
                data + inputs(port("0", "1,3,8,8") + port("1", "5,3,3,3")) + outputs(port("2", declared))) +
          layer("3", "ReLU", inputs(port("0", read)) + outputs(port("1", read))) + result("4", read),
      edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("3:1 4:0"));
}

TEST_CASE("who agrees with a wrong port says whether port or attribute is to be mended") {
  CHECK(hints(convolution("1,1", "1,5,8,9", "1,5,8,8")) ==
        Lines{"what reads the port declares what inference gives: mend the port"});
  CHECK(hints(convolution("2,2", "1,5,8,8", "1,5,8,8")) ==
        Lines{R"(strides="1, 1" would give what the port and what reads it declare)", "-"});
  CHECK(hints(convolution("1,1", "1,5,8,6", "1,5,8,6")) ==
        Lines{R"(dilations="1, 2" would give what the port and what reads it declare)"});
}

TEST_CASE("attributes with which inference would not fail are named") {
  const auto hint_of = [](const std::string& axis) {
    return hints(net(parameter("0", "2,3") + parameter("1", "2,4") +
                         layer("2", "Concat",
                               "<data axis=\"" + axis + "\"/>" + inputs(port("0", "2,3") + port("1", "2,4")) +
                                   outputs(port("2", "2,7"))) +
                         result("3", "2,7"),
                     edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0")));
  };
  CHECK(hint_of("0") == Lines{R"(axis="1" would fit, and give what is declared)"});
  CHECK(hint_of("5") == Lines{R"(axis="1" would fit, and give what is declared)"});
  CHECK(hint_of("1").empty());
}

TEST_CASE("a parameter whose attribute contradicts all that is declared is to be mended itself") {
  CHECK(hints(row({{"1,4", "1,4"}}, "1,9", "1,4")) ==
        Lines{R"(shape="1,4" would give what the port and what reads it declare)"});
}

TEST_CASE("a wrong input says where its value comes from") {
  const auto found = validate(row({{"1,4", "1,4"}}, "1,9", "1,9"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == "output port 0 of layer 'n0' in line 2 comes by the edge in line 6");
  const std::string product =
      layer("2", "MatMul", inputs(port("0", "2,3") + port("1", "4,5")) + outputs(port("2", "2,5")));
  CHECK(hints(net(parameter("0", "2,3") + parameter("1", "4,5") + product + result("3", "2,5"),
                  edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0"))) ==
        Lines{"output port 0 of layer 'n1' in line 3 comes by the edge in line 8"});
}

TEST_CASE("dims in another order are one finding, with the order that is right") {
  const auto found = validate(row({{"1,3,8,8", "1,8,8,3"}, {"1,3,8,8", "1,3,8,8"}}, "1,3,8,8", "1,3,8,8"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "dim 1 of output port 1 is declared 8, inference gives 3");
  CHECK(found[0].hint ==
        "the port declares [1,8,8,3], which are the dims of [1,3,8,8] in another order; what reads the port "
        "declares what inference gives: mend the port");
  CHECK(found[0].consequences.front().message == "dim 3 of output port 1 is declared 3, inference gives 8");
  // An input port by itself.
  const auto at_input = validate(row({{"3,1", "1,3"}}, "1,3", "1,3"));
  REQUIRE(at_input.size() == 1);
  CHECK(at_input[0].consequences.size() == 1);
}

TEST_CASE("an input port that alone is wrong is to be mended") {
  CHECK(hints(row({{"1,5", "1,4"}}, "1,4", "1,4")) ==
        Lines{"what comes in gives what the layer's outputs declare: mend the port"});
}

TEST_CASE("inputs that changed places are one finding") {
  const std::string product =
      layer("2", "MatMul", inputs(port("0", "2,3") + port("1", "3,5")) + outputs(port("2", "2,5")));
  const auto found =
      validate(net(parameter("0", "2,3") + parameter("1", "3,5") + product + result("3", "2,5"),
                   edge("0:0 2:1") + edge("1:0 2:0") + edge("2:2 3:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "dim 0 of input port 0 is declared 2, inference gives 3");
  CHECK(found[0].hint ==
        "inputs 0 and 1 have what the other one declares: see whether their edges are crossed");
  // The other dims, and what the product would make of them.
  CHECK(found[0].consequences.size() == 4);
}

TEST_CASE("a dim that is declared unknown and is known is noted") {
  const std::string text = row({{"-1,4", "-1,4"}}, "2,4", "2,4");
  CHECK(validated(text).empty());
  const Lines found = validated_with_notes(text);
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "model.xml:3:139: note: layer 'n1' (ReLU, id 1): output port 1 is declared [?,4], inference gives "
        "[2,4] "
        "[IR-dim-sharper]");
}

// Layer 2 reshapes [2,6] to what constant 1 says; layers 3 and 4 read that, declared as the arguments say.
std::string reshaped(const std::string& output, const std::string& input, const std::string& other_input) {
  const auto i64 = [](const std::string& id, const std::string& dims) {
    return port(id, dims, R"(precision="I64")");
  };
  const std::string target = layer(
      "1", "Const", R"(<data element_type="i64" shape="2" offset="0" size="16"/>)" + outputs(i64("0", "2")));
  const std::string reshape =
      layer("2", "Reshape",
            R"(<data special_zero="true"/>)" + inputs(port("0", "2,6") + i64("1", "2")) +
                outputs(port("2", output)));
  const auto relu = [](const std::string& id, const std::string& dims) {
    return layer(id, "ReLU", inputs(port("0", dims)) + outputs(port("1", dims)));
  };
  return net(parameter("0", "2,6") + target + reshape + relu("3", input) + relu("4", other_input) +
                 result("5", input) + result("6", other_input),
             edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("2:2 4:0") + edge("3:1 5:0") +
                 edge("4:1 6:0"));
}

TEST_CASE("without weights, what depends on them is compared with what other layers declare of it") {
  CHECK(validated(reshaped("3,4", "3,4", "3,4")).size() == 1);  // the note
  const auto found = validate(reshaped("3,4", "3,5", "3,5"));
  REQUIRE(found.size() == 2);
  CHECK(found[0].code == "IR-shape-mismatch");
  CHECK(found[0].layer.id == "3");
  CHECK(found[0].message == "dim 1 of input port 0 is declared 5, inference gives 4");
  CHECK(found[0].hint ==
        "without weights, output port 2 of layer 'n2' in line 4 is taken as declared: see which is right");
  // What the layer declares behind it, and the other layer that reads the value.
  REQUIRE(found[0].consequences.size() == 3);
  CHECK(found[0].consequences[1].layer.id == "4");
  CHECK(found[1].code == "IR-weights-unchecked");
  // Behind it, dims are inferred.
  std::string wrong = reshaped("3,4", "3,4", "3,4");
  const auto at = wrong.find("<dim>4</dim></port></output></layer>\n<layer id=\"5\"");
  wrong.replace(at, 12, "<dim>7</dim>");
  const auto behind = validate(wrong);
  REQUIRE(behind.size() == 2);
  CHECK(behind[0].layer.id == "4");
  CHECK(behind[0].message == "dim 1 of output port 1 is declared 7, inference gives 4");
}

TEST_CASE("what is declared does not stand in for what reading infers") {
  ir::ReadOptions options;
  options.without_weights = true;
  const auto model = ModelFiles(reshaped("3,4", "3,4", "3,4")).read(options);
  CHECK(model->outputs()[0].shape == ir::PartialShape::of_rank(2));
}

TEST_CASE("outputs that are not declared are noted, outputs without precision warned of") {
  const std::string axis = layer("1", "Const",
                                 R"(<data element_type="i64" shape="" offset="0" size="8"/>)" +
                                     outputs(port("0", "", R"(precision="I64")")));
  const std::string split =
      layer("2", "Split",
            R"(<data num_splits="2"/>)" + inputs(port("0", "2") + port("1", "", R"(precision="I64")")) +
                outputs(port("2", "1", "")));
  const std::string text = net(parameter("0", "2") + axis + split + result("3", "1"),
                               edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0"));
  const ModelFiles files(text, std::string(8, '\0'));
  CHECK(files.validated() ==
        Lines{"model.xml:4:185: warning: layer 'n2' (Split, id 2): output port 2 states no precision "
              "[IR-precision-missing]\n  hint: OpenVINO needs it; inference gives it here"});
  CHECK(validated_with_notes(text)[0] ==
        "model.xml:4:1: note: layer 'n2' (Split, id 2): 1 output port is declared, Split gives 2 "
        "[IR-output-undeclared]");
}

TEST_CASE("warnings are errors when asked for, and notes stay notes") {
  ir::ValidateOptions options;
  options.strict = true;
  options.notes = true;
  const ModelFiles files(net(parameter("0", "1") + parameter("1", "1") + result("2", "1"), edge("0:0 2:0")));
  const std::vector<Diagnostic> found = ir::validate(files.xml(), {}, options);
  REQUIRE(found.size() == 2);
  CHECK(found[0].code == "IR-layer-unused");
  CHECK(found[0].severity == ir::Severity::error);
  CHECK(found[1].severity == ir::Severity::note);
}

TEST_CASE("validating throws nothing, whatever there is") {
  CHECK(ir::validate("/nonexistent/model.xml").at(0).code == "IR-file");
  CHECK(ir::validate("").at(0).code == "IR-file");
  CHECK(ir::validate(std::string(5000, 'x')).at(0).code == "IR-file");
  CHECK(validated("<net") == Lines{validated("<net").at(0)});
  CHECK(validated("").at(0).find("[IR-xml]") != std::string::npos);
}

}  // namespace
