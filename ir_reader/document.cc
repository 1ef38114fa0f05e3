#include "ir_reader/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "ir_reader/errors.h"
#include "ir_reader/regular_file.h"
#include "ir_reader/xml_size.h"
#include "runtime/types/printable.h"

namespace ir::reader {
namespace {

// Before a file is read.
void require_size(std::int64_t bytes, const std::string& name, const XmlLimits& limits) {
  if (bytes <= limits.max_xml_bytes) return;
  throw file_error(
      "IR-limit", name,
      fmt::format("the file has {} bytes, the limit max_xml_bytes is {}", bytes, limits.max_xml_bytes),
      "raise ReadLimits::max_xml_bytes when the model is meant to be this large");
}

// What a text is encoded in that begins with the mark of another encoding than UTF-8, or with '<' in one.
std::string_view foreign_encoding(std::string_view text) {
  using namespace std::string_view_literals;
  constexpr std::array kStarts{
      std::pair("\xff\xfe\0\0"sv, "UTF-32"sv), std::pair("\0\0\xfe\xff"sv, "UTF-32"sv),
      std::pair("<\0\0\0"sv, "UTF-32"sv),      std::pair("\0\0\0<"sv, "UTF-32"sv),
      std::pair("\xff\xfe"sv, "UTF-16"sv),     std::pair("\xfe\xff"sv, "UTF-16"sv),
      std::pair("<\0"sv, "UTF-16"sv),          std::pair("\0<"sv, "UTF-16"sv)};
  for (const auto& [start, encoding] : kStarts) {
    if (text.starts_with(start)) return encoding;
  }
  return {};
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// For a text that is not well-formed. People name weights, networks of other formats, and files that a
// download left empty.
std::string hint_for(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.empty()) return "the file is empty";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto first = std::ranges::find_if_not(text, is_space);
  if (first != text.end() && *first == '<') return {};
  return "this is no XML at all; an IR is an .xml file with a .bin beside it, and models of other formats, "
         "as ONNX, have to be converted before";
}

}  // namespace

Document Document::load(const std::filesystem::path& path, const XmlLimits& limits) {
  const RegularFile file(path);
  require_size(file.size(), file.name(), limits);
  return parse(file.text(), file.name(), limits);
}

Document Document::parse(std::string text, std::string name, const XmlLimits& limits) {
  require_size(static_cast<std::int64_t>(text.size()), name, limits);
  Document document;
  document.name_ = std::move(name);
  document.text_ = std::move(text);
  document.lines_ = LineTable(document.text_);
  if (is_lfs_pointer(document.text_)) {
    throw error_at("IR-lfs-pointer", document.locate(0), "the file is a Git LFS pointer, not the file itself",
                   "`git lfs pull` fetches it");
  }
  if (const std::string_view encoding = foreign_encoding(document.text_); !encoding.empty()) {
    throw error_at("IR-encoding", document.locate(0),
                   fmt::format("the text is {}, models are read as UTF-8", encoding),
                   "store the file as UTF-8");
  }
  if (const auto excess = find_excess(document.text_, limits.max_xml_elements)) {
    throw error_at("IR-limit", document.locate(*excess),
                   fmt::format("more elements, attributes and texts than the limit max_xml_elements of {}",
                               limits.max_xml_elements));
  }
  // load_buffer copies: the text stays as it was, for positions.
  const pugi::xml_parse_result result = document.xml_.load_buffer(
      document.text_.data(), document.text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (result.status == pugi::status_out_of_memory) throw std::bad_alloc();
  if (!result) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0));
    throw error_at("IR-xml", document.locate(std::min(offset, document.text_.size())),
                   fmt::format("not well-formed XML: {}", result.description()), hint_for(document.text_));
  }
  // Attributes are found by walking along them.
  document.require_attributes(limits.max_attributes_per_element);
  return document;
}

void Document::require_attributes(std::int64_t most) {
  struct Walker : pugi::xml_tree_walker {
    explicit Walker(std::int64_t limit) : most(limit) {}
    bool for_each(pugi::xml_node& node) override {
      count = 0;
      for (pugi::xml_attribute one = node.first_attribute(); one; one = one.next_attribute()) ++count;
      if (count > most) found = node;
      return !found;
    }
    std::int64_t most;
    std::int64_t count = 0;
    pugi::xml_node found;
  } walker(most);
  xml_.traverse(walker);
  if (!walker.found) return;
  throw error_at("IR-limit", where(walker.found),
                 fmt::format("the element has {} attributes, the limit max_attributes_per_element is {}",
                             walker.count, most));
}

std::optional<std::pair<unsigned char, SourceLocation>> Document::ill_formed() const {
  const std::size_t at = ill_formed_utf8_at(text_);
  if (at == std::string::npos) return std::nullopt;
  return std::pair(static_cast<unsigned char>(text_[at]), locate(at));
}

SourceLocation Document::locate(std::size_t offset) const {
  const LineTable::Place place = lines_.find(text_, offset);
  return {name_, static_cast<int>(place.line), static_cast<int>(place.column)};
}

SourceLocation Document::where(const pugi::xml_node& node) const {
  // pugixml points at the name; the '<' stands right before it.
  const std::ptrdiff_t offset = node.offset_debug();
  if (offset < 0) return {name_, 0, 0};
  return locate(static_cast<std::size_t>(offset > 0 ? offset - 1 : 0));
}

SourceLocation Document::where(const pugi::xml_node& node, std::string_view attribute) const {
  const std::ptrdiff_t offset = node.offset_debug();
  if (offset < 0 || !node.attribute(attribute.data())) return where(node);
  // Walks the start tag: name="value" pairs, values in either quote. The parser has accepted it already.
  std::size_t at = static_cast<std::size_t>(offset);
  const auto end = text_.size();
  while (at < end && !is_space(text_[at]) && text_[at] != '>' && text_[at] != '/') ++at;
  while (at < end) {
    while (at < end && is_space(text_[at])) ++at;
    if (at >= end || text_[at] == '>' || text_[at] == '/') break;
    const std::size_t name_start = at;
    while (at < end && text_[at] != '=' && !is_space(text_[at])) ++at;
    if (std::string_view(text_).substr(name_start, at - name_start) == attribute) return locate(name_start);
    while (at < end && text_[at] != '"' && text_[at] != '\'') ++at;
    if (at >= end) break;
    at = text_.find(text_[at], at + 1);
    if (at == std::string::npos) break;
    ++at;
  }
  return where(node);
}

}  // namespace ir::reader
