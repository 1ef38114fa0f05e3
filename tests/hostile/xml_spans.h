// Where the elements and attributes of an XML text are, also of one that is not well-formed.
#ifndef TESTS_HOSTILE_XML_SPANS_H_
#define TESTS_HOSTILE_XML_SPANS_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace ir::hostile {

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::string_view in(std::string_view text) const { return text.substr(begin, end - begin); }
};

struct XmlSpans {
  struct Element {
    /// From '<' to behind the closing tag.
    Span whole;
    Span name;
  };
  struct Attribute {
    /// From the name to behind the closing quote.
    Span whole;
    Span name;
    Span value;
  };
  std::vector<Element> elements;
  std::vector<Attribute> attributes;
  /// Text between tags that is more than white space.
  std::vector<Span> texts;
};

XmlSpans find_spans(std::string_view text);

}  // namespace ir::hostile

#endif  // TESTS_HOSTILE_XML_SPANS_H_
