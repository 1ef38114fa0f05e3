// Bounds on what a file may ask for.
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

bool mentions(const Lines& lines, const std::string& text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("a limit is named with its value, and the model within it is read") {
  ir::ReadOptions options;
  const std::string text = chain("ReLU", "", "1,2");
  SECTION("layers") {
    options.limits.max_layers = 3;
    CHECK(findings(text, options).empty());
    options.limits.max_layers = 2;
    CHECK(findings(text, options) ==
          ir::test::Lines{"model.xml:4:1: error: more layers than the limit max_layers of 2 [IR-limit]"});
  }
  SECTION("edges") {
    options.limits.max_edges = 2;
    CHECK(findings(text, options).empty());
    options.limits.max_edges = 1;
    CHECK(findings(text, options) ==
          ir::test::Lines{"model.xml:7:1: error: more edges than the limit max_edges of 1 [IR-limit]"});
  }
  SECTION("ports") {
    const std::string ports =
        layer("0", "Parameter",
              R"(<data element_type="f32" shape="1"/>)" + outputs(port("0", "1") + port("1", "1")));
    options.limits.max_ports_per_layer = 1;
    CHECK(findings(text, options).empty());
    CHECK(mentions(findings(net(ports, ""), options),
                   "more ports than the limit max_ports_per_layer of 1 [IR-limit]"));
  }
  SECTION("rank") {
    options.limits.max_rank = 2;
    CHECK(findings(text, options).empty());
    options.limits.max_rank = 1;
    CHECK(
        mentions(findings(text, options), "port '0' has more dims than the limit max_rank of 1 [IR-limit]"));
  }
  SECTION("rank of a constant") {
    const std::string constant =
        layer("0", "Const", R"(<data element_type="f32" shape="1,1,1" offset="0" size="4"/>)");
    options.limits.max_rank = 2;
    CHECK(mentions(findings(net(constant, ""), options),
                   "the constant has 3 dims, the limit max_rank is 2 [IR-limit]"));
  }
  SECTION("length of an attribute") {
    options.limits.max_attribute_bytes = 3;
    CHECK(findings(text, options).empty());
    options.limits.max_attribute_bytes = 2;
    CHECK(mentions(findings(text, options),
                   "the attribute 'shape' has 3 bytes, the limit max_attribute_bytes is 2 [IR-limit]"));
  }
  SECTION("entries of an attribute") {
    options.limits.max_attribute_entries = 2;
    CHECK(findings(text, options).empty());
    options.limits.max_attribute_entries = 1;
    CHECK(mentions(findings(text, options),
                   "the attribute 'shape' has 2 entries, the limit max_attribute_entries is 1 [IR-limit]"));
  }
  SECTION("elements and attributes") {
    const std::string small =
        "<?xml version=\"1.0\"?><!-- <a b='c'> --><net name=\"a>b\" version='11'>\n<layers/></net>";
    options.limits.max_xml_elements = 4;
    CHECK(findings(small, options).empty());
    options.limits.max_xml_elements = 3;
    CHECK(
        findings(small, options) ==
        Lines{"model.xml:2:1: error: more elements, attributes and texts than the limit max_xml_elements of "
              "3 [IR-limit]"});
  }
  SECTION("attributes of an element") {
    options.limits.max_attributes_per_element = 4;
    CHECK(findings(text, options).empty());
    options.limits.max_attributes_per_element = 3;
    CHECK(
        findings(text, options) ==
        Lines{"model.xml:2:1: error: the element has 4 attributes, the limit max_attributes_per_element is 3 "
              "[IR-limit]"});
  }
  SECTION("values that inference knows") {
    const std::string shapes = net(
        parameter("0", "4,5") +
            layer("1", "ShapeOf", inputs(port("0", "4,5")) + outputs(port("1", "2", R"(precision="I64")"))) +
            layer("2", "ShapeOf",
                  inputs(port("0", "2", R"(precision="I64")")) +
                      outputs(port("1", "1", R"(precision="I64")"))) +
            result("3", "1", R"(precision="I64")"),
        edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0"));
    CHECK(findings(shapes, options).empty());
    options.limits.max_known_bytes = 15;
    CHECK(mentions(findings(shapes, options),
                   "layer 'n1' (ShapeOf, id 1): the values that are known before the model "
                   "runs take "));
    CHECK(mentions(findings(shapes, options),
                   " bytes up to this layer, the limit max_known_bytes is 15 [IR-limit]"));
    // Of two dims one is known, as an integer and as a float.
    const std::string floats = net(
        layer("0", "Parameter", R"(<data element_type="f32" shape="?,5"/>)" + outputs(port("0", "-1,5"))) +
            layer("1", "ShapeOf", inputs(port("0", "-1,5")) + outputs(port("1", "2", R"(precision="I64")"))) +
            layer("2", "Convert",
                  R"(<data destination_type="f32"/>)" + inputs(port("0", "2", R"(precision="I64")")) +
                      outputs(port("1", "2"))) +
            result("3", "2"),
        edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0"));
    options.limits.max_known_bytes = static_cast<std::int64_t>(2 * sizeof(ir::Dimension));
    CHECK(
        mentions(findings(floats, options), "layer 'n2' (Convert, id 2): the values that are known before"));
  }
  SECTION("depth of annotations") {
    options.limits.max_body_depth = 2;
    CHECK(findings("<net name=\"a\" version=\"11\"><layers/><rt_info><a><b/></a></rt_info></net>", options)
              .empty());
    CHECK(findings("<net name=\"a\" version=\"11\"><layers/><rt_info><a><b><c/></b></a></rt_info></net>",
                   options) == Lines{"model.xml:1:52: error: elements are nested deeper than the limit "
                                     "max_body_depth of 2 [IR-limit]"});
  }
}

TEST_CASE("findings beyond the limit are counted and left out, by severity") {
  ir::ReadOptions options;
  options.limits.max_diagnostics = 2;
  std::string layers;
  for (const std::string id : {"0", "1", "2", "3", "4"}) layers += layer(id, "Nothing", "");
  const Lines found = findings(net(layers, ""), options);
  REQUIRE(found.size() == 3);
  CHECK(found[2] ==
        "model.xml: error: 3 more errors were found and left out: the limit max_diagnostics is 2 "
        "[IR-findings-left-out]\n  hint: mend those that are shown first, or raise the limit");
  // Warnings that fill their list leave room for errors.
  const std::string warned = R"(<data element_type="f32" shape="1" colour="" taste="" smell=""/>)";
  const ir::ReadResult result = ir::read_and_check(
      ModelFiles(net(layer("0", "Parameter", warned) + layers.substr(layers.find('\n') + 1), "")).xml(), {},
      options);
  CHECK(result.model == nullptr);
  REQUIRE(result.diagnostics.size() == 6);
  CHECK(result.diagnostics[1].severity == ir::Severity::warning);
  CHECK(result.diagnostics[3].severity == ir::Severity::error);
  CHECK(result.diagnostics[3].stands_for == 1);
  CHECK(result.diagnostics[4].severity == ir::Severity::error);
  CHECK(result.diagnostics[4].stands_for == 2);
  CHECK(result.diagnostics[5].severity == ir::Severity::warning);
  CHECK(result.diagnostics[5].message ==
        "1 more warning was found and left out: the limit max_diagnostics is 2");
}

TEST_CASE("consequences beyond the limit are counted, and take no room of other findings") {
  ir::ReadOptions options;
  options.limits.max_diagnostics = 2;
  std::string layers;
  for (const std::string id : {"0", "1", "2", "3"})
    layers += layer(id, "ReLU", inputs(port("0", "1")) + outputs(port("1", "1")));
  const std::string text =
      "<net name=\"a\" version=\"11\"><layers>\n" + layers + layer("4", "Nothing", "") + "</layers></net>";
  const ir::ReadResult result = ir::read_and_check(ModelFiles(text).xml(), {}, options);
  REQUIRE(result.diagnostics.size() == 2);
  CHECK(result.diagnostics[0].consequences.size() == 2);
  CHECK(result.diagnostics[0].more_consequences == 2);
  CHECK(to_string(result.diagnostics[0]).ends_with("\n  4 more findings follow from this one"));
  CHECK(result.diagnostics[1].code == "IR-operation-unknown");
}

}  // namespace
