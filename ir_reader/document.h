// An XML file with its text kept, so that every element and attribute knows its line and column.
#ifndef IR_READER_DOCUMENT_H_
#define IR_READER_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "ir_reader/line_table.h"
#include "ir_runtime/diagnostics.h"

namespace ir::reader {

struct XmlLimits {
  std::int64_t max_xml_bytes = 0;
  /// Elements, attributes and texts together: each takes some 50 bytes of memory.
  std::int64_t max_xml_elements = 0;
  std::int64_t max_attributes_per_element = 0;
};

class Document {
 public:
  /// Reads and parses a file. Throws Error `IR-file`, and what parse throws.
  static Document load(const std::filesystem::path& path, const XmlLimits& limits);
  /// Parses `text`; `name` stands in diagnostics. Throws Error `IR-limit`, `IR-lfs-pointer`, `IR-encoding` or
  /// `IR-xml`.
  static Document parse(std::string text, std::string name, const XmlLimits& limits);

  [[nodiscard]] pugi::xml_node root() const { return xml_.document_element(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The first byte that is no part of UTF-8, if there is one; and where it stands.
  [[nodiscard]] std::optional<std::pair<unsigned char, SourceLocation>> ill_formed() const;

  /// Where the element starts: its '<'.
  [[nodiscard]] SourceLocation where(const pugi::xml_node& node) const;
  /// Where the attribute's name starts; the element when it has no such attribute.
  [[nodiscard]] SourceLocation where(const pugi::xml_node& node, std::string_view attribute) const;

 private:
  Document() = default;
  void require_attributes(std::int64_t most);
  [[nodiscard]] SourceLocation locate(std::size_t offset) const;

  std::string name_;
  std::string text_;
  LineTable lines_;
  pugi::xml_document xml_;
};

}  // namespace ir::reader

#endif  // IR_READER_DOCUMENT_H_
