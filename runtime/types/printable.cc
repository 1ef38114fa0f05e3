#include "runtime/types/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <iterator>

namespace ir {
namespace {

struct Character {
  std::uint32_t code = 0;
  /// 0: the text is ill-formed here.
  std::size_t bytes = 0;
};

// The character that starts at `at`; overlong forms, surrogates and codes beyond U+10FFFF are ill-formed.
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : (lead >= 0xE0 ? 3 : 2);
  if (lead < 0xC2 || lead > 0xF4 || length > text.size() - at) return {};
  std::uint32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint32_t next = byte(at + i);
    if ((next & 0xC0U) != 0x80U) return {};
    code = code << 6U | (next & 0x3FU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[length] || surrogate || code > 0x10FFFF) return {};
  return {code, length};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Separators of lines and marks, embeddings, overrides and isolates of direction.
bool bends_text(std::uint32_t code) {
  return code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

std::string spelt_out(std::string_view text, bool keep_layout) {
  std::string shown;
  shown.reserve(text.size());
  const auto out = std::back_inserter(shown);
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at]) || (keep_layout && (text[at] == '\n' || text[at] == '\t'))) {
      shown += text[at++];
      continue;
    }
    const auto [code, bytes] = character_at(text, at);
    if (bytes == 0) {
      fmt::format_to(out, "\\x{:02x}", static_cast<unsigned char>(text[at++]));
      continue;
    }
    if (code < 0x80) {
      fmt::format_to(out, "\\x{:02x}", code);
    } else if (is_control(code) || bends_text(code)) {
      fmt::format_to(out, "\\u{:04x}", code);
    } else {
      shown += text.substr(at, bytes);
    }
    at += bytes;
  }
  return shown;
}

}  // namespace

std::size_t ill_formed_utf8_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    // Eight plain bytes at a time.
    std::uint64_t word = 0;
    while (text.size() - at >= sizeof word) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080U) != 0) break;
      at += sizeof word;
    }
    if (at == text.size()) break;
    const std::size_t bytes = character_at(text, at).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

std::string printable(std::string_view text) { return spelt_out(text, false); }

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() <= most) return printable(text);
  // Not in the middle of a character.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return printable(text.substr(0, most)) + "...";
}

std::string printable_lines(std::string_view text) { return spelt_out(text, true); }

}  // namespace ir
