// Strings in weights files and in test cases.
#include <cstdint>

#include "ir_reader/case_file.h"
#include "ir_reader/packed_strings.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/write_model.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::Shape;
using ir::Tensor;
using ir::test::bytes_of;
using ir::test::edge;
using ir::test::layer;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::outputs;
using ir::test::port;
using ir::test::result;
using ir::test::TemporaryFolder;

std::string numbers(const std::vector<std::int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int32_t)};
}

std::vector<std::string> strings_of(const Tensor& tensor) {
  const auto data = tensor.data<std::string>();
  return {data.begin(), data.end()};
}

std::string failure(const Shape& shape, const std::string& bytes) {
  try {
    (void)ir::reader::unpack_strings(shape, std::as_bytes(std::span(bytes)));
  } catch (const ir::Error& error) {
    return error.code() + ": " + error.diagnostics()[0].message;
  }
  return "none";
}

// A model that gives a string constant of two away.
std::string constant(const std::string& place) {
  const std::string string = R"(precision="STRING")";
  return net(
      layer("0", "Const",
            R"(<data element_type="string" shape="2" )" + place + "/>" + outputs(port("0", "2", string))) +
          result("1", "2", string),
      edge("0:0 1:0"));
}

const std::string kPacked = numbers({2, 0, 5, 8}) + "IntelOMZ";

TEST_CASE("packed strings are counted, then their ends, then their characters") {
  const Tensor tensor = ir::reader::unpack_strings({1, 2}, std::as_bytes(std::span(kPacked)));
  CHECK(tensor.shape() == Shape{1, 2});
  CHECK(strings_of(tensor) == std::vector<std::string>{"Intel", "OMZ"});
  CHECK(ir::reader::pack_strings(tensor) == kPacked);
  const Tensor none(ir::ElementType::string, {0});
  CHECK(ir::reader::pack_strings(none) == numbers({0}));
  CHECK(failure({0}, numbers({0})) == "none");
  CHECK(failure({0}, numbers({0, 0})) == "none");  // as OpenVINO wrote it once
}

TEST_CASE("packed strings that do not fit are refused") {
  CHECK(failure({2}, numbers({2, 0, 5})) ==
        "IR-const-size: strings of shape [2] take at least 16 bytes, there are 12");
  CHECK(failure({std::int64_t{1} << 40}, kPacked).starts_with("IR-const-size: strings of shape"));
  CHECK(failure({1}, kPacked) == "IR-const-value: the data holds 2 strings, shape [1] takes 1");
  CHECK(failure({2}, numbers({2, 0, 5, 9}) + "IntelOMZ") ==
        "IR-const-value: string 1 goes from 5 to 9, and there are 8 characters");
  CHECK(failure({2}, numbers({2, 0, 5, 4}) + "IntelOMZ") ==
        "IR-const-value: string 1 goes from 5 to 4, and there are 8 characters");
  CHECK(failure({2}, numbers({2, -1, 5, 8}) + "IntelOMZ") ==
        "IR-const-value: string 0 goes from -1 to 5, and there are 8 characters");
}

TEST_CASE("string constants are read from the weights and written again") {
  const ModelFiles files(constant(R"(offset="1" size="24")"), "?" + kPacked);
  CHECK(files.findings().empty());
  const auto model = files.read();
  const auto* op = model->nodes()[0]->op().as<ir::op::v0::Constant>();
  REQUIRE(op != nullptr);
  CHECK(strings_of(*op->value) == std::vector<std::string>{"Intel", "OMZ"});

  const TemporaryFolder folder;
  ir::write_model(*model, folder.path() / "again.xml");
  CHECK(bytes_of(folder.path() / "again.bin") == kPacked);
  const auto again = ir::read_model(folder.path() / "again.xml");
  CHECK(strings_of(*again->nodes()[0]->op().as<ir::op::v0::Constant>()->value) ==
        std::vector<std::string>{"Intel", "OMZ"});
}

TEST_CASE("string constants that are cut off or malformed are refused") {
  CHECK(
      ModelFiles(constant(R"(offset="0" size="15")"), kPacked).findings() ==
      Lines{"model.xml:2:104: error: layer 'n0' (Const, id 0): a constant of type string and shape [2] takes "
            "at least 16 bytes, size is 15 [IR-const-size]"});
  CHECK(ModelFiles(constant(R"(offset="0" size="23")"), kPacked)
            .findings()
            .at(0)
            .find("string 1 goes from 5 to 8, and there are 7 characters [IR-const-value]") !=
        std::string::npos);
  CHECK(ModelFiles(constant(R"(offset="1" size="24")"), kPacked).findings().at(0).find("IR-const-range") !=
        std::string::npos);
  ir::ReadOptions options;
  options.without_weights = true;
  CHECK(ir::test::findings(constant(R"(offset="0" size="24")"), options).empty());
}

TEST_CASE("test cases hold strings as weights files do") {
  const TemporaryFolder folder;
  const auto strings = ir::reader::unpack_strings({2}, std::as_bytes(std::span(kPacked)));
  ir::reader::write_case(folder.path() / "case.xml", "net.xml", {}, {strings}, {strings});
  CHECK(bytes_of(folder.path() / "input0.bin") == kPacked);
  auto file = ir::reader::read_case(folder.path() / "case.xml");
  CHECK(strings_of(ir::reader::read_case_tensor(file.inputs.at(0))) == strings_of(strings));
  file.inputs[0].shape = {3};
  CHECK_THROWS_AS(ir::reader::read_case_tensor(file.inputs[0]), ir::Error);
}

}  // namespace
