#include <fmt/format.h>

#include "ir_reader/errors.h"
#include "ir_reader/new_file.h"
#include "ir_reader/regular_file.h"
#include "ir_runtime/tuning.h"

namespace ir {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;

}  // namespace

std::shared_ptr<Tuning> read_tuning(const std::filesystem::path& path) {
  const reader::RegularFile file(path, "tuning file");
  if (file.size() > kMostBytes) {
    throw reader::file_error(
        "IR-limit", file.name(),
        fmt::format("the tuning file has {} bytes; more than {} are not read", file.size(), kMostBytes));
  }
  return Tuning::parse(file.text(), file.name());
}

void write_tuning(const Tuning& tuning, const std::filesystem::path& path) {
  reader::NewFile file(path);
  file.stream() << tuning.text();
  file.finish();
  file.put_in_place();
}

}  // namespace ir
