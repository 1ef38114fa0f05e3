#include "ir_reader/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ir_reader/errors.h"

namespace ir::reader {

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

RegularFile::RegularFile(const std::filesystem::path& path, std::string_view what)
    : name_(path.string()), what_(what) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int error = errno;
  if (descriptor_ < 0 && error == ENOENT) fail(fmt::format("the {} does not exist", what_));
  struct stat status {};
  // A socket cannot be opened at all.
  const int known = descriptor_ < 0 ? ::stat(path.c_str(), &status) : ::fstat(descriptor_, &status);
  std::string fault;
  if (known == 0 && !S_ISREG(status.st_mode)) {
    fault = fmt::format("the {} is {}; it must be a regular file", what_, kind_of(status.st_mode));
  } else if (descriptor_ < 0 || known != 0) {
    fault = fmt::format("the {} cannot be opened: {}", what_, std::strerror(descriptor_ < 0 ? error : errno));
  }
  if (!fault.empty()) {
    if (descriptor_ >= 0) ::close(descriptor_);
    fail(std::move(fault));
  }
  size_ = status.st_size;
}

RegularFile::~RegularFile() { ::close(descriptor_); }

void RegularFile::read_into(void* memory) const {
  auto* to = static_cast<char*>(memory);
  for (std::int64_t at = 0; at < size_;) {
    const ssize_t count = ::pread(descriptor_, to + at, static_cast<std::size_t>(size_ - at), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(fmt::format("the {} cannot be read: {}", what_, std::strerror(errno)));
    if (count == 0)
      fail(fmt::format("the {} was cut off after {} of {} bytes while it was read", what_, at, size_));
    at += count;
  }
}

std::string RegularFile::text() const {
  std::string text(static_cast<std::size_t>(size_), '\0');
  read_into(text.data());
  return text;
}

void RegularFile::fail(std::string message) const { throw file_error("IR-file", name_, std::move(message)); }

bool is_there(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

bool is_lfs_pointer(std::string_view text) {
  return text.starts_with("version https://git-lfs.github.com/spec/");
}

}  // namespace ir::reader
