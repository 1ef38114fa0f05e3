// A file that is written whole or not at all.
#ifndef IR_READER_NEW_FILE_H_
#define IR_READER_NEW_FILE_H_

#include <filesystem>
#include <fstream>
#include <ostream>

namespace ir::reader {

/// Bytes go into a file beside `path`, which takes its place in the end. Until then, and for whoever has it
/// mapped even longer, the old file stays as it was. What was not put in place is removed. A link stays one:
/// the file that it leads to is replaced.
class NewFile {
 public:
  /// Throws Error `IR-file` when no file can be written there, or when a folder, FIFO, socket or device is
  /// there already.
  explicit NewFile(const std::filesystem::path& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] std::ostream& stream() { return file_; }
  /// Writes out what is buffered. Throws Error `IR-file` when not all bytes could be written.
  void finish();
  /// Replaces the file at `path`; after `finish()`. Throws Error `IR-file`.
  void put_in_place();
  /// Where the bytes end up: `path` with its links followed.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path beside_;
  std::ofstream file_;
};

}  // namespace ir::reader

#endif  // IR_READER_NEW_FILE_H_
