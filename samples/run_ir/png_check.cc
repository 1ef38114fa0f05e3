#include "samples/run_ir/png_check.h"

#include <cstddef>

namespace run_ir {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
// Length and type before the data of a chunk, a checksum behind it.
constexpr std::size_t kHead = 8;
constexpr std::size_t kChecksum = 4;

std::size_t big_endian(std::string_view bytes) {
  std::size_t number = 0;
  for (const char byte : bytes) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace

std::string_view fault_of_png(std::string_view file) {
  if (!file.starts_with(kSignature)) return {};
  bool has_pixels = false;
  for (std::string_view rest = file.substr(kSignature.size()); rest.size() >= kHead;) {
    const std::size_t length = big_endian(rest.substr(0, 4));
    const std::string_view type = rest.substr(4, 4);
    rest.remove_prefix(kHead);
    if (type == "IEND") break;
    if (length > rest.size()) return "a chunk is longer than the file";
    if (type == "IDAT" && length == 0 && !has_pixels) return "its pixels begin with an empty chunk";
    has_pixels = has_pixels || type == "IDAT";
    rest.remove_prefix(length);
    if (rest.size() < kChecksum) break;
    rest.remove_prefix(kChecksum);
  }
  return {};
}

}  // namespace run_ir
