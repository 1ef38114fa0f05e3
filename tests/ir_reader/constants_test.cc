// Constants and the weights file.
#include <sys/stat.h>

#include <cstring>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/write_model.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::test::edge;
using ir::test::findings;
using ir::test::layer;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::outputs;
using ir::test::port;
using ir::test::result;

// A model that gives one constant away; <data> starts in column 3 of line 3.
std::string constant(const std::string& attributes, const std::string& dims,
                     const std::string& precision = "FP32") {
  return R"(<net name="a" version="11"><layers>
<layer id="0" name="weights" type="Const" version="opset1">
  <data )" +
         attributes + R"(/>
  )" + outputs(port("0", dims, "precision=\"" + precision + "\"")) +
         R"(</layer>
)" + result("1", dims, "") +
         "</layers><edges>" + edge("0:0 1:0") + "</edges></net>";
}

const ir::Tensor& value_of(const ir::Model& model, std::size_t node) {
  const auto* op = model.nodes()[node]->op().as<ir::op::v0::Constant>();
  REQUIRE(op != nullptr);
  REQUIRE(op->value != nullptr);
  return *op->value;
}

TEST_CASE("a constant is a view into the weights, or a copy where it is not aligned; others may share it") {
  const std::size_t offset = GENERATE(1U, 4U);
  std::string weights(offset, '?');
  const float values[] = {1.5F, -2.0F};
  weights.append(reinterpret_cast<const char*>(values), sizeof values);
  const std::string data =
      R"(<data element_type="f32" shape="2" offset=")" + std::to_string(offset) + R"(" size="8"/>)";
  const ModelFiles files(
      net(layer("0", "Const", data + outputs(port("1", "2"))) +
              layer("1", "Const", data + outputs(port("1", "2"))) + result("2", "2") + result("3", "2"),
          edge("0:1 2:0") + edge("1:1 3:0")),
      weights);
  const auto model = files.read();
  for (const std::size_t node : {0U, 1U}) {
    const ir::Tensor& value = value_of(*model, node);
    CHECK(reinterpret_cast<std::uintptr_t>(value.raw()) % sizeof(float) == 0);
    CHECK(value.data<float>()[0] == 1.5F);
    CHECK(value.data<float>()[1] == -2.0F);
  }
  CHECK(value_of(*model, 0).raw() == value_of(*model, 1).raw());
}

TEST_CASE("constants keep the weights file alive after it is gone") {
  std::shared_ptr<ir::Model> model;
  {
    const ModelFiles files(constant(R"(element_type="u8" shape="3" offset="0" size="3")", "3", "U8"), "abc");
    model = files.read();
  }
  CHECK(value_of(*model, 0).data<std::uint8_t>()[2] == 'c');
}

TEST_CASE("scalars have the shape \"\", packed types round up to bytes") {
  CHECK(ModelFiles(constant(R"(element_type="u8" shape="" offset="2" size="1")", "", "U8"), "abc")
            .findings()
            .empty());
  CHECK(ModelFiles(constant(R"(element_type="u4" shape="5" offset="0" size="3")", "5", "U4"), "abc")
            .findings()
            .empty());
  CHECK(ModelFiles(constant(R"(element_type="u4" shape="7" offset="0" size="3")", "7", "U4"), "abc")
            .findings() == Lines{"model.xml:3:48: error: layer 'weights' (Const, id 0): a constant of type "
                                 "u4 and shape [7] takes 4 bytes, "
                                 "size is 3 [IR-const-size]"});
}

TEST_CASE("a constant beyond the end of the weights is refused") {
  const auto found = [](const std::string& offset, const std::string& size) {
    return ModelFiles(
               constant("element_type=\"u8\" shape=\"2\" offset=\"" + offset + "\" size=\"" + size + "\"",
                        "2", "U8"),
               "abc")
        .findings();
  };
  const std::string start = "model.xml:3:37: error: layer 'weights' (Const, id 0): the constant takes bytes ";
  CHECK(found("1", "2").empty());
  CHECK(found("2", "2") == Lines{start + "2 to 4 of model.bin, which has 3 [IR-const-range]"});
  CHECK(found("9223372036854775807", "9223372036854775807") ==
        Lines{start +
              "9223372036854775807 to 18446744073709551614 of model.bin, which has 3 [IR-const-range]"});
  CHECK(found("-1", "2")[0].find("IR-attribute-value") != std::string::npos);
}

