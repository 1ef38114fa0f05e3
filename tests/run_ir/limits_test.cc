// Limits on the command line, files that mean harm, and output that a terminal cannot be tricked with.
#include "samples/run_ir/limits.h"

#include <sys/stat.h>

#include <cstdint>
#include <limits>

#include "ir_reader/case_file.h"
#include "ir_runtime/diagnostics.h"
#include "runtime/types/budget.h"
#include "samples/run_ir/image.h"
#include "samples/run_ir/inputs.h"
#include "samples/run_ir/npy.h"
#include "samples/run_ir/output.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace {

using run_ir::Limits;
using run_ir::set_limit;

std::string refusal(const std::string& name, const std::string& value) {
  Limits limits;
  try {
    set_limit(limits, name, value);
  } catch (const CLI::ValidationError& error) {
    return error.what();
  }
  return "none";
}

template <class Work>
std::string failure(Work&& work) {
  try {
    work();
  } catch (const ir::Error& error) {
    return error.code() + ": " + error.diagnostics().front().message;
  }
  return "none";
}

TEST_CASE("every limit can be set by its name") {
  Limits limits;
  set_limit(limits, "max_layers", "7");
  CHECK(limits.read.limits.max_layers == 7);
  set_limit(limits, "max_xml_bytes", "3K");
  CHECK(limits.read.limits.max_xml_bytes == 3072);
  set_limit(limits, "max_memory_bytes", "2G");
  CHECK(limits.compile.max_memory_bytes == std::int64_t{2} << 30);
  set_limit(limits, "max_activation_bytes", "1T");
  CHECK(limits.compile.max_activation_bytes == std::int64_t{1} << 40);
  set_limit(limits, "max_input_bytes", "5M");
  CHECK(limits.max_input_bytes == 5 << 20);
}

TEST_CASE("a limit that is none, or a number that is none, is a mistake in usage") {
  CHECK(refusal("max_layer", "1").starts_with("--limit: 'max_layer' is no limit; there are max_xml_bytes, "));
  for (const std::string value :
       {"", "K", "12abc", "1e3", "-2", "1KB", "18446744073709551616", "9223372036854775807K"})
    CHECK(refusal("max_layers", value) == "--limit: '" + value + "' is no number such as 1000 or 2G");
}

