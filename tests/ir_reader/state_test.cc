// Stateful models as files: variables are checked, and survive being written.
#include "ir_runtime/ops/state.h"
#include "ir_runtime/compiled_model.h"
#include "ir_runtime/write_model.h"
#include "runtime/ops/fields.h"
#include "tests/ir_reader/support.h"

namespace ir::test {
namespace {

std::string data_of(const std::string& attributes) { return "<data " + attributes + "/>"; }

std::string read_value(const std::string& id, const std::string& attributes, const std::string& version) {
  return layer(id, "ReadValue", data_of(attributes) + inputs(port("0", "2")) + outputs(port("1", "2")),
               version);
}

std::string assign(const std::string& id, const std::string& attributes, const std::string& version) {
  return layer(id, "Assign", data_of(attributes) + inputs(port("0", "2")) + outputs(port("1", "2")), version);
}

std::string add(const std::string& id) {
  return layer(id, "Add", inputs(port("0", "2") + port("1", "2")) + outputs(port("2", "2")));
}

// x -> ReadValue; ReadValue + x -> Assign, Result.
std::string sum_model(const std::string& version, const std::string& more = "") {
  return net(parameter("0", "2") + read_value("1", R"(variable_id="v")" + more, version) + add("2") +
                 assign("3", R"(variable_id="v")", version) + result("4", "2"),
             edge("0:0 1:0") + edge("1:1 2:0") + edge("0:0 2:1") + edge("2:2 3:0") + edge("2:2 4:0"));
}

void check_runs(const Model& model) {
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  for (const float expected : {2.0F, 3.0F, 4.0F}) {
    request.set_input_tensor(0, Tensor::of<float>({2}, {1, 2}));
    request.infer();
    const Tensor sum = request.output_tensor(0);
    CHECK(sum.data<float>()[0] == expected);
    CHECK(sum.data<float>()[1] == 2 * expected);
  }
}

}  // namespace

TEST_CASE("stateful models of every opset are read and run") {
  for (const char* version : {"opset3", "opset5", "opset6", "opset15"}) {
    INFO(version);
    const ModelFiles files(sum_model(version));
    CHECK(files.findings().empty());
    check_runs(*files.read());
  }
  const ModelFiles declared(sum_model("opset6", R"( variable_type="f32" variable_shape="?")"));
  CHECK(declared.findings() == Lines{});
  check_runs(*declared.read());
}

TEST_CASE("stateful models survive being written and read") {
  for (const auto& [version, more] : std::vector<std::pair<std::string, std::string>>{
           {"opset3", ""}, {"opset6", ""}, {"opset6", R"( variable_type="f32" variable_shape="..8")"}}) {
    const ModelFiles files(sum_model(version, more));
    const auto model = files.read();
    write_model(*model, files.folder() / "again.xml");
    const auto again = read_model(files.folder() / "again.xml");
    REQUIRE(again->nodes().size() == model->nodes().size());
    for (std::size_t i = 0; i < model->nodes().size(); ++i) {
      const Op& before = model->nodes()[i]->op();
      const Op& after = again->nodes()[i]->op();
      REQUIRE(&before.op_class_record() == &after.op_class_record());
      CHECK(fields_equal(before.op_class_record().fields, before.descriptor(), after.descriptor()));
    }
    check_runs(*again);
  }
}

TEST_CASE("a ReadValue without input is read, written and read") {
  const ModelFiles files(net(parameter("0", "2") +
                                 layer("1", "ReadValue",
                                       data_of(R"(variable_id="v" variable_type="f32" variable_shape="2")") +
                                           outputs(port("0", "2")),
                                       "opset6") +
                                 add("2") + assign("3", R"(variable_id="v")", "opset6") + result("4", "2"),
                             edge("1:0 2:0") + edge("0:0 2:1") + edge("2:2 3:0") + edge("2:2 4:0")));
  CHECK(files.findings().empty());
  write_model(*files.read(), files.folder() / "again.xml");
  const auto again = read_model(files.folder() / "again.xml");
  const auto* read = again->nodes()[1]->op().as<op::v6::ReadValue>();
  REQUIRE(read != nullptr);
  CHECK(read->variable_shape == PartialShape{2});
}

TEST_CASE("variables that do not fit together are reported where they stand") {
  const auto single = [](const std::string& layer_text) {
    return findings(
        net(parameter("0", "2") + layer_text + result("2", "2"), edge("0:0 1:0") + edge("0:0 2:0")));
  };
  CHECK(
      single(assign("1", R"(variable_id="v")", "opset6")) ==
      Lines{"model.xml:3:1: error: layer 'n1' (Assign, id 1): the variable 'v' is assigned, but no ReadValue "
            "reads it [IR-variable-unread]"});
  CHECK(single(read_value("1", R"(variable_id="v")", "opset6")) ==
        Lines{"model.xml:3:1: warning: layer 'n1' (ReadValue, id 1): the variable 'v' is read, but no Assign "
              "assigns it [IR-variable-unassigned]"});
  const std::string integer = layer("1", "ReadValue",
                                    data_of(R"(variable_id="v" variable_type="i32" variable_shape="2")") +
                                        outputs(port("0", "2", R"(precision="I32")")),
                                    "opset6");
  CHECK(
      findings(
          net(parameter("0", "2") + integer + assign("3", R"(variable_id="v")", "opset6") + result("4", "2"),
              edge("0:0 3:0") + edge("0:0 4:0"))) ==
      Lines{
          "model.xml:4:1: error: layer 'n3' (Assign, id 3): the variable 'v' is assigned as f32, layer 'n1' "
          "reads it as i32 [IR-variable-type]"});
  CHECK(
      findings(net(parameter("0", "2") + read_value("1", R"(variable_id="v")", "opset6") +
                       assign("2", R"(variable_id="v")", "opset6") +
                       assign("3", R"(variable_id="v")", "opset6") + result("4", "2"),
                   edge("0:0 1:0") + edge("1:1 2:0") + edge("1:1 3:0") + edge("1:1 4:0"))) ==
      Lines{"model.xml:5:1: warning: layer 'n3' (Assign, id 3): the variable 'v' is assigned twice; the last "
            "one counts [IR-variable-twice]"});
}

TEST_CASE("attributes of stateful layers are checked") {
  CHECK(
      findings(sum_model("opset6", R"( variable_type="f32" variable_shape="3")")) ==
      Lines{
          "model.xml:3:1: error: layer 'n1' (ReadValue, id 1): input 0 has shape [2], variable_shape is [3] "
          "[IR-shape]\n  hint: variable_shape=\"2\" would fit, and give what is declared"});
}

}  // namespace ir::test
