// A file that exists in memory only, for readers that want a path.
#ifndef TESTS_HOSTILE_MEMORY_FILE_H_
#define TESTS_HOSTILE_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ir::hostile {

/// Nothing of it stays behind, even when the process dies.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("hostile", MFD_CLOEXEC)) {
    while (file_ >= 0 && !bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written <= 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (file_ < 0 || !bytes.empty()) throw std::runtime_error("no memory for a file");
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace ir::hostile

#endif  // TESTS_HOSTILE_MEMORY_FILE_H_
