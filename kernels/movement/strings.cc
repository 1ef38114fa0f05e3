#include "kernels/movement/strings.h"

#include <algorithm>

namespace ir::kernels {

std::optional<BadRange> pack_strings(IndexView begins, IndexView ends, std::span<const std::uint8_t> symbols,
                                     std::span<std::string> out) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t begin = begins[i];
    const std::int64_t end = ends[i];
    if (begin < 0 || end < begin || static_cast<std::size_t>(end) > symbols.size())
      return BadRange{i, begin, end};
    // Few symbols may make many strings.
    length += static_cast<std::size_t>(end - begin);
    if (length > kMaxCharacters) return BadRange{i, begin, end};
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].assign(symbols.data() + begins[i], symbols.data() + ends[i]);
  return {};
}

std::size_t total_length(std::span<const std::string> strings) {
  std::size_t length = 0;
  for (const std::string& string : strings) length += string.size();
  return length;
}

void unpack_strings(std::span<const std::string> strings, std::int32_t* begins, std::int32_t* ends,
                    std::uint8_t* symbols) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    begins[i] = static_cast<std::int32_t>(at);
    std::ranges::copy(strings[i], symbols + at);
    at += strings[i].size();
    ends[i] = static_cast<std::int32_t>(at);
  }
}

}  // namespace ir::kernels
