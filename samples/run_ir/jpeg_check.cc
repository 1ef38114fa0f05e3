#include "samples/run_ir/jpeg_check.h"

#include <cstddef>

namespace run_ir {
namespace {

constexpr unsigned kStartOfImage = 0xd8;
constexpr unsigned kEndOfImage = 0xd9;
constexpr unsigned kHuffmanTables = 0xc4;
constexpr std::size_t kMostCodes = 256;

bool is_restart(unsigned marker) { return marker >= 0xd0 && marker <= 0xd7; }

// Goes from segment to segment as a decoder does: a scan's data ends at the first marker that is no restart.
class Segments {
 public:
  explicit Segments(std::string_view file) : file_(file) {}

  /// Whether there is another one; `marker` and `rest` are its then.
  bool next() {
    at_ = end_;
    while (at_ < file_.size() && !find_marker()) continue;
    if (at_ >= file_.size() || marker_ == kEndOfImage) return false;
    end_ = marker_ == kStartOfImage ? at_ : at_ + length();
    return true;
  }

  [[nodiscard]] unsigned marker() const { return marker_; }
  /// From the two bytes of the length to the end of the file.
  [[nodiscard]] std::string_view rest() const { return file_.substr(at_); }
  /// With its own two bytes.
  [[nodiscard]] std::size_t length() const {
    return at_ + 1 < file_.size() ? byte(at_) << 8U | byte(at_ + 1) : kNoLength;
  }

 private:
  static constexpr std::size_t kNoLength = 2;

  [[nodiscard]] unsigned byte(std::size_t at) const { return static_cast<unsigned char>(file_[at]); }

  // Looks at one byte, or at a marker.
  bool find_marker() {
    if (byte(at_++) != 0xff) return false;
    while (at_ < file_.size() && byte(at_) == 0xff) ++at_;
    if (at_ == file_.size()) return false;
    marker_ = byte(at_++);
    return marker_ != 0 && !is_restart(marker_);
  }

  std::string_view file_;
  /// Behind the marker.
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  unsigned marker_ = 0;
};

// A table is read whole, also where it goes beyond the end of its segment.
bool oversized(std::string_view rest, std::size_t length) {
  constexpr std::size_t kLengthBytes = 2;
  constexpr std::size_t kCounts = 16;
  std::size_t at = kLengthBytes;
  while (at < length && at < rest.size()) {
    std::size_t codes = 0;
    for (const char count : rest.substr(at + 1, kCounts)) codes += static_cast<unsigned char>(count);
    if (codes > kMostCodes) return true;
    at += 1 + kCounts + codes;
  }
  return false;
}

}  // namespace

bool has_oversized_huffman_table(std::string_view file) {
  if (!file.starts_with('\xff')) return false;
  for (Segments segments(file); segments.next();) {
    if (segments.marker() == kHuffmanTables && oversized(segments.rest(), segments.length())) return true;
  }
  return false;
}

}  // namespace run_ir
