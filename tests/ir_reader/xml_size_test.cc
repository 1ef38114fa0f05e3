// What is counted before a text is parsed: all that the parser then makes objects of.
#include "ir_reader/xml_size.h"

#include <array>
#include <pugixml.hpp>
#include <random>

#include "tests/ir_reader/support.h"

namespace {

struct Parsed {
  std::int64_t objects = 0;
  bool well_formed = false;
};

Parsed parsed(const std::string& text) {
  struct Counter : pugi::xml_tree_walker {
    std::int64_t objects = 0;
    bool for_each(pugi::xml_node& node) override {
      objects += 1 + std::distance(node.attributes_begin(), node.attributes_end());
      return true;
    }
  } counter;
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  document.traverse(counter);
  return {counter.objects, static_cast<bool>(result)};
}

bool exceeds(const std::string& text, std::int64_t limit) {
  return ir::reader::find_excess(text, limit).has_value();
}

TEST_CASE("elements, attributes, texts and sections are counted, whatever stands before them") {
  const std::string net = "<net a='1'><b/>text<c>d</c><![CDATA[<e/>]]></net>";
  const std::int64_t objects = 7;
  const std::string before =
      GENERATE(as<std::string>(), "", "<?xml version='1.0'?>\n", "<!-- <a b='c'> -->", "<!--> <z \" -->",
               "<!DOCTYPE net>", "<!DOCTYPE net SYSTEM '>'>", "<!DOCTYPE n [ '>' '<z \"' ]>",
               "<!DOCTYPE n [<!ENTITY e \"<'\">]>", "<!DOCTYPE n [<!-- > <z ' --> <?z > \" ?>]>",
               "<!DOCTYPE n <![ <z ' <![ \" ]]> > ]]> >", "<?z <z \" ?>");
  INFO(before);
  const std::string text = before + net;
  REQUIRE(parsed(text).well_formed);
  CHECK(parsed(text).objects == objects);
  CHECK_FALSE(exceeds(text, objects));
  CHECK(exceeds(text, objects - 1));
}

TEST_CASE("pieces of text between comments count, blanks do not") {
  CHECK(exceeds("<n>x<!---->x<!---->x</n>", 3));
  CHECK_FALSE(exceeds("<n>x<!---->x<!---->x</n>", 4));
  CHECK_FALSE(exceeds("<n> \n<!---->\t\r<!----> </n>", 1));
}

TEST_CASE(
    "a model whose elements hide behind a DOCTYPE is refused before it is parsed, others may have one") {
  ir::ReadOptions options;
  options.limits.max_xml_elements = 100;
  std::string text = "<!DOCTYPE net [ '>' '<z \"' ]>\n<net name='n' version='11'><layers/><edges/>";
  CHECK(ir::test::findings(text + "</net>", options).empty());
  for (int i = 0; i < 100; ++i) text += "<a/>";
  CHECK(ir::test::findings(text + "</net>", options)
            .at(0)
            .ends_with(
                "more elements, attributes and texts than the limit max_xml_elements of 100 [IR-limit]"));
}

TEST_CASE("no order of brackets and quotes hides what the parser makes objects of") {
  const std::array<std::string, 24> tokens{
      "<",    ">",   "<a", "<a>", "<a/>", "</a>", "/>",  "'", "\"",        "=", " b=",        "b='c'",
      "<!--", "-->", "-",  "<?",  "?>",   "<![",  "]]>", "[", "<![CDATA[", "x", "<!DOCTYPE ", "]"};
  std::mt19937 random(1);
  const auto some = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  for (int i = 0; i < 100'000; ++i) {
    std::string text = some(2) == 0 ? "<!DOCTYPE " : "<a>";
    for (std::size_t length = some(16); length > 0; --length) text += tokens[some(tokens.size())];
    text += some(2) == 0 ? "]>" : ">";
    text += "<a><a/>x<a b='c'/></a>";
    const Parsed reference = parsed(text);
    // Of an attribute where the parser stops, only the name may be there.
    const std::int64_t least = reference.objects - (reference.well_formed ? 1 : 2);
    if (least < 0 || exceeds(text, least)) continue;
    FAIL(text);
  }
}

}  // namespace
