#include "ir_reader/line_table.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ir::reader {

LineTable::LineTable(std::string_view text) {
  blocks_.reserve(text.size() / kBlockBytes + 1);
  blocks_.emplace_back();
  for (std::size_t at = kBlockBytes; at <= text.size(); at += kBlockBytes) {
    Block next = blocks_.back();
    pass(text, at - kBlockBytes, at, next);
    blocks_.push_back(next);
  }
}

LineTable::Place LineTable::find(std::string_view text, std::size_t offset) const {
  offset = std::min(offset, text.size());
  const std::size_t index = offset / kBlockBytes;
  Block block = blocks_[index];
  pass(text, index * kBlockBytes, offset, block);
  return {block.line, offset - block.line_start + 1};
}

std::optional<std::size_t> LineTable::start_of(std::string_view text, std::size_t line) const {
  if (blocks_.empty() || line == 0) return std::nullopt;
  if (line == 1) return 0;
  const auto behind = std::ranges::lower_bound(blocks_, line, {}, &Block::line);
  std::size_t at = static_cast<std::size_t>(behind - blocks_.begin() - 1) * kBlockBytes;
  for (std::size_t left = line - std::prev(behind)->line; left > 0; --left) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return std::nullopt;
    at = end + 1;
  }
  return at;
}

void LineTable::pass(std::string_view text, std::size_t from, std::size_t to, Block& block) {
  while (from < to) {
    const void* const end = std::memchr(text.data() + from, '\n', to - from);
    if (end == nullptr) return;
    from = static_cast<std::size_t>(static_cast<const char*>(end) - text.data()) + 1;
    ++block.line;
    block.line_start = from;
  }
}

}  // namespace ir::reader
