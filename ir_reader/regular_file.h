// A file that is opened for reading: only a regular one, and without waiting for anybody.
#ifndef IR_READER_REGULAR_FILE_H_
#define IR_READER_REGULAR_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ir::reader {

/// What is no regular file, in words: "a FIFO". `mode` is that of stat().
std::string_view kind_of(mode_t mode);

class RegularFile {
 public:
  /// `what` stands in messages ("weights file"). Throws Error `IR-file` when there is no such file, or when
  /// it is a folder, FIFO, socket or device.
  explicit RegularFile(const std::filesystem::path& path, std::string_view what = "file");
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  /// Bytes when it was opened.
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Reads all `size()` bytes. Throws Error `IR-file` when the file has become shorter.
  void read_into(void* memory) const;
  [[nodiscard]] std::string text() const;

  [[noreturn]] void fail(std::string message) const;

 private:
  std::string name_;
  std::string what_;
  std::int64_t size_ = 0;
  int descriptor_ = -1;
};

/// Whether something is there, whatever it is; what cannot be looked at is not.
bool is_there(const std::filesystem::path& path);

/// Whether `text` is what Git LFS leaves in the place of a file that was not fetched.
bool is_lfs_pointer(std::string_view text);

}  // namespace ir::reader

#endif  // IR_READER_REGULAR_FILE_H_
