#include "ir_reader/xml_size.h"

#include <algorithm>

namespace ir::reader {
namespace {

constexpr auto kNowhere = std::string_view::npos;

// Just behind `end`, or the end of the text when it does not come.
std::size_t behind(std::string_view text, std::string_view end, std::size_t from) {
  const std::size_t at = text.find(end, from);
  return at == kNowhere ? text.size() : at + end.size();
}

// Behind "<![ ... ]]>" in a document type, which may hold others of its kind.
std::size_t behind_ignored(std::string_view text, std::size_t at) {
  constexpr std::string_view kStart = "<![";
  constexpr std::string_view kEnd = "]]>";
  std::int64_t open = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(kStart)) {
      ++open;
      at += kStart.size();
    } else if (rest.starts_with(kEnd)) {
      at += kEnd.size();
      if (--open == 0) return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

// Behind a document type: what it quotes, comments on or declares inside of it may hold brackets of any kind.
// What is taken for its end is what pugixml takes for it: elements hide from the count otherwise.
std::size_t behind_document_type(std::string_view text, std::size_t at) {
  std::int64_t open = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest.front() == '"' || rest.front() == '\'') {
      at = behind(text, rest.substr(0, 1), at + 1);
    } else if (rest.starts_with("<!--")) {
      at = behind(text, "-->", at + 4);
    } else if (rest.starts_with("<?")) {
      at = behind(text, "?>", at + 2);
    } else if (rest.starts_with("<![")) {
      at = behind_ignored(text, at);
    } else {
      if (rest.front() == '<') ++open;
      if (rest.front() == '>' && --open == 0) return at + 1;
      ++at;
    }
  }
  return text.size();
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

constexpr std::string_view kSection = "<![CDATA[";

// Where the comment, section, instruction, document type or end tag ends that starts at `at`; `at` for a tag.
std::size_t behind_other(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  switch (rest.size() > 1 ? rest[1] : '\0') {
    case '/':
      return behind(text, ">", at);
    case '?':
      return behind(text, "?>", at + 2);
    case '!':
      if (rest.starts_with("<!--")) return behind(text, "-->", at + 4);
      if (rest.starts_with(kSection)) return behind(text, "]]>", at + kSection.size());
      return behind_document_type(text, at);
    default:
      return at;
  }
}

// Attributes of the tag that starts at `at`, which becomes the place behind it.
std::int64_t count_attributes(std::string_view text, std::size_t& at) {
  std::int64_t attributes = 0;
  for (; at < text.size() && text[at] != '>'; ++at) {
    if (text[at] == '=') ++attributes;
    if (text[at] == '"' || text[at] == '\'') at = std::min(text.find(text[at], at + 1), text.size() - 1);
  }
  ++at;
  return attributes;
}

}  // namespace

std::optional<std::size_t> find_excess(std::string_view text, std::int64_t most) {
  // What is counted takes two bytes at least.
  if (static_cast<std::int64_t>(text.size() / 2) < most) return std::nullopt;
  std::int64_t parts = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (is_blank(text[at])) {  // blanks alone between tags are dropped by the parser
      while (at < text.size() && is_blank(text[at])) ++at;
    } else if (text[at] != '<') {
      ++parts;
      at = std::min(text.find('<', at), text.size());
    } else if (const std::size_t behind = behind_other(text, at); behind != at) {
      if (text.substr(at).starts_with(kSection)) ++parts;
      at = behind;
    } else {
      parts += 1 + count_attributes(text, at);
    }
    if (parts > most) return start;
  }
  return std::nullopt;
}

}  // namespace ir::reader
