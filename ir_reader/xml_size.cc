#include "ir_reader/xml_size.h"

#include <fmt/format.h>

#include <algorithm>

namespace ir::reader {
namespace {

// Just behind `end`, or the end of the text when it does not come.
std::size_t behind(std::string_view text, std::string_view end, std::size_t from) {
  const std::size_t at = text.find(end, from);
  return at == std::string_view::npos ? text.size() : at + end.size();
}

// Where the comment, section, instruction or end tag ends that starts at `at`; `at` for a tag.
std::size_t behind_other(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  switch (rest.size() > 1 ? rest[1] : '\0') {
    case '/':
      return std::min(text.find('>', at), text.size() - 1) + 1;
    case '?':
      return behind(text, "?>", at);
    case '!':
      if (rest.starts_with("<!--")) return behind(text, "-->", at);
      if (rest.starts_with("<![CDATA[")) return behind(text, "]]>", at);
      return behind(text, ">", at);
    default:
      return at;
  }
}

}  // namespace

std::optional<XmlExcess> find_excess(std::string_view text, const XmlLimits& limits) {
  std::int64_t elements = 0;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    if (const std::size_t next = behind_other(text, at); next != at) {
      at = next;
      continue;
    }
    const std::size_t tag = at;
    std::int64_t attributes = 0;
    for (; at < text.size() && text[at] != '>'; ++at) {
      if (text[at] == '=') ++attributes;
      if (text[at] == '"' || text[at] == '\'') at = std::min(text.find(text[at], at + 1), text.size() - 1);
    }
    if (attributes > limits.max_attributes_per_element) {
      return XmlExcess{
          tag, fmt::format("the element has {} attributes, the limit max_attributes_per_element is {}",
                           attributes, limits.max_attributes_per_element)};
    }
    elements += 1 + attributes;
    if (elements > limits.max_xml_elements) {
      return XmlExcess{tag, fmt::format("more elements and attributes than the limit max_xml_elements of {}",
                                        limits.max_xml_elements)};
    }
  }
  return std::nullopt;
}

}  // namespace ir::reader
