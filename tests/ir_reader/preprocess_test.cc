// <pre-process>: the means that are subtracted from an input, and those that cannot be.
#include "ir_runtime/compiled_model.h"
#include "ir_runtime/write_model.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::test::chain;
using ir::test::edge;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::parameter;
using ir::test::result;

// A network with <pre-process> in the line behind its last one.
std::string with(std::string text, const std::string& channels, const std::string& attributes = {}) {
  return text.insert(text.find("</net>"), "\n<pre-process" + attributes + ">" + channels + "</pre-process>");
}

std::string value(const std::string& id, const std::string& mean) {
  return "<channel id=\"" + id + "\"><mean value=\"" + mean + "\"/></channel>";
}

std::string image(const std::string& offset, const std::string& size) {
  return "<channel><mean offset=\"" + offset + "\" size=\"" + size + "\"/></channel>";
}

template <class T>
std::vector<T> run(const ir::Model& model, const ir::Shape& shape, const std::vector<T>& elements) {
  ir::InferRequest request = ir::compile_model(model).create_infer_request();
  request.set_input_tensor(0, ir::Tensor::of<T>(shape, elements));
  request.infer();
  const auto out = request.output_tensor(0).template data<T>();
  return {out.begin(), out.end()};
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string message_of(const std::string& text, const std::string& weights = {}) {
  const Lines lines = ModelFiles(text, weights).findings();
  REQUIRE(lines.size() == 1);
  return lines.front();
}

// Behind the six lines of a chain.
std::string error_at(const std::string& column, const std::string& message) {
  return "model.xml:9:" + column + ": error: " + message + " [IR-preprocess]";
}

TEST_CASE("a mean of each channel is subtracted from the input") {
  const std::string means = value("0", "1") + value("1", " -2.5 ");
  const ModelFiles planes(with(chain("ReLU", "", "1,2,1,2"), means));
  CHECK(run<float>(*planes.read(), {1, 2, 1, 2}, {1, 2, 3, -4}) == std::vector<float>{0, 1, 5.5F, 0});
  // [C, H, W] and [N, C].
  const ModelFiles image(with(chain("ReLU", "", "2,1,2"), means));
  CHECK(run<float>(*image.read(), {2, 1, 2}, {1, 2, 3, -4}) == std::vector<float>{0, 1, 5.5F, 0});
  const ModelFiles rows(with(chain("ReLU", "", "2,2"), means));
  CHECK(run<float>(*rows.read(), {2, 2}, {1, 2, 3, -4}) == std::vector<float>{0, 4.5F, 2, 0});
}

TEST_CASE("channels without an id count from the first") {
  const std::string means = "<channel><mean value=\"1\"/></channel><channel><mean value=\"2\"/></channel>";
  const ModelFiles files(with(chain("ReLU", "", "1,2"), means));
  CHECK(run<float>(*files.read(), {1, 2}, {5, 5}) == std::vector<float>{4, 3});
}

TEST_CASE("means of an integer input are converted to its type") {
  std::string text = with(chain("ReLU", "", "1,1,2"), value("0", "2.75"));
  for (auto at = text.find("f32"); at != std::string::npos; at = text.find("f32")) text.replace(at, 3, "i32");
  for (auto at = text.find("FP32"); at != std::string::npos; at = text.find("FP32"))
    text.replace(at, 4, "I32");
  CHECK(run<std::int32_t>(*ModelFiles(text).read(), {1, 1, 2}, {7, 2}) == std::vector<std::int32_t>{5, 0});
}

TEST_CASE("an image of each channel is subtracted from the input") {
  const std::string text = with(chain("ReLU", "", "1,2,1,2"), image("8", "8") + image("0", "8"));
  const ModelFiles files(text, bytes_of({1, 2, 3, 4}));
  CHECK(run<float>(*files.read(), {1, 2, 1, 2}, {9, 9, 9, 9}) == std::vector<float>{6, 5, 8, 7});
  // What is read without weights has the shapes all the same.
  ir::ReadOptions options;
  options.without_weights = true;
  CHECK(files.findings(options).empty());
  CHECK(message_of(text) ==
        "model.xml:9:29: error: layer 'n0' (Parameter): the model has constants and no weights file "
        "[IR-weights-missing]\n  hint: there is no model.bin");
  CHECK(
      message_of(with(chain("ReLU", "", "1,2,1,2"), image("0", "8") + image("12", "8")),
                 bytes_of({1, 2, 3, 4})) ==
      "model.xml:9:75: error: layer 'n0' (Parameter): the constant takes bytes 12 to 20 of model.bin, which "
      "has 16 [IR-const-range]");
}

TEST_CASE("the input is the one that is named, or the first that may be an image") {
  const std::string two =
      net(parameter("0", "1,1") + parameter("1", "1,1,1,1") + result("2", "1,1") + result("3", "1,1,1,1"),
          edge("0:0 2:0") + edge("1:0 3:0"));
  const auto subtracted_from = [&](const std::string& attributes) {
    const auto model = ModelFiles(with(two, value("0", "1"), attributes)).read();
    for (std::size_t i = 0; i < 2; ++i) {
      if (model->results()[i]->input(0).node != model->parameters()[i]) return model->parameters()[i]->name();
    }
    return std::string();
  };
  CHECK(subtracted_from("") == "n1");
  CHECK(subtracted_from(" reference-layer-name=\" n0 \"") == "n0");
  CHECK(message_of(with(two, value("0", "1"), " reference-layer-name=\"x\"")) ==
        "model.xml:10:14: error: there is no input 'x' from which means could be subtracted [IR-preprocess]");
}

TEST_CASE("a network with means is written with the subtraction") {
  const ModelFiles files(with(chain("ReLU", "", "1,2"), value("0", "1") + value("1", "2")));
  const auto again = files.folder() / "again.xml";
  ir::write_model(*files.read(), again);
  CHECK(run<float>(*ir::read_model(again), {1, 2}, {5, 5}) == std::vector<float>{4, 3});
}

TEST_CASE("a version 10 network of halves takes floats, from which the means are subtracted") {
  std::string text = with(chain("ReLU", "", "1,1"), value("0", "2"));
  text.replace(text.find("version=\"11\""), 12, "version=\"10\"");
  text.replace(text.find("f32"), 3, "f16");
  for (auto at = text.find("FP32"); at != std::string::npos; at = text.find("FP32"))
    text.replace(at, 4, "FP16");
  CHECK(run<float>(*ModelFiles(text).read(), {1, 1}, {5}) == std::vector<float>{3});
}

TEST_CASE("<pre-process> without means asks for nothing") {
  CHECK(ModelFiles(with(chain("ReLU", "", "1,2"), "")).findings().empty());
  CHECK(ModelFiles(with(chain("ReLU", "", "1,2"), "<channel id=\"7\"/>")).findings().empty());
}

TEST_CASE("means that do not fit the input are errors") {
  const auto of = [](const std::string& means) { return message_of(with(chain("ReLU", "", "1,2"), means)); };
  CHECK(of(value("0", "1")) == error_at("1", "1 channels have means, 'n0' has the shape [1,2], with 2"));
  CHECK(of(value("0", "1") + value("2", "1")) ==
        error_at("66", "there is no channel 2: 'n0' has the shape [1,2]"));
  CHECK(of(value("0", "1") + value("0", "1")) == error_at("66", "channel 0 has two means"));
  CHECK(of(value("0", "1") + "<channel><mean/></channel>") ==
        error_at("66", "<mean> has neither a value nor a size"));
  CHECK(of(value("0", "1") + image("0", "4")) == error_at("66", "some means are numbers, others images"));
  CHECK(of(value("0", "1") + value("1", "one")) == error_at("79", "the attribute 'value' is not a number"));
  CHECK(message_of(with(chain("ReLU", "", "1,-1"), value("0", "1"))) ==
        error_at("1", "means are subtracted from inputs of 2 to 5 known dims, 'n0' has the shape [1,?]"));
}

TEST_CASE("a validator names what is not read in <pre-process>") {
  const std::string means = "<channel id=\"0\"><mean value=\"1\" ofset=\"0\"/><scale value=\"2\"/></channel>";
  const Lines lines =
      ir::test::validated(with(chain("ReLU", "", "1,1"), means, " reference-layer-nane=\"n0\""));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] ==
        "model.xml:9:14: warning: <pre-process> has an attribute 'reference-layer-nane', which is not read "
        "[IR-attribute-unknown]\n  hint: did you mean 'reference-layer-name'?");
  CHECK(lines[1].find("<channel> has an element <scale>, which is not read [IR-element-unknown]") !=
        std::string::npos);
  CHECK(lines[2].find("did you mean 'offset'?") != std::string::npos);
}

TEST_CASE("what is wrong with the network is not repeated for its means") {
  const Lines lines = ModelFiles(with(chain("Nonsense", "", "1,-1"), value("0", "1"))).findings();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("Nonsense") != std::string::npos);
}

}  // namespace
