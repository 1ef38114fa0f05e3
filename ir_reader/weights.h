// The weights file: mapped, read or in the caller's memory, and handed out as bounds-checked views.
#ifndef IR_READER_WEIGHTS_H_
#define IR_READER_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace ir::reader {

/// `named`, or the .bin beside `xml` when none is named.
std::filesystem::path weights_file_of(const std::filesystem::path& xml,
                                      const std::filesystem::path& named = {});

class Weights {
 public:
  /// Maps a file read-only. Its bytes are those of the file whenever they are read: nobody may cut it off
  /// meanwhile, which would end the process (SIGBUS), nor change it. Throws Error `IR-file` when it is
  /// missing, no regular file, or cannot be mapped.
  static std::shared_ptr<const Weights> map(const std::filesystem::path& path);
  /// Reads a file into memory. Throws also Error `IR-limit` when it has more than `most` bytes, `IR-memory`
  /// when there is no memory for it.
  static std::shared_ptr<const Weights> load(const std::filesystem::path& path, std::int64_t most);
  /// Memory of the caller, which stays as it is for as long as `owner` lives, or the model is in use.
  static std::shared_ptr<const Weights> in_memory(std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner, std::string name);
  ~Weights();
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_mapped() const { return mapped_; }
  /// The bytes from `offset` on; null unless [offset, offset + size) lies in the file.
  [[nodiscard]] const std::byte* view(std::int64_t offset, std::int64_t size) const;
  /// Bytes of the file that Git LFS would put here; empty when these are weights.
  [[nodiscard]] std::optional<std::int64_t> lfs_size() const;

 private:
  Weights() = default;
  std::string name_;
  std::int64_t size_ = 0;
  void* data_ = nullptr;
  bool mapped_ = false;
  bool borrowed_ = false;
  std::shared_ptr<const void> owner_;
};

}  // namespace ir::reader

#endif  // IR_READER_WEIGHTS_H_
