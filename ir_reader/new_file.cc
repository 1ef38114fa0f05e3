#include "ir_reader/new_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "ir_runtime/diagnostics.h"

namespace ir::reader {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw Error({Diagnostic{Severity::error,
                          "IR-file",
                          {path.string(), 0, 0},
                          {},
                          fmt::format("the file cannot be written: {}", why),
                          {}}});
}

}  // namespace

NewFile::NewFile(std::filesystem::path path) : path_(std::move(path)), beside_(path_) {
  // What is known to fail in the end fails before anything is written.
  if (std::filesystem::is_directory(path_)) fail(path_, std::strerror(EISDIR));
  beside_ += ".part";
  file_.open(beside_, std::ios::binary | std::ios::trunc);
  if (!file_) fail(path_, std::strerror(errno));
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
