// Read, write and read again: the same network, names and annotations.
#include <optional>

#include "ir_reader/difference.h"
#include "ir_reader/ir_version.h"
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/validate.h"
#include "ir_runtime/write_model.h"
#include "samples/run_ir/case_runner.h"
#include "samples/run_ir/round_trip.h"
#include "tests/ir_reader/support.h"
#include "tests/repository.h"

namespace {

using ir::test::bytes_of;
using ir::test::chain;
using ir::test::edge;
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
using ir::test::TemporaryFolder;

void check_same(const ir::Model& a, const ir::Model& b) {
  const std::string none;
  CHECK(ir::reader::difference(a, b).value_or(none) == none);
}

std::shared_ptr<ir::Model> written_and_read(const ir::Model& model, const TemporaryFolder& folder,
                                            std::optional<int> version = std::nullopt) {
  ir::WriteOptions options;
  options.ir_version = version;
  ir::write_model(model, folder.path() / "again.xml", options);
  return ir::read_model(folder.path() / "again.xml");
}

// Reads, writes and reads a model that is given as text; what was written is in `folder`.
std::shared_ptr<ir::Model> again(const std::string& xml, const TemporaryFolder& folder,
                                 std::string_view weights = {}) {
  const ModelFiles files(xml, weights);
  const auto model = files.read();
  auto result = written_and_read(*model, folder);
  check_same(*model, *result);
  return result;
}

TEST_CASE("every shipped model survives being read, written and read") {
  for (const auto& path : run_ir::find_cases({(ir::test::repository() / "models").string()})) {
    INFO(path);
    const auto model = ir::read_model(path.parent_path() / "model.xml");
    const TemporaryFolder folder;
    check_same(*model, *written_and_read(*model, folder));
    // The writer made these files, so it makes the same ones again.
    const auto same_file = [&](const std::string& a, const std::string& b) {
      return bytes_of(folder.path() / a) == bytes_of(path.parent_path() / b);
    };
    CHECK(same_file("again.xml", "model.xml"));
    CHECK(same_file("again.bin", "model.bin"));
  }
}

TEST_CASE("shipped models run alike from both versions") {
  for (const auto& path : run_ir::find_cases({(ir::test::repository() / "models").string()})) {
    INFO(path);
    CHECK(run_ir::run_round_trip(path, {}) == kNoFindings);
  }
}

TEST_CASE("names, rt_info and meta data survive") {
  const std::string in =
      layer("0", "Parameter",
            R"(<data element_type="f32" shape="?,2..8"/>)"
            R"(<rt_info><attribute name="fused_names" version="0" value="a&quot;b&#10;&lt;"/></rt_info>)"
            R"(<output><port id="0" precision="FP32" names="x,y\,z"><dim>-1</dim><dim>-1</dim>)"
            R"(<rt_info><attribute name="layout" version="0" layout="[N,C]"/></rt_info></port></output>)");
  const std::string out = R"(<layer id="1" name="r" type="Result" version="opset1" output_names="p,q\,r">)"
                          R"(<input><port id="0" precision="FP32"><dim>-1</dim><dim>-1</dim>)"
                          R"(<rt_info><a/></rt_info></port></input></layer>)";
  std::string text = net(in + out, edge("0:0 1:0"));
  text.insert(text.find("</net>"),
              R"(<rt_info><MO_version value="2024.1"/><conversion_parameters><framework value="onnx"/>)"
              R"(</conversion_parameters></rt_info><quantization_parameters><config> {"a &lt; b":)"
              "\n  1}</config><cli><![CDATA[--x <y>]]><!-- gone --></cli></quantization_parameters>");
  const TemporaryFolder folder;
  const auto model = again(text, folder);
  CHECK(ModelFiles(text).findings() == kNoFindings);
  CHECK(model->inputs()[0].names == std::vector<std::string>{"x", "y,z"});
  CHECK(model->outputs()[0].names == std::vector<std::string>{"p", "q,r"});
  const ir::Node& parameter = *model->nodes()[0];
  CHECK(parameter.annotations().children.at(0).attributes.at(2).second == "a\"b\n<");
  CHECK(parameter.output_annotations(0).children.at(0).attributes.at(2).second == "[N,C]");
  CHECK(model->nodes()[1]->input_annotations(0).children.at(0).name == "a");
  const auto& entries = model->annotations().children;
  CHECK(entries.at(0).children.at(0).attributes.at(0).second == "2024.1");
  CHECK(entries.at(1).children.at(0).text == " {\"a < b\":\n  1}");
  CHECK(entries.at(1).children.at(1).text == "--x <y>");
}

TEST_CASE(
    "tensor names with commas and backslashes survive, or are refused where no reader could part them") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.xml";
  using Names = std::vector<std::string>;
  const auto names_again = [&](const Names& names) {
    ir::Model model("m");
    ir::Node& parameter = model.add_parameter(ir::ElementType::f32, {1}, "in");
    parameter.set_output_names(0, names);
    model.add_result(parameter, "out");
    ir::write_model(model, path);
    return ir::read_model(path)->nodes()[0]->output_names(0);
  };
  for (const Names& names :
       {Names{"a,b", "\\c", "d\\,e", "f\\\\,"}, Names{"a", "b\\"}, Names{"\\"}, Names{","}})
    CHECK(names_again(names) == names);
  CHECK_THROWS_WITH(names_again({"a", "b\\", "c"}),
                    ir::test::contains_text("layer 'in': the tensor name 'b\\' ends in a backslash"));
}

