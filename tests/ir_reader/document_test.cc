// Files that are no IR: what is said of them and where.
#include <sys/stat.h>

#include "tests/ir_reader/support.h"

namespace {

using ir::test::findings;
using ir::test::Lines;
using ir::test::ModelFiles;

TEST_CASE("a file that does not exist, or is a folder or a FIFO, is refused without waiting") {
  const ir::test::TemporaryFolder folder;
  const auto message = [](const std::filesystem::path& file) {
    const ir::ReadResult result = ir::read_and_check(file);
    REQUIRE(result.model == nullptr);
    REQUIRE(result.diagnostics.size() == 1);
    return result.diagnostics[0].code + ": " + result.diagnostics[0].message;
  };
  CHECK(message(folder.path() / "absent.xml") == "IR-file: the file does not exist");
  CHECK(message(folder.path()) == "IR-file: the file is a folder; it must be a regular file");
  REQUIRE(mkfifo((folder.path() / "fifo.xml").c_str(), 0600) == 0);
  CHECK(message(folder.path() / "fifo.xml") == "IR-file: the file is a FIFO; it must be a regular file");
}

TEST_CASE("read_model throws what read_and_check returns") {
  const ModelFiles files("<net");
  try {
    (void)files.read();
    FAIL("no error");
  } catch (const ir::Error& error) {
    CHECK(error.code() == "IR-xml");
    CHECK(error.diagnostics().size() == 1);
    CHECK(std::string(error.what()).find("model.xml:1:") != std::string::npos);
  }
}

TEST_CASE("malformed XML is reported where the parser stops") {
  CHECK(findings("<!-- nothing else -->") ==
        Lines{"model.xml:1:22: error: not well-formed XML: No document element found [IR-xml]"});
  CHECK(findings("<net version=\"11\">\n  <layers>\n  </net>\n") ==
        Lines{"model.xml:3:5: error: not well-formed XML: Start-end tags mismatch [IR-xml]"});
  CHECK(findings("<net version=\"11\">\n<layers") ==
        Lines{"model.xml:2:7: error: not well-formed XML: Error parsing start element tag [IR-xml]"});
}

TEST_CASE("a file that is no XML at all is told apart") {
  CHECK(findings("") ==
        Lines{"model.xml:1:1: error: not well-formed XML: No document element found [IR-xml]\n"
              "  hint: the file is empty"});
  const std::string hint =
      "\n  hint: this is no XML at all; an IR is an .xml file with a .bin beside it, and models of other "
      "formats, as "
      "ONNX, have to be converted before";
  CHECK(findings("no XML") ==
        Lines{"model.xml:1:7: error: not well-formed XML: No document element found [IR-xml]" + hint});
  CHECK(findings("\x08\x07<bin") ==
        Lines{"model.xml:1:6: error: not well-formed XML: Error parsing start element tag [IR-xml]" + hint});
  CHECK(findings("\xef\xbb\xbf \n<net") ==
        Lines{"model.xml:2:4: error: not well-formed XML: Error parsing start element tag [IR-xml]"});
}

TEST_CASE("the root element is <net>, in any case") {
  CHECK(findings("<!-- a comment -->\n<model version=\"11\"/>") ==
        Lines{"model.xml:2:1: error: the root element is <model>, an IR has <net> [IR-structure]"});
  CHECK(findings("<Net name=\"a\" version=\"11\"><layers/><edges/></Net>").empty());
}

TEST_CASE("versions that cannot be read are told apart") {
  CHECK(findings("<net name=\"a\">") ==
        Lines{"model.xml:1:14: error: not well-formed XML: Start-end tags mismatch [IR-xml]"});
  CHECK(findings("<net name=\"a\"/>") ==
        Lines{"model.xml:1:1: error: <net> has no attribute 'version' [IR-version]"});
  CHECK(findings("<net name=\"a\" version=\"abc\"/>") ==
        Lines{"model.xml:1:15: error: the version 'abc' is no number [IR-version]"});
  CHECK(findings("<net name=\"a\" version=\"11.0\"/>") ==
        Lines{"model.xml:1:15: error: the version '11.0' is no number [IR-version]"});
  CHECK(findings("<net name=\"a\"\n     version='7'/>") ==
        Lines{"model.xml:2:6: error: IR version 7 is a format of before 2020 [IR-version]\n"
              "  hint: OpenVINO 2020.4 was the last release to read it; convert the model again from its "
              "source"});
  CHECK(findings("<net version=\"12\"/>") ==
        Lines{"model.xml:1:6: error: IR version 12 is not supported; versions 10 and 11 are [IR-version]"});
}

TEST_CASE("a position counts bytes, whatever the line ends and the quotes are") {
  CHECK(findings("<net a = 'x>/' version\t=\r\n'12'/>") ==
        Lines{"model.xml:1:16: error: IR version 12 is not supported; versions 10 and 11 are [IR-version]"});
  CHECK(findings("\xEF\xBB\xBF<net\n\tname=\"\xC3\xA4\" version=\"12\"/>") ==
        Lines{"model.xml:2:12: error: IR version 12 is not supported; versions 10 and 11 are [IR-version]"});
}

TEST_CASE("a file larger than the limit is not read") {
  ir::ReadOptions options;
  options.limits.max_xml_bytes = 10;
  CHECK(findings("<net version=\"11\"/>", options) ==
        Lines{"model.xml: error: the file has 19 bytes, the limit max_xml_bytes is 10 [IR-limit]\n"
              "  hint: raise ReadLimits::max_xml_bytes when the model is meant to be this large"});
}

TEST_CASE("elements nested a million deep are no danger") {
  std::string text = "<net name=\"a\" version=\"11\"><layers/><edges/>";
  constexpr int kDepth = 1'000'000;
  for (int i = 0; i < kDepth; ++i) text += "<a>";
  for (int i = 0; i < kDepth; ++i) text += "</a>";
  CHECK(findings(text + "</net>").empty());
}

}  // namespace
