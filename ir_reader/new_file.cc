#include "ir_reader/new_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "ir_reader/errors.h"
#include "ir_reader/regular_file.h"

namespace ir::reader {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw file_error("IR-file", path.string(), fmt::format("the file cannot be written: {}", why));
}

// What is there stays when it is no file to write: a rename would put a file in the place of a device.
void require_free_or_regular(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;  // nothing there, or opening the file tells why it fails
  if (S_ISDIR(status.st_mode)) fail(path, std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode))
    fail(path, fmt::format("it is {}; it must be a regular file", kind_of(status.st_mode)));
}

// Where `path` leads: a link may lead to a file that does not exist yet, so that canonical() is of no help.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::filesystem::path place = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(place, error); ++links) {
    if (links == kMostLinks) fail(path, std::strerror(ELOOP));
    const std::filesystem::path target = std::filesystem::read_symlink(place, error);
    if (error) fail(path, error.message());
    place = place.parent_path() / target;  // an absolute target stands alone
  }
  // Links of /proc say where a file was when it had a name.
  if (std::filesystem::exists(path, error) && !std::filesystem::equivalent(path, place, error))
    fail(path, "it is a link to a file that has no name");
  return place;
}

}  // namespace

NewFile::NewFile(const std::filesystem::path& path) {
  // What is known to fail in the end fails before anything is written.
  require_free_or_regular(path);
  path_ = behind_links(path);
  std::filesystem::path beside = path_;
  beside += ".part";
  require_free_or_regular(beside);
  std::error_code error;  // opening the file tells why a place cannot be looked at
  if (std::filesystem::is_symlink(beside, error))
    fail(beside, "it is a link, which would take the place of the file");
  file_.open(beside, std::ios::binary | std::ios::trunc);
  if (!file_) fail(path, std::strerror(errno));
  beside_ = std::move(beside);
}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!beside_.empty()) std::filesystem::remove(beside_, ignored);
}

void NewFile::finish() {
  errno = 0;
  file_.close();
  if (!file_) fail(path_, errno != 0 ? std::strerror(errno) : "not all bytes could be written");
}

void NewFile::put_in_place() {
  std::error_code error;
  std::filesystem::rename(beside_, path_, error);
  if (error) fail(path_, error.message());
  beside_.clear();
}

}  // namespace ir::reader
