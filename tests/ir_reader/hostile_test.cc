// Files that mean harm: each is refused, quickly and by name.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "ir_runtime/validate.h"
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

std::string only_message(const std::filesystem::path& xml, const std::filesystem::path& weights = {}) {
  const std::vector<ir::Diagnostic> found = ir::read_and_check(xml, weights).diagnostics;
  REQUIRE(found.size() == 1);
  return found[0].code + ": " + found[0].message;
}

TEST_CASE("only regular files are opened, and nobody is waited for") {
  const ModelFiles files(net(parameter("0", "1") + result("1", "1"), edge("0:0 1:0")));
  const std::filesystem::path& folder = files.folder();
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  const std::filesystem::path socket_path = folder / "socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(socket_path.string().size() < sizeof address.sun_path);
  socket_path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  std::filesystem::create_symlink("loop", folder / "loop");
  std::filesystem::create_symlink(folder / "fifo", folder / "link");
  const std::vector<std::pair<std::filesystem::path, std::string>> cases{
      {folder, "is a folder; it must be a regular file"},
      {folder / "fifo", "is a FIFO; it must be a regular file"},
      {folder / "link", "is a FIFO; it must be a regular file"},
      {folder / "socket", "is a socket; it must be a regular file"},
      {"/dev/zero", "is a device; it must be a regular file"},
      {folder / "loop", "cannot be opened: Too many levels of symbolic links"},
      {folder / "absent", "does not exist"},
      {folder / "model.xml" / "inside", "cannot be opened: Not a directory"},
      {folder / std::string(300, 'x'), "cannot be opened: File name too long"},
  };
  for (const auto& [path, what] : cases) {
    CHECK(only_message(path) == "IR-file: the file " + what);
    CHECK(only_message(files.xml(), path) == "IR-file: the weights file " + what);
  }
  ::close(listener);
}

TEST_CASE("a weights file beside the model that is none is refused as if it were named") {
  const ModelFiles files(net(parameter("0", "1") + result("1", "1"), edge("0:0 1:0")));
  const std::filesystem::path beside = files.folder() / "model.bin";
  SECTION("FIFO") {
    REQUIRE(mkfifo(beside.c_str(), 0600) == 0);
    CHECK(only_message(files.xml()) == "IR-file: the weights file is a FIFO; it must be a regular file");
  }
  SECTION("folder") {
    std::filesystem::create_directory(beside);
    CHECK(only_message(files.xml()) == "IR-file: the weights file is a folder; it must be a regular file");
  }
  SECTION("link to itself, which is as good as none") {
    std::filesystem::create_symlink("model.bin", beside);
    CHECK(files.findings().empty());
    CHECK(ir::validate(files.xml()).empty());
  }
}

TEST_CASE("a dim is a number, whatever else it looks like") {
  const auto found = [](const std::string& dim) {
    const std::string text =
        layer("0", "Parameter", R"(<data element_type="f32" shape="3"/>)" + outputs(port("0", dim))) +
        result("1", "");
    return findings(net(text, edge("0:0 1:0"))).front();
  };
  const std::string start = "model.xml:2:159: error: layer 'n0' (Parameter, id 0): <dim> holds '";
  const std::string end = "'; it takes one integer that is -1 (unknown) or more [IR-dim]";
  for (const std::string dim : {"12abc", "1e3", "-2", "0x10", "1.0", "+3", "18446744073709551616",
                                "9223372036854775808", "- 1", "three"}) {
    const std::string line = found(dim);
    CHECK(line.substr(line.find("error")) ==
          fmt::format("{}{}{}", start.substr(start.find("error")), dim, end));
  }
}

TEST_CASE("an attribute is a number, whatever else it looks like") {
  const auto found = [](const std::string& strides) {
    const Lines lines = findings(net(layer("0", "Const",
                                           R"(<data element_type="f32" shape="1" offset=")" + strides +
                                               R"(" size="4"/>)" + outputs(port("0", "1"))) +
                                         result("1", "1"),
                                     edge("0:0 1:0")));
    REQUIRE(lines.size() == 1);
    return lines[0];
  };
  const std::string start = "model.xml:2:90: error: layer 'n0' (Const, id 0): attribute offset is \"";
  const std::string takes = "; it takes an integer of at least 0 [IR-attribute-value]";
  CHECK(found("12abc") == start + "12abc\", which is not an integer" + takes);
  CHECK(found("1e3") == start + "1e3\", which is not an integer" + takes);
  CHECK(found("-2") == start + "-2\", which is out of range" + takes);
  CHECK(found("18446744073709551616") ==
        start + "18446744073709551616\", which does not fit into 64 bits" + takes);
  CHECK(found("9223372036854775808") ==
        start + "9223372036854775808\", which does not fit into 64 bits" + takes);
  CHECK(found("") == start + "\", which is empty" + takes);
  CHECK(found("0x10") == start + "0x10\", which is not an integer" + takes);
  CHECK(found("4,4") == start + "4,4\", which is not an integer" + takes);
}