TEST_CASE("a constant's shape must be countable and within the limits") {
  CHECK(findings(constant(R"(element_type="f32" shape="4294967296,4294967296" offset="0" size="4")", "1")) ==
        Lines{"model.xml:3:28: error: layer 'weights' (Const, id 0): a constant of type f32 and shape "
              "[4294967296,4294967296] has no size that can be stored [IR-const-size]"});
  CHECK(findings(constant(R"(element_type="f32" shape="-1" offset="0" size="4")", "1"))[0].find(
            "takes integers of at least 0") != std::string::npos);
  CHECK(findings(constant(R"(element_type="dynamic" shape="1" offset="0" size="4")", "1"))[0].find(
            "IR-const-size") != std::string::npos);
}

TEST_CASE("a model with constants needs its weights, one without does not") {
  CHECK(
      findings(constant(R"(element_type="f32" shape="1" offset="0" size="4")", "1")) ==
      Lines{
          "model.xml:3:38: error: layer 'weights' (Const, id 0): the model has constants and no weights file "
          "[IR-weights-missing]\n  hint: there is no model.bin"});
  ir::ReadOptions options;
  options.without_weights = true;
  CHECK(findings(constant(R"(element_type="f32" shape="1" offset="0" size="4")", "1"), options).empty());
  CHECK(findings(constant(R"(element_type="f32" shape="0" offset="0" size="0")", "0")).empty());
}

TEST_CASE("validation reads weights when they are there") {
  const std::string text = constant(R"(element_type="f32" shape="1" offset="0" size="4")", "1");
  CHECK(ModelFiles(text, "abcd").validated() == Lines());
  CHECK(ModelFiles(text).validated() ==
        Lines{"model.xml:1:1: note: model.bin was not read: what the one constant holds is unknown, and dims "
              "that depend on it are taken as declared [IR-weights-unchecked]\n"
              "  hint: put the .bin beside the .xml"});
  CHECK(ir::validate(ModelFiles(text, "abc").xml()).at(0).code == "IR-const-range");
}

TEST_CASE("weights that are a folder, a FIFO or missing are refused without waiting") {
  const ModelFiles files(constant(R"(element_type="f32" shape="1" offset="0" size="4")", "1"));
  const auto message = [&](const std::filesystem::path& weights) {
    const auto found = ir::read_and_check(files.xml(), weights).diagnostics;
    REQUIRE(found.size() == 1);
    return found[0].code + ": " + found[0].message;
  };
  CHECK(message(files.folder()) == "IR-file: the weights file is a folder; it must be a regular file");
  CHECK(message(files.folder() / "absent.bin") == "IR-file: the weights file does not exist");
  REQUIRE(mkfifo((files.folder() / "model.bin").c_str(), 0600) == 0);
  CHECK(message({}) == "IR-file: the weights file is a FIFO; it must be a regular file");
}

TEST_CASE("weights may lie anywhere when they are named") {
  const ModelFiles files(constant(R"(element_type="u8" shape="1" offset="0" size="1")", "1", "U8"));
  const ir::test::TemporaryFolder elsewhere;
  const auto model = ir::read_model(files.xml(), elsewhere.write("other.weights", "x"));
  CHECK(value_of(*model, 0).data<std::uint8_t>()[0] == 'x');
}

TEST_CASE("an element type is known by its name in data and in ports") {
  CHECK(findings(constant(R"(element_type="f33" shape="1" offset="0" size="4")", "1"))[0].find(
            R"(attribute element_type is "f33", which is not an element type)") != std::string::npos);
}

TEST_CASE("a constant that was read without weights is missed where its elements are needed") {
  const ModelFiles files(constant(R"(element_type="f32" shape="2" offset="0" size="8")", "2"));
  ir::ReadOptions options;
  options.without_weights = true;
  const auto model = files.read(options);
  const auto error_of = [](const auto& work) {
    try {
      work();
    } catch (const ir::Error& error) {
      const ir::Diagnostic& first = error.diagnostics().front();
      return first.layer.name + ": " + first.code + ": " + first.message;
    }
    return std::string("no error");
  };
  CHECK(error_of([&] { (void)ir::compile_model(*model); }) ==
        "weights: IR-constant-missing: the elements of the constant were not read");
  CHECK(error_of([&] { ir::write_model(*model, files.folder() / "copy.xml"); }) ==
        ": IR-constant-missing: layer 'weights': the elements of the constant were not read");
}

}  // namespace
