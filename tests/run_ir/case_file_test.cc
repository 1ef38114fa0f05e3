// Test cases: what case.xml may say, and running them.
#include "ir_reader/case_file.h"

#include <sys/stat.h>

#include "ir_runtime/diagnostics.h"
#include "samples/run_ir/case_runner.h"
#include "tests/catch.h"
#include "tests/repository.h"
#include "tests/temporary_folder.h"

namespace {

using ir::reader::CaseMetric;
using ir::test::TemporaryFolder;

std::string failure(const std::string& xml) {
  const TemporaryFolder folder;
  try {
    (void)ir::reader::read_case(folder.write("case.xml", xml));
  } catch (const ir::Error& error) {
    const ir::Diagnostic& first = error.diagnostics()[0];
    return std::to_string(first.where.line) + ":" + std::to_string(first.where.column) + " " + first.code +
           ": " + first.message + (first.hint.empty() ? "" : "; " + first.hint);
  }
  return "none";
}

const std::string kOutput = R"(<output element_type="f32" shape="1" file="out.bin"/>)";

std::string with_output(const std::string& attributes) {
  return "<case " + attributes + ">" + kOutput + "</case>";
}

std::string with_tensor(const std::string& attributes) {
  return "<case model=\"model.xml\">\n  <input " + attributes + "/>\n</case>";
}

TEST_CASE("a case's attributes have defaults") {
  const TemporaryFolder folder;
  const auto file = ir::reader::read_case(folder.write("case.xml", with_output("")));
  CHECK(file.name == folder.path().filename());
  CHECK(file.model == folder.path() / "model.xml");
  CHECK(file.metric.kind == CaseMetric::Kind::elementwise);
  CHECK_FALSE(file.metric.relative.has_value());
  CHECK_FALSE(file.metric.compare_first.has_value());
  CHECK(file.inputs.empty());
  REQUIRE(file.outputs.size() == 1);
  CHECK(file.outputs[0].index == 0);
}

TEST_CASE("4-bit elements of a case stand in a byte from high to low") {
  const TemporaryFolder folder;
  const ir::Tensor values = ir::Tensor::of<std::int32_t>({3}, {1, 2, 3}).converted(ir::ElementType::u4);
  ir::reader::write_case(folder.path() / "case.xml", "net.xml", {}, {values}, {values});
  CHECK(ir::test::bytes_of(folder.path() / "input0.bin") == std::string("\x12\x30", 2));
  const auto file = ir::reader::read_case(folder.path() / "case.xml");
  const ir::Tensor back = ir::reader::read_case_tensor(file.inputs.at(0)).converted(ir::ElementType::i32);
  const auto numbers = back.data<std::int32_t>();
  CHECK(std::vector<std::int32_t>(numbers.begin(), numbers.end()) == std::vector<std::int32_t>{1, 2, 3});
}

TEST_CASE("what is written is read again, for each metric") {
  const TemporaryFolder folder;
  CaseMetric metric;
  const auto read_again = [&] {
    ir::reader::write_case(folder.path() / "case.xml", "net.xml", metric,
                           {ir::Tensor::of<float>({2, 1}, {1, 2})},
                           {ir::Tensor::of<std::int64_t>({}, {5}), ir::Tensor::of<bool>({1}, {true})});
    return ir::reader::read_case(folder.path() / "case.xml");
  };
  metric.relative = 0.001;
  metric.absolute = 1e-05;
  metric.compare_first = 3;
  auto file = read_again();
  CHECK(file.model == folder.path() / "net.xml");
  CHECK(file.metric.relative == 0.001);
  CHECK(file.metric.absolute == 1e-05);
  CHECK(file.metric.compare_first == 3);
  REQUIRE(file.inputs.size() == 1);
  REQUIRE(file.outputs.size() == 2);
  CHECK(ir::reader::read_case_tensor(file.inputs[0]).data<float>()[1] == 2.0F);
  CHECK(ir::reader::read_case_tensor(file.outputs[0]).shape().empty());
  CHECK(ir::reader::read_case_tensor(file.outputs[0]).data<std::int64_t>()[0] == 5);
  CHECK(file.outputs[1].element_type == ir::ElementType::boolean);
  CHECK(file.outputs[1].index == 1);

  metric = {};
  metric.kind = CaseMetric::Kind::relative_l2;
  metric.tolerance = 0.25;
  file = read_again();
  CHECK(file.metric.kind == CaseMetric::Kind::relative_l2);
  CHECK(file.metric.tolerance == 0.25);

  metric = {};
  metric.kind = CaseMetric::Kind::detections;
  metric.confidence = 0.5;
  metric.confidence_tolerance = 0.125;
  metric.iou = 0.75;
  file = read_again();
  CHECK(file.metric.kind == CaseMetric::Kind::detections);
  CHECK(file.metric.confidence == 0.5);
  CHECK(file.metric.confidence_tolerance == 0.125);
  CHECK(file.metric.iou == 0.75);
}

TEST_CASE("a case names files of its own folder only") {
  for (const std::string path : {"../x", "/etc/passwd", "a/b", "", ".."}) {
    CHECK(failure("<case model=\"" + path + "\"/>") ==
          "1:1 IR-case: '" + path + "' does not name a file in the case's folder");
    CHECK(failure(with_tensor("element_type=\"f32\" shape=\"1\" file=\"" + path + "\"")) ==
          "2:3 IR-case: '" + path + "' does not name a file in the case's folder");
  }
}

TEST_CASE("malformed cases are refused with the place") {
  CHECK(failure("<case") == "1:5 IR-xml: not well-formed XML: Error parsing start element tag");
  CHECK(failure("<net/>") == "1:1 IR-case: the root element is <net>, not <case>");
  CHECK(failure("<case metric=\"guess\"/>") == "1:1 IR-case: the metric 'guess' is not known");
  CHECK(failure(with_tensor("element_type=\"f31\" shape=\"1\" file=\"a\"")) ==
        "2:3 IR-case: the element type 'f31' is not known");
  CHECK(failure(with_tensor("element_type=\"dynamic\" shape=\"1\" file=\"a\"")) ==
        "2:3 IR-case: the element type 'dynamic' is not known");
  for (const std::string shape : {"?", "1..2", "x", "..."}) {
    CHECK(failure(with_tensor("element_type=\"f32\" shape=\"" + shape + "\" file=\"a\"")) ==
          "2:3 IR-case: '" + shape + "' is no static shape");
  }
}

TEST_CASE("a case that compares nothing is refused") {
  CHECK(failure("<case/>") == "1:1 IR-case: the case has no <output>: nothing would be compared");
  CHECK(failure(with_tensor(R"(element_type="f32" shape="1" file="a")")) ==
        "1:1 IR-case: the case has no <output>: nothing would be compared");
  for (const std::string count : {"0", "1.5", "1e300"}) {
    CHECK(failure(with_output("compare_first=\"" + count + "\"")) ==
          "1:7 IR-case: compare_first='" + count + "' is no count from 1 to 1000000000000000");
  }
  CHECK(failure(with_output(R"(compare_first="1")")) == "none");
}

// What comes of a case whose last attribute is this one.
std::string failure_with_number(const std::string& before, const std::string& name,
                                const std::string& number) {
  return failure(with_output(before + name + "=\"" + number + "\""));
}

std::string no_number(const std::string& place, const std::string& name, const std::string& number) {
  return place + " IR-case: " + name + "='" + number + "' is no finite number of at least 0";
}

TEST_CASE("tolerances are finite numbers of at least 0") {
  for (const std::string number : {"few", "", "inf", "nan", "-1", "-inf", "1e999", "0.1x"}) {
    for (const std::string name : {"rtol", "atol", "compare_first"})
      CHECK(failure_with_number("", name, number) == no_number("1:7", name, number));
    CHECK(failure_with_number(R"(metric="relative_l2" )", "tolerance", number) ==
          no_number("1:28", "tolerance", number));
    for (const std::string name : {"confidence", "confidence_tolerance", "iou"}) {
      CHECK(failure_with_number(R"(metric="detections" )", name, number) == no_number("1:27", name, number));
    }
  }
  CHECK(failure(with_output(R"(rtol="0" atol="1e-3")")) == "none");
}

TEST_CASE("what a case does not have is not passed over") {
  CHECK(failure("<case><ouput/></case>") ==
        "1:7 IR-case: <case> has an element <ouput>, which is not read; did you mean 'output'?");
  CHECK(failure("<case><thing/>" + kOutput + "</case>") ==
        "1:7 IR-case: <case> has an element <thing>, which is not read");
  CHECK(failure("<case>\n  text " + kOutput + "</case>") == "1:1 IR-case: <case> holds text");
  CHECK(failure(with_output(R"(rtoll="0")")) ==
        "1:7 IR-case: <case> has an attribute 'rtoll', which is not read; did you mean 'rtol'?");
  CHECK(failure(with_output(R"(rtol="0" rtol="1")")) == "1:1 IR-case: <case> has the attribute 'rtol' twice");
  CHECK(failure(with_output(R"(tolerance="1")")) ==
        "1:7 IR-case: the metric 'elementwise' does not look at 'tolerance', only at rtol, atol");
  CHECK(failure(with_output(R"(metric="relative_l2" rtol="1")")) ==
        "1:28 IR-case: the metric 'relative_l2' does not look at 'rtol', only at tolerance");
  CHECK(failure(with_tensor(R"(element_type="f32" shape="1" fill="a")")) ==
        "2:39 IR-case: <input> has an attribute 'fill', which is not read; did you mean 'file'?");
  CHECK(failure("<case>" + kOutput + kOutput + "</case>") ==
        "1:60 IR-case: there is an <output> of index 0 already");
}

TEST_CASE("files of a case are written whole, and take the place of nothing but files") {
  const TemporaryFolder folder;
  const ir::Tensor tensor = ir::Tensor::of<float>({1}, {1.0F});
  const auto write = [&] { ir::reader::write_case(folder.path() / "case.xml", "net.xml", {}, {tensor}, {}); };
  const std::string refused =
      ": error: the file cannot be written: it is a FIFO; it must be a regular file [IR-file]";
  for (const std::string name : {"input0.bin", "case.xml"}) {
    REQUIRE(mkfifo((folder.path() / name).c_str(), 0600) == 0);
    CHECK_THROWS_WITH(write(), ir::test::contains_text(name + refused));
    std::filesystem::remove(folder.path() / name);
  }
  CHECK_NOTHROW(write());
}

TEST_CASE("a tensor's file is not read when it is larger than the caller's limit, strings included") {
  const TemporaryFolder folder;
  const auto file = folder.write("a.bin", "12345678");
  for (const auto type : {ir::ElementType::f32, ir::ElementType::string}) {
    CHECK_THROWS_WITH(
        ir::reader::read_case_tensor({0, type, {2}, file}, {}, 7),
        ir::test::contains_text("the file has 8 bytes, the limit max_input_bytes is 7 [IR-limit]"));
  }
  CHECK_NOTHROW(ir::reader::read_case_tensor({0, ir::ElementType::f32, {2}, file}, {}, 8));
}

TEST_CASE("a tensor's file has the tensor's size, however large that claims to be") {
  const TemporaryFolder folder;
  const auto file = folder.write("a.bin", "12345678");
  const auto failure_of = [&](const ir::Shape& shape, const std::filesystem::path& path,
                              std::optional<std::int64_t> first = std::nullopt) {
    try {
      (void)ir::reader::read_case_tensor({0, ir::ElementType::f32, shape, path}, first);
    } catch (const ir::Error& error) {
      return error.code() + ": " + error.diagnostics()[0].message;
    }
    return std::string("none");
  };
  CHECK(failure_of({2}, file) == "none");
  CHECK(failure_of({3}, file) == "IR-case: the file has 8 bytes, a tensor of f32 [3] takes 12");
  CHECK(failure_of({std::int64_t{1} << 62}, file) ==
        "IR-case: the file has 8 bytes, a tensor of f32 [4611686018427387904] takes more than any file has");
  CHECK(failure_of({1}, file) == "IR-case: the file has 8 bytes, a tensor of f32 [1] takes 4");
  CHECK(failure_of({1'000'000, 1'000'000, 100}, file).starts_with("IR-case: the file has 8 bytes"));
  CHECK(failure_of({std::int64_t{1} << 62, 4}, file).starts_with("IR-case: the file has 8 bytes"));
  CHECK(failure_of({2}, folder.path() / "absent.bin") == "IR-file: the file does not exist");
  CHECK(failure_of({2}, folder.path()) != "none");
  CHECK(failure_of({5}, file, 2) == "none");
  CHECK(failure_of({5}, file, 3) == "IR-case: the file has 8 bytes, a tensor of f32 [3] takes 12");
}

TEST_CASE("cases are found below folders, in order") {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a", "a/deep"}) std::filesystem::create_directories(folder.path() / name);
  for (const char* name : {"b/case.xml", "a/deep/case.xml", "a/other.xml"})
    (void)folder.write(name, "<case/>");
  const std::string top = folder.path().string();
  CHECK(run_ir::find_cases({top}) ==
        std::vector<std::filesystem::path>{folder.path() / "a/deep/case.xml", folder.path() / "b/case.xml"});
  CHECK(run_ir::find_cases({top + "/a/other.xml"}).size() == 1);
  CHECK_THROWS_WITH(run_ir::find_cases({top + "/absent"}),
                    ir::test::contains_text("there is no such file or folder"));
}

TEST_CASE("a case that fails says how") {
  const TemporaryFolder folder;
  std::filesystem::copy(ir::test::repository() / "models" / "avg_pool_net", folder.path());
  const auto failures = [&] { return run_ir::run_case(folder.path() / "case.xml", {}); };
  CHECK(failures().empty());

  const std::string good = ir::test::bytes_of(folder.path() / "output1.bin");
  (void)folder.write("output1.bin", std::string(4, '\x40') + good.substr(4));
  REQUIRE(failures().size() == 1);
  CHECK(failures()[0].starts_with("output 1: 1 of 72 elements differ; worst at [0,0,0,0]: got "));

  (void)folder.write("output1.bin", good.substr(4));
  REQUIRE(failures().size() == 1);
  CHECK(failures()[0].find("the file has 284 bytes, a tensor of f32 [1,3,6,4] takes 288 [IR-case]") !=
        std::string::npos);

  std::filesystem::remove(folder.path() / "model.xml");
  REQUIRE(failures().size() == 1);
  CHECK(failures()[0].find("the file does not exist [IR-file]") != std::string::npos);
}

}  // namespace