TEST_CASE("ids that are no numbers are labels, and odd") {
  for (const std::string id : {"12abc", "1e3", "-2", "18446744073709551616"}) {
    const ModelFiles files(net(parameter(id, "1") + result("1", "1"), edge(id + ":0 1:0")));
    CHECK(files.findings().empty());
    const std::vector<ir::Diagnostic> found = ir::validate(files.xml());
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == "IR-id-text");
    CHECK(found[0].message.find("'" + id + "'") != std::string::npos);
  }
  // No id is read as a number: 1e3 is not 1000.
  CHECK(findings(net(parameter("1000", "1") + result("1", "1"), edge("1e3:0 1:0")))[0] ==
        "model.xml:5:7: error: the edge starts at layer 1e3, which does not exist [IR-edge]");
}

TEST_CASE("a version is a number, whatever else it looks like") {
  for (const std::string version : {"11abc", "1.1e1", "", "18446744073709551616"}) {
    CHECK(findings("<net version=\"" + version + "\"/>") ==
          Lines{"model.xml:1:6: error: the version '" + version + "' is no number [IR-version]"});
  }
  CHECK(findings("<net version=\"-2\"/>")[0].find("IR version -2 is not supported") != std::string::npos);
}

TEST_CASE("dims of 10^12 are shapes like any other until memory is asked for") {
  CHECK(findings(chain("ReLU", "", "1000000000000")).empty());
  CHECK(findings(chain("ReLU", "", "1000000000000,1000000000000")).front() ==
        "model.xml:2:1: error: layer 'n0' (Parameter, id 0): output 0 of shape [1000000000000,1000000000000] "
        "has more "
        "elements than can be counted [IR-shape]");
}

