#include "samples/run_ir/source_lines.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ir_reader/regular_file.h"
#include "ir_runtime/diagnostics.h"

namespace run_ir {
namespace {

// Bytes of UTF-8 behind the first one of a character.
bool continues_a_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

}  // namespace

SourceLines::SourceLines(const std::filesystem::path& path) {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  try {
    const ir::reader::RegularFile file(path);
    if (file.size() <= kMaxBytes) text_ = file.text();
  } catch (const ir::Error&) {
    return;
  }
  table_ = ir::reader::LineTable(text_);
}

std::string_view SourceLines::line(int number) const {
  const auto start = number < 1 ? std::nullopt : table_.start_of(text_, static_cast<std::size_t>(number));
  if (!start) return {};
  std::string_view line = std::string_view(text_).substr(*start, text_.find('\n', *start) - *start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

int SourceLines::character_column(int number, int column) const {
  const std::string_view before = line(number).substr(0, static_cast<std::size_t>(std::max(column - 1, 0)));
  return 1 + static_cast<int>(before.size() -
                              static_cast<std::size_t>(std::ranges::count_if(before, continues_a_character)));
}

Excerpt excerpt(std::string_view line, int column) {
  constexpr std::size_t kMaxWidth = 120;
  constexpr std::size_t kBefore = 40;
  std::size_t at = std::min(static_cast<std::size_t>(std::max(column - 1, 0)), line.size());
  std::string_view before;
  std::string_view after;
  if (line.size() > kMaxWidth) {
    std::size_t first = at > kBefore ? at - kBefore : 0;
    while (first > 0 && continues_a_character(line[first])) --first;
    std::size_t last = std::min(first + kMaxWidth, line.size());
    while (last < line.size() && continues_a_character(line[last])) ++last;
    if (first > 0) before = "...";
    if (last < line.size()) after = "...";
    line = line.substr(first, last - first);
    at -= first;
  }
  Excerpt result{std::string(before), std::string(before.size(), ' ')};
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char shown = is_control(line[i]) && line[i] != '\t' ? '?' : line[i];
    result.line += shown;
    // Tabs stay tabs, so that the caret stands below its column for any width of them.
    if (i < at && !continues_a_character(shown)) result.caret += shown == '\t' ? '\t' : ' ';
  }
  result.line += after;
  result.caret += '^';
  return result;
}

}  // namespace run_ir