TEST_CASE("shapes of parameters survive as they are, and ports show what is unknown") {
  const TemporaryFolder folder;
  for (const std::string shape : {"...", "", "?,2..8,3..,..4", "0,5"}) {
    INFO(shape);
    const auto declared = shape == "..." || shape.empty() ? "" : shape == "0,5" ? "0,5" : "-1,-1,-1,-1";
    const std::string text =
        net(layer("0", "Parameter",
                  "<data element_type=\"f32\" shape=\"" + shape + "\"/>" + outputs(port("0", declared))) +
                layer("1", "ReLU", inputs(port("0", declared)) + outputs(port("1", declared))) +
                layer("2", "Result", inputs(port("0", declared))),
            edge("0:0 1:0") + edge("1:1 2:0"));
    const auto model = again(text, folder);
    const std::string bracketed = "[" + shape + "]";
    CHECK(ir::to_string(model->inputs()[0].shape) == bracketed);
    CHECK(ir::read_and_check(folder.path() / "again.xml").diagnostics.empty());
  }
}

// A parameter, and constants of one type each given by `data` attributes, all results.
std::string constants(const std::vector<std::string>& data, const std::vector<std::string>& ports) {
  std::string layers;
  std::string edges;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::string id = std::to_string(i);
    layers += layer(id, "Const", "<data " + data[i] + "/>" + outputs(ports[i]));
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::string id = std::to_string(data.size() + i);
    layers += layer(id, "Result", inputs(ports[i]));
    edges += edge(std::to_string(i) + ":0 " + id + ":0");
  }
  return net(layers, edges);
}

TEST_CASE("constants of packed types, empty ones and strings survive") {
  const std::string text =
      constants({R"(element_type="u4" shape="3" offset="0" size="2")",
                 R"(element_type="u1" shape="9" offset="2" size="2")",
                 R"(element_type="u3" shape="5" offset="4" size="3")",
                 R"(element_type="nf4" shape="1" offset="7" size="1")",
                 R"(element_type="f32" shape="0, 7" offset="8" size="0")",
                 R"(element_type="string" shape="1" offset="8" size="14")"},
                {port("0", "3", R"(precision="U4")"), port("0", "9", R"(precision="BIN")"),
                 port("0", "5", R"(precision="U3")"), port("0", "1", R"(precision="NF4")"), port("0", "0,7"),
                 port("0", "1", R"(precision="STRING")")});
  const std::string bytes(
      "\x21\x03\xFF\x80\x12\x34\x56\x0A"
      "\1\0\0\0\0\0\0\0\2\0\0\0hi",
      22);
  const TemporaryFolder folder;
  (void)again(text, folder, bytes);
  CHECK(bytes_of(folder.path() / "again.bin") == bytes);
}