TEST_CASE("data for inputs comes from regular files only") {
  const ir::test::TemporaryFolder folder;
  REQUIRE(mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
  CHECK(failure([&] { (void)run_ir::read_file(folder.path() / "fifo"); }) ==
        "IR-file: the file is a FIFO; it must be a regular file");
  CHECK(failure([&] { (void)run_ir::read_npy(folder.path()); }) ==
        "IR-file: the file is a folder; it must be a regular file");
  CHECK(failure([&] { (void)run_ir::read_file("/dev/zero"); }) ==
        "IR-file: the file is a device; it must be a regular file");
}

TEST_CASE("an input of random data is held to a limit before it is allocated") {
  const std::vector<ir::Port> ports{{{"x"}, ir::ElementType::f32, ir::PartialShape{1'000'000, 1'000'000}}};
  CHECK(failure([&] { (void)run_ir::make_inputs(ports, {}); }) ==
        "IR-limit: a tensor of type f32 and shape [1000000,1000000] takes 4000000000000 bytes; the limit "
        "max_input_bytes is 1073741824");
}

// A PNG's first bytes: its size, and nothing of the pixels.
std::string png_header(std::uint32_t width, std::uint32_t height) {
  const auto number = [](std::uint32_t value) {
    std::string text;
    for (unsigned shift = 32; shift > 0; shift -= 8) text += static_cast<char>(value >> (shift - 8) & 255U);
    return text;
  };
  return std::string("\x89PNG\r\n\x1a\n", 8) + number(13) + "IHDR" + number(width) + number(height) +
         std::string("\x08\x02\x00\x00\x00", 5) + number(0) + number(1) + "IDAT" + std::string(5, 0);
}

TEST_CASE("a picture of a few bytes and gigabytes of pixels is refused") {
  const ir::test::TemporaryFolder folder;
  const ir::Port port{{"x"}, ir::ElementType::f32, ir::PartialShape{1, 3, 8, 8}};
  const ir::Budget budget({.tensor = {1 << 20, "max_input_bytes"}});
  CHECK(failure(
            [&] { (void)run_ir::read_image(folder.write("a.png", png_header(10'000, 10'000)), port, {}); }) ==
        "IR-limit: a tensor of type u8 and shape [10000,10000,3] takes 300000000 bytes; the limit "
        "max_input_bytes is 1048576");
}

// A BMP's headers: its size, and nothing of the pixels. Rows go from top to bottom when `height` is negative.
std::string bmp_header(std::int32_t width, std::int32_t height) {
  const auto number = [](std::int32_t value) {
    std::string text;
    for (unsigned shift = 0; shift < 32; shift += 8)
      text += static_cast<char>(static_cast<std::uint32_t>(value) >> shift & 255U);
    return text;
  };
  const std::string one_plane_of_24_bits("\x01\0\x18\0", 4);
  return "BM" + number(54) + number(0) + number(54) + number(40) + number(width) + number(height) +
         one_plane_of_24_bits + std::string(24, '\0');
}

TEST_CASE("a picture whose size is any number is refused before it is counted") {
  const ir::test::TemporaryFolder folder;
  const ir::Port port{{"x"}, ir::ElementType::f32, ir::PartialShape{1, 3, 8, 8}};
  const ir::Budget budget({.tensor = {1 << 20, "max_input_bytes"}});
  const auto refused = [&](std::int32_t width, std::int32_t height) {
    const auto path = folder.write("a.bmp", bmp_header(width, height));
    return failure([&] { (void)run_ir::read_image(path, port, {}); });
  };
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  CHECK(refused(kMost, kMost) ==
        "IR-image: the picture cannot be read: it claims 2147483647 x 2147483647 pixels");
  CHECK(refused(8, 0) == "IR-image: the picture cannot be read: it claims 8 x 0 pixels");
  CHECK(refused(-5, 8) == "IR-image: the picture cannot be read: it claims -5 x 8 pixels");
  CHECK(refused(8, std::numeric_limits<std::int32_t>::min()) ==
        "IR-image: the picture cannot be read: it claims 8 x 2147483648 pixels");
  const std::string too_many_bytes =
      "IR-limit: a tensor of type u8 and shape [10000,10000,3] takes 300000000 bytes; the limit "
      "max_input_bytes is 1048576";
  CHECK(refused(10'000, 10'000) == too_many_bytes);
  CHECK(refused(10'000, -10'000) == too_many_bytes);
}

TEST_CASE("a case names files of its own folder, by number") {
  const ir::test::TemporaryFolder folder;
  const ir::test::TemporaryFolder elsewhere;
  std::filesystem::create_symlink(elsewhere.write("secret.bin", "abcd"), folder.path() / "link.bin");
  (void)folder.write("inside.bin", "abcd");
  std::filesystem::create_symlink("inside.bin", folder.path() / "near.bin");
  const auto read = [&](const std::string& file, const std::string& index) {
    const auto path = folder.write(
        "case.xml", "<case><input index=\"" + index + "\" element_type=\"u8\" shape=\"4\" file=\"" + file +
                        "\"/>" + R"(<output element_type="u8" shape="4" file="out.bin"/></case>)");
    return failure([&] { (void)ir::reader::read_case(path); });
  };
  CHECK(read("inside.bin", "0") == "none");
  CHECK(read("near.bin", "0") == "none");
  CHECK(read("link.bin", "0") == "IR-case: 'link.bin' is a link that leads out of the case's folder");
  for (const std::string name : {"../secret.bin", "/etc/passwd", "a/../inside.bin", "", ".", ".."})
    CHECK(read(name, "0") == "IR-case: '" + name + "' does not name a file in the case's folder");
  for (const std::string index : {"12abc", "1e3", "-2", "", "65536", "18446744073709551616"})
    CHECK(read("inside.bin", index) == "IR-case: index='" + index + "' is no number from 0 to 65535");
}

TEST_CASE("output never holds what a terminal obeys") {
  const ir::test::TemporaryFolder folder;
  std::FILE* file = std::fopen((folder.path() / "out").c_str(), "w");
  run_ir::print(file, "{}:\t{}\n", "a\x1b]0;title\x07", "\xFF");
  std::fclose(file);
  CHECK(ir::test::bytes_of(folder.path() / "out") == "a\\x1b]0;title\\x07:\t\\xff\n");
}

}  // namespace
