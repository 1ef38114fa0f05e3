// Files that are written whole or not at all: what may be there already.
#include "ir_reader/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ir_runtime/diagnostics.h"
#include "ir_runtime/model.h"
#include "ir_runtime/write_model.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using ir::test::bytes_of;
using ir::test::TemporaryFolder;

void write(const fs::path& path, const std::string& text) {
  ir::reader::NewFile file(path);
  file.stream() << text;
  file.finish();
  file.put_in_place();
}

std::string failure(const fs::path& path) {
  try {
    write(path, "new");
  } catch (const ir::Error& error) {
    const ir::Diagnostic& first = error.diagnostics()[0];
    return fs::path(first.where.file).filename().string() + ": " + first.code + ": " + first.message;
  }
  return "none";
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST_CASE("what is no regular file is not replaced") {
  const TemporaryFolder folder;
  const fs::path fifo = folder.path() / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(failure(fifo) ==
        "fifo: IR-file: the file cannot be written: it is a FIFO; it must be a regular file");
  CHECK(fs::is_fifo(fifo));

  const fs::path link = folder.path() / "link";
  fs::create_symlink("fifo", link);
  CHECK(failure(link) ==
        "link: IR-file: the file cannot be written: it is a FIFO; it must be a regular file");
  CHECK(fs::is_symlink(link));

  const fs::path device = folder.path() / "device";
  constexpr unsigned kNull = 3;  // of the memory devices: what is written is gone
  if (mknod(device.c_str(), S_IFCHR | 0600, makedev(1, kNull)) == 0) {
    CHECK(failure(device) ==
          "device: IR-file: the file cannot be written: it is a device; it must be a regular file");
    CHECK(fs::is_character_file(device));
    fs::remove(device);
  }
  CHECK(failure(folder.path()).ends_with("IR-file: the file cannot be written: Is a directory"));
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("nor is what stands where the bytes are gathered") {
  const TemporaryFolder folder;
  const fs::path part = folder.path() / "a.part";
  REQUIRE(mkfifo(part.c_str(), 0600) == 0);
  CHECK(failure(folder.path() / "a") ==
        "a.part: IR-file: the file cannot be written: it is a FIFO; it must be a regular file");
  CHECK(fs::is_fifo(part));

  fs::remove(part);
  const fs::path other = folder.write("other", "old");
  fs::create_symlink("other", part);
  CHECK(failure(folder.path() / "a") ==
        "a.part: IR-file: the file cannot be written: it is a link, which would take the place of the file");
  CHECK(bytes_of(other) == "old");

  fs::remove(part);
  (void)folder.write("a.part", "left by somebody who was stopped");
  write(folder.path() / "a", "new");
  CHECK(bytes_of(folder.path() / "a") == "new");
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("a file that is open and has no name any more cannot be replaced") {
  const TemporaryFolder folder;
  const int file = ::open((folder.path() / "a").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  fs::remove(folder.path() / "a");
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  if (fs::exists(link)) {
    CHECK(failure(link).ends_with("the file cannot be written: it is a link to a file that has no name"));
    CHECK(files_in(folder.path()) == 0);
  }
  ::close(file);
}

TEST_CASE("a name that is too long where the bytes are gathered is an error like any other") {
  const TemporaryFolder folder;
  const std::string longest(255, 'a');
  CHECK(failure(folder.path() / longest) ==
        longest + ": IR-file: the file cannot be written: File name too long");
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("a link stays one, and what it leads to is replaced") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "deep");
  const fs::path file = folder.write("deep/file", "old");
  const fs::path link = folder.path() / "link";
  fs::create_symlink("deep/file", link);
  fs::create_symlink(link, folder.path() / "link_to_link");
  write(folder.path() / "link_to_link", "new");
  CHECK(fs::is_symlink(folder.path() / "link_to_link"));
  CHECK(fs::is_symlink(link));
  CHECK(fs::is_regular_file(fs::symlink_status(file)));
  CHECK(bytes_of(file) == "new");

  fs::remove(file);  // a link to nothing: the file comes to be where it points
  write(link, "again");
  CHECK(fs::is_symlink(link));
  CHECK(bytes_of(file) == "again");
  CHECK(files_in(folder.path() / "deep") == 1);

  fs::create_symlink("round", folder.path() / "round");
  CHECK(failure(folder.path() / "round") ==
        "round: IR-file: the file cannot be written: Too many levels of symbolic links");
}

TEST_CASE("a model and its weights are two files, links or not") {
  const TemporaryFolder folder;
  ir::Model model("m");
  model.add_result(model.add_parameter(ir::ElementType::f32, {1}, "in"), "out");
  fs::create_symlink("model.bin", folder.path() / "model.xml");
  CHECK_THROWS_WITH(ir::write_model(model, folder.path() / "model.xml"),
                    ir::test::contains_text("the weights need a file of their own"));
  CHECK(files_in(folder.path()) == 1);
}

}  // namespace