TEST_CASE("an empty constant needs no bytes") {
  const TemporaryFolder folder;
  (void)again(constants({R"(element_type="f32" shape="0" offset="0" size="0")"}, {port("0", "0")}), folder);
  CHECK(bytes_of(folder.path() / "again.bin").empty());
}

TEST_CASE("constants keep the order of their file, and equal ones share their bytes") {
  const auto data = [](int offset) {
    return R"(element_type="u8" shape="2" offset=")" + std::to_string(offset) + R"(" size="2")";
  };
  const std::string two = port("0", "2", R"(precision="U8")");
  const TemporaryFolder folder;
  const auto model =
      again(constants({data(6), data(0), data(4), data(2)}, {two, two, two, two}), folder, "aabbaadd");
  CHECK(bytes_of(folder.path() / "again.bin") == "aabbdd");
  std::vector<std::int64_t> offsets;
  for (const auto& node : model->nodes()) {
    if (const auto* constant = node->op().as<ir::op::v0::Constant>()) offsets.push_back(constant->offset);
  }
  CHECK(offsets == std::vector<std::int64_t>{4, 0, 0, 2});
}

TEST_CASE("attributes without meaning are not written") {
  const std::string text = chain("ReLU", R"(<data colour="red"/>)", "2");
  const TemporaryFolder folder;
  (void)again(text, folder);
  CHECK(bytes_of(folder.path() / "again.xml").find("colour") == std::string::npos);
}

TEST_CASE("layers are written in an order that reading keeps") {
  const std::string text =
      net(result("9", "2") + layer("7", "ReLU", inputs(port("0", "2")) + outputs(port("1", "2"))) +
              parameter("3", "2"),
          edge("3:0 7:0") + edge("7:1 9:0"));
  const TemporaryFolder folder;
  (void)again(text, folder);

  ir::Model model("late");
  ir::Node& first = model.add_parameter(ir::ElementType::f32, {2}, "first");
  model.add_result(model.add(ir::op::v0::ReLU{}, {first}, "relu"), "early/result");
  ir::Node& second = model.add_parameter(ir::ElementType::f32, {2}, "second");
  model.add_result(model.add(ir::op::v1::Add{}, {first, second}, "sum"), "result");
  check_same(model, *written_and_read(model, folder));
}