TEST_CASE("bombs of a few layers are inferred, not filled") {
  const auto constant = [](const std::string& id, const std::string& offset, const std::string& shape) {
    const std::string size = shape.empty() ? "8" : std::to_string(8 * std::stoi(shape));
    return layer(id, "Const",
                 "<data element_type=\"i64\" shape=\"" + shape + "\" offset=\"" + offset + "\" size=\"" +
                     size + "\"/>" + outputs(port("0", shape, R"(precision="I64")")));
  };
  const auto weights = [](std::initializer_list<std::int64_t> numbers) {
    return std::string(reinterpret_cast<const char*>(std::data(numbers)), numbers.size() * 8);
  };
  const auto port64 = [](const std::string& id, const std::string& dims) {
    return port(id, dims, R"(precision="I64")");
  };
  SECTION("Range of 10^15") {
    const std::string text =
        constant("0", "0", "") + constant("1", "8", "") + constant("2", "16", "") +
        layer("3", "Range",
              R"(<data output_type="i64"/>)" + inputs(port64("0", "") + port64("1", "") + port64("2", "")) +
                  outputs(port64("3", "1000000000000000")),
              "opset4") +
        layer("4", "Result", inputs(port64("0", "1000000000000000")));
    CHECK(ModelFiles(net(text, edge("0:0 3:0") + edge("1:0 3:1") + edge("2:0 3:2") + edge("3:3 4:0")),
                     weights({0, 1'000'000'000'000'000, 1}))
              .findings()
              .empty());
  }
  SECTION("Broadcast beyond 2^63") {
    const std::string text = constant("0", "0", "") + constant("1", "8", "2") +
                             layer("2", "Broadcast",
                                   R"(<data mode="numpy"/>)" + inputs(port64("0", "") + port64("1", "2")) +
                                       outputs(port64("2", "4294967296,4294967296")),
                                   "opset3") +
                             layer("3", "Result", inputs(port64("0", "4294967296,4294967296")));
    CHECK(ModelFiles(net(text, edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0")),
                     weights({7, std::int64_t{1} << 32, std::int64_t{1} << 32}))
              .findings()
              .front() ==
          "model.xml:4:1: error: layer 'n2' (Broadcast, id 2): output 0 of shape [4294967296,4294967296] has "
          "more "
          "elements than can be counted [IR-shape]");
  }
}

TEST_CASE("offset and size beyond 2^63 together do not wrap") {
  const std::string text =
      layer(
          "0", "Const",
          R"(<data element_type="u8" shape="1000000000000000000" offset="9223372036854775807" size="1000000000000000000"/>)" +
              outputs(port("0", "1000000000000000000", R"(precision="U8")"))) +
      layer("1", "Result", inputs(port("0", "1000000000000000000", R"(precision="U8")")));
  CHECK(
      ModelFiles(net(text, edge("0:0 1:0")), "abc").findings() ==
      Lines{
          "model.xml:2:107: error: layer 'n0' (Const, id 0): the constant takes bytes 9223372036854775807 to "
          "10223372036854775807 of model.bin, which has 3 [IR-const-range]"});
}

TEST_CASE("texts in other encodings than UTF-8 are told from broken ones") {
  const auto in_units = [](std::string_view text, std::size_t unit, std::size_t at) {
    std::string wide(text.size() * unit, '\0');
    for (std::size_t i = 0; i < text.size(); ++i) wide[i * unit + at] = text[i];
    return wide;
  };
  const std::string utf16 =
      "model.xml:1:1: error: the text is UTF-16, models are read as UTF-8 [IR-encoding]\n  hint: store the "
      "file as UTF-8";
  const std::string text = "<net version=\"11\"><layers/></net>";
  CHECK(findings("\xff\xfe" + in_units(text, 2, 0)) == Lines{utf16});
  CHECK(findings("\xfe\xff" + in_units(text, 2, 1)) == Lines{utf16});
  CHECK(findings(in_units(text, 2, 0)) == Lines{utf16});
  CHECK(findings(in_units(text, 4, 3)).front().find("UTF-32") != std::string::npos);
  CHECK(findings("\xef\xbb\xbf" + text).empty());
}

TEST_CASE("names in no encoding, or with control characters, are told and shown safely") {
  const std::string named = R"(<net name="a" version="11"><layers>
<layer id="0" name="caf)"
                            "\xE9"
                            R"(" type="Nothing" version="opset1"/></layers><edges/></net>)";
  CHECK(findings(named) ==
        Lines{"model.xml:2:24: warning: byte 0xe9 is no UTF-8 [IR-encoding]\n"
              "  hint: names that hold such bytes are shown with these spelt out",
              "model.xml:2:27: error: layer 'caf\\xe9' (Nothing, id 0): the operation 'Nothing' is not known "
              "[IR-operation-unknown]"});
  const std::string controlled = R"(<net name="a" version="11"><layers>
<layer id="0" name="&#27;]0;title&#7;" type="&#27;[31m&#10;x" version="opset1"/></layers><edges/></net>)";
  const Lines found = findings(controlled);
  REQUIRE(found.size() == 1);
  CHECK(found[0] ==
        "model.xml:2:40: error: layer '\\x1b]0;title\\x07' (\\x1b[31m\\x0ax, id 0): the operation "
        "'\\x1b[31m\\x0ax' is "
        "not known [IR-operation-unknown]");
}

TEST_CASE("a name of a megabyte is cut where it is shown") {
  const std::string text = net(
      R"(<layer id="0" name=")" + std::string(1 << 20, 'x') + R"(" type="Nothing" version="opset1"/>)", "");
  const Lines found = findings(text);
  REQUIRE(found.size() == 1);
  CHECK(found[0].size() < 1000);
}

TEST_CASE("the same element a hundred thousand times takes no long") {
  // Each of these took quadratic time once: ports of one layer, attributes of one element, unknown
  // operations.
  std::string ports;
  for (int i = 0; i < 60'000; ++i) ports += "<port id=\"" + std::to_string(i) + "\"/>";
  std::string layers = layer("0", "Concat", R"(<data axis="0"/>)" + inputs(ports));
  for (int i = 1; i < 20'000; ++i) layers += layer(std::to_string(i), "Unknowable" + std::to_string(i), "");
  ir::ReadOptions options;
  options.limits.max_diagnostics = 10;
  // The last line counts the others.
  CHECK(findings(net(layers, ""), options).size() == 11);
}

TEST_CASE("a net with nothing in it is read, and odd") {
  const ModelFiles files("<net name=\"a\" version=\"11\"><layers/><edges/></net>");
  CHECK(files.findings().empty());
  const std::vector<ir::Diagnostic> found = ir::validate(files.xml());
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "IR-no-result");
}

TEST_CASE("a file that ends within an element is no XML") {
  const std::string text = chain("ReLU", "", "1,2");
  for (std::size_t length = 1; length < text.size() - 2; length += 7) {
    const Lines found = findings(text.substr(0, length));
    REQUIRE(found.size() == 1);
    CHECK(found[0].find("error: not well-formed XML: ") != std::string::npos);
    CHECK(found[0].ends_with("[IR-xml]"));
  }
}

}  // namespace
