// How much an XML text asks of a parser, found out before it is parsed.
#ifndef IR_READER_XML_SIZE_H_
#define IR_READER_XML_SIZE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ir::reader {

struct XmlLimits {
  std::int64_t max_xml_bytes = 0;
  /// Elements, attributes and texts together: each takes some 50 bytes of memory.
  std::int64_t max_xml_elements = 0;
  std::int64_t max_attributes_per_element = 0;
};

/// A limit that a text exceeds, and where.
struct XmlExcess {
  std::size_t offset = 0;
  std::string message;
};

/// Counts tags, what stands in them, and texts between them: never fewer than the parser makes objects of. A
/// text that is not well-formed is counted somehow; the parser reports it.
std::optional<XmlExcess> find_excess(std::string_view text, const XmlLimits& limits);

}  // namespace ir::reader

#endif  // IR_READER_XML_SIZE_H_