std::string halves(std::string_view version) {
  const std::string f16 = R"(precision="FP16")";
  const std::string in = R"(<data element_type="f16" shape="2"/><rt_info><a/></rt_info>)" +
                         outputs(port("0", "2", R"(precision="FP16" names="t")"));
  return net(
      layer("0", "Parameter", in) + layer("1", "Parameter", in) +
          layer("2", "Add",
                R"(<data auto_broadcast="numpy"/>)" + inputs(port("0", "2", f16) + port("1", "2", f16)) +
                    outputs(port("2", "2", R"(precision="FP16" names="sum")"))) +
          R"(<layer id="3" name="r" type="Result" version="opset1" output_names="out">)" +
          inputs(port("0", "2", f16)) + "</layer>\n",
      edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0"), version);
}

TEST_CASE("a model of version 10 keeps its version and survives as version 11, too") {
  const ModelFiles files(halves("10"));
  const auto model = files.read();
  CHECK(model->inputs()[0].type == ir::ElementType::f32);
  CHECK(model->outputs()[0].names == std::vector<std::string>{"sum", "n2"});
  CHECK(model->nodes()[0]->annotations().empty());
  const TemporaryFolder folder;
  for (const std::optional<int> version : {std::optional<int>(), std::optional(10), std::optional(11)}) {
    const auto result = written_and_read(*model, folder, version);
    CHECK(result->ir_version() == version.value_or(10));
    check_same(*model, *result);
  }
}

TEST_CASE("version 10 lacks what came later, and shows f16 as f32") {
  const ModelFiles files(halves("11"));
  const auto model = files.read();
  const TemporaryFolder folder;
  const auto result = written_and_read(*model, folder, 10);
  const std::string written = bytes_of(folder.path() / "again.xml");
  CHECK(written.find("rt_info") == std::string::npos);
  CHECK(written.find("output_names") == std::string::npos);
  CHECK(ir::reader::difference(*model, *result) ==
        "layer 'n0' (Parameter): attribute element_type is 'f16' and 'f32'");
  check_same(*ModelFiles(halves("10")).read(), *result);
  ir::reader::present_as_v10(*model);
  check_same(*model, *result);
}

TEST_CASE("f16 outputs of one layer keep names of their own in version 10") {
  const std::string f16 = R"(precision="FP16")";
  const std::string half = port("0", "1", f16);
  const std::string text =
      net(layer("0", "Parameter", R"(<data element_type="f16" shape="2"/>)" + outputs(port("0", "2", f16))) +
              layer("1", "Const",
                    R"(<data element_type="i64" shape="" offset="0" size="8"/>)" +
                        outputs(port("0", "", R"(precision="I64")"))) +
              layer("2", "Split",
                    R"(<data num_splits="2"/>)" +
                        inputs(port("0", "2", f16) + port("1", "", R"(precision="I64")")) +
                        outputs(port("2", "1", f16) + port("3", "1", R"(precision="FP16" names="b")"))) +
              layer("3", "Result", inputs(half)) + layer("4", "Result", inputs(half)) +
              layer("5", "Result", inputs(half)),
          edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("2:3 4:0") + edge("2:3 5:0"), "10");
  const TemporaryFolder folder;
  const auto model = again(text, folder, std::string(8, '\0'));
  CHECK(model->outputs()[0].names == std::vector<std::string>{"n2.0"});
  CHECK(model->outputs()[1].names == std::vector<std::string>{"b", "n2.1"});
  CHECK(model->outputs()[2].names == std::vector<std::string>{"b"});
}

TEST_CASE("a parameter of version 10 that nothing reads is shown as f32, too") {
  const ModelFiles files(
      net(layer("0", "Parameter",
                R"(<data element_type="f16" shape="2"/>)" + outputs(port("0", "2", R"(precision="FP16")"))),
          "", "10"));
  CHECK(files.read()->inputs()[0].type == ir::ElementType::f32);
}

TEST_CASE("outputs of version 10 are i32 or f32, whatever computes them") {
  const auto shown = [](const std::string& type) {
    const std::string precision = "precision=\"" + type + "\" names=\"t\"";
    const ModelFiles files(net(parameter("0", "2") +
                                   layer("1", "Convert",
                                         R"(<data destination_type=")" + type + R"("/>)" +
                                             inputs(port("0", "2")) + outputs(port("1", "2", precision))) +
                                   result("2", "2"),
                               edge("0:0 1:0") + edge("1:1 2:0"), "10"));
    const auto model = files.read();
    CHECK(model->outputs()[0].names == std::vector<std::string>{"t", "n1"});
    // What is written has no name twice.
    const TemporaryFolder folder;
    (void)written_and_read(*model, folder);
    CHECK(ir::validate(folder.path() / "again.xml").empty());
    return ir::name_of(model->outputs()[0].type);
  };
  for (const char* type : {"i32", "u32", "i64", "u64"}) CHECK(shown(type) == "i32");
  for (const char* type : {"f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "boolean"})
    CHECK(shown(type) == "f32");
}

TEST_CASE("an input of version 10 that is an output, too, keeps its type and names") {
  const std::string i64 = R"(precision="I64" names="t")";
  const ModelFiles files(
      net(layer("0", "Parameter", R"(<data element_type="i64" shape="2"/>)" + outputs(port("0", "2", i64))) +
              result("1", "2"),
          edge("0:0 1:0"), "10"));
  const auto model = files.read();
  CHECK(model->inputs()[0].type == ir::ElementType::i64);
  CHECK(model->inputs()[0].names == std::vector<std::string>{"t", "n0"});
  CHECK(model->outputs()[0].type == ir::ElementType::i32);
  CHECK(model->outputs()[0].names == std::vector<std::string>{"n0/i32"});
}

ir::Model doubled_body() {
  ir::Model body("body");
  ir::Node& value = body.add_parameter(ir::ElementType::f32, {2}, "value");
  body.add_parameter(ir::ElementType::i64, ir::PartialShape::of_rank(0), "iteration");
  ir::Node& goes_on = body.add_constant(ir::Tensor::of<bool>({}, {true}), "goes_on");
  ir::Node& sum = body.add(ir::op::v1::Add{}, {value, value}, "sum");
  body.add_result(sum, "sum/result");
  body.add_result(goes_on, "goes_on/result");
  return body;
}

TEST_CASE("a Loop built in C++ survives, with its body's constants") {
  ir::Model model("with_loop");
  ir::Node& value = model.add_parameter(ir::ElementType::f32, {2}, "value");
  ir::Node& trips = model.add_constant(3, "trips");
  ir::Node& condition = model.add_constant(ir::Tensor::of<bool>({}, {true}), "condition");
  ir::op::v5::Loop loop;
  loop.body.body = std::make_shared<const ir::Model>(doubled_body());
  loop.body.inputs = {{2, 0, std::nullopt, 0}, {-1, 1, std::nullopt, std::nullopt}};
  loop.body.outputs = {{-1, 1, std::nullopt}, {0, 0, std::nullopt}};
  ir::Slicing whole;
  whole.stride = whole.part_size = 2;
  loop.body.outputs.push_back({1, 0, whole});
  ir::Node& looped = model.add(loop, {trips, condition, value}, "loop");
  model.add_result({&looped, 0}, "last");
  model.add_result({&looped, 1}, "all");
  const TemporaryFolder folder;
  check_same(model, *written_and_read(model, folder));
  // Both constants `true` share one byte, behind the 8 of the trip count.
  CHECK(bytes_of(folder.path() / "again.bin").size() == 9);
}

TEST_CASE("an If built in C++ survives") {
  const auto branch = [](const ir::Op& op) {
    ir::Model body;
    ir::Node& value = body.add_parameter(ir::ElementType::f32, {2}, "value");
    body.add_result(body.add(op, {value}, "inner"), "inner/result");
    return std::make_shared<const ir::Model>(body);
  };
  ir::Model model("with_if");
  ir::Node& condition =
      model.add_parameter(ir::ElementType::boolean, ir::PartialShape::of_rank(0), "condition");
  ir::Node& value = model.add_parameter(ir::ElementType::f32, {2}, "value");
  ir::op::v8::If op;
  op.bodies[0].body = branch(ir::op::v0::ReLU{});
  op.bodies[1].body = branch(ir::op::v0::Negative{});
  for (ir::Subgraph& subgraph : op.bodies) {
    subgraph.inputs = {{1, 0, std::nullopt, std::nullopt}};
    subgraph.outputs = {{0, 0, std::nullopt}};
  }
  model.add_result(model.add(op, {condition, value}, "if"), "result");
  const TemporaryFolder folder;
  check_same(model, *written_and_read(model, folder));
}

TEST_CASE("bodies in bodies survive, with annotations and constants of their own") {
  const auto inner_branch = [](float value) {
    ir::Model body;
    ir::Node& in = body.add_parameter(ir::ElementType::f32, {2}, "x");
    ir::Node& constant = body.add_constant(ir::Tensor::of<float>({1}, {value}), "c");
    constant.annotations().children.push_back({"attribute", {{"name", "note"}}, {}, {}});
    body.add_result(body.add(ir::op::v1::Add{}, {in, constant}, "sum"), "sum/result");
    return std::make_shared<const ir::Model>(body);
  };
  ir::op::v8::If branches;
  branches.bodies[0].body = inner_branch(1);
  branches.bodies[1].body = inner_branch(2);
  for (ir::Subgraph& subgraph : branches.bodies) {
    subgraph.inputs = {{1, 0, std::nullopt, std::nullopt}};
    subgraph.outputs = {{0, 0, std::nullopt}};
  }
  ir::Model body;
  ir::Node& x = body.add_parameter(ir::ElementType::f32, {2}, "x");
  ir::Node& yes = body.add_constant(ir::Tensor::of<bool>({}, {true}), "yes");
  body.add_result(body.add(branches, {yes, x}, "if"), "if/result");
  body.add_result(yes, "yes/result");
  ir::op::v5::Loop loop;
  loop.body.body = std::make_shared<const ir::Model>(body);
  loop.body.inputs = {{2, 0, std::nullopt, 0}};
  loop.body.outputs = {{-1, 1, std::nullopt}, {0, 0, std::nullopt}};
  ir::Model model("nested");
  ir::Node& value = model.add_parameter(ir::ElementType::f32, {2}, "value");
  ir::Node& trips = model.add_constant(3, "trips");
  ir::Node& condition = model.add_constant(ir::Tensor::of<bool>({}, {true}), "condition");
  model.add_result(model.add(loop, {trips, condition, value}, "loop"), "result");
  const TemporaryFolder folder;
  check_same(model, *written_and_read(model, folder));
  const auto without = written_and_read(model, folder, 10);
  CHECK(ir::reader::difference(model, *without) ==
        "layer 'loop' (Loop): body 0: layer 'if' (If): body 0: layer 'c' (Const): rt_info: the number of "
        "elements is 1 and 0");
  ir::reader::present_as_v10(model);
  check_same(model, *without);
}

TEST_CASE("weights go where the options say") {
  ir::Model model("m");
  model.add_result(model.add_constant(ir::Tensor::of<std::uint8_t>({1}, {'x'}), "c"), "out");
  const TemporaryFolder folder;
  ir::WriteOptions options;
  options.weights = folder.path() / "else.where";
  ir::write_model(model, folder.path() / "m.xml", options);
  CHECK(bytes_of(options.weights) == "x");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "m.bin"));
  check_same(model, *ir::read_model(folder.path() / "m.xml", options.weights));
}

TEST_CASE("a model can be written over the files that it was read from") {
  const TemporaryFolder folder;
  std::filesystem::copy(ir::test::repository() / "models" / "small_cnn", folder.path());
  const auto model = ir::read_model(folder.path() / "model.xml");
  ir::write_model(*model, folder.path() / "model.xml");
  check_same(*model, *ir::read_model(folder.path() / "model.xml"));
}

TEST_CASE("a model that cannot be written leaves the old files alone") {
  const TemporaryFolder folder;
  const auto small = ir::test::repository() / "models" / "small_cnn";
  std::filesystem::copy(small, folder.path());
  ir::ReadOptions options;
  options.without_weights = true;
  const auto hollow = ir::read_model(folder.path() / "model.xml", {}, options);
  CHECK_THROWS_AS(ir::write_model(*hollow, folder.path() / "model.xml"), ir::Error);
  CHECK(bytes_of(folder.path() / "model.bin") == bytes_of(small / "model.bin"));
  CHECK(bytes_of(folder.path() / "model.xml") == bytes_of(small / "model.xml"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "model.bin.part"));
}

TEST_CASE("what cannot be written is an error, and no half file stays") {
  ir::Model model("m");
  model.add_result(model.add_parameter(ir::ElementType::f32, {1}, "in"), "out");
  const TemporaryFolder folder;
  const auto code = [&](const ir::Model& written, const std::filesystem::path& xml,
                        const ir::WriteOptions& options = {}) {
    try {
      ir::write_model(written, xml, options);
    } catch (const ir::Error& error) {
      return error.code();
    }
    return std::string("none");
  };
  ir::Model mixed("mixed");
  mixed.add_result(*model.parameters()[0], "out");
  CHECK(code(mixed, folder.path() / "model.xml") == "IR-port-unknown");
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(code(model, folder.path() / "absent" / "model.xml") == "IR-file");
  std::filesystem::create_directory(folder.path() / "model.xml");
  CHECK(code(model, folder.path() / "model.xml") == "IR-file");
  ir::ReadOptions options;
  options.without_weights = true;
  const auto hollow =
      ir::read_model(ir::test::repository() / "models" / "small_cnn" / "model.xml", {}, options);
  CHECK(code(*hollow, folder.path() / "hollow.xml") == "IR-constant-missing");
  CHECK(code(model, folder.path() / "same.bin") == "IR-file");
  CHECK(code(model, folder.path() / "new.xml", {{}, 9}) == "IR-version");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

}  // namespace
