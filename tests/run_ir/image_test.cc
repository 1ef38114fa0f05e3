// Pictures as inputs: where each channel of each pixel goes.
#include "samples/run_ir/image.h"

// The test needs pictures; stb writes them.
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

#include <malloc.h>

#include <string>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace {

using ir::test::TemporaryFolder;

// Two pixels side by side: red 10, green 20, blue 30; and 40, 50, 60.
class Picture {
 public:
  Picture() : Picture(2, 1, {10, 20, 30, 40, 50, 60}) {}
  Picture(int width, int height, const std::vector<unsigned char>& pixels)
      : path_(folder_.path() / "picture.png") {
    REQUIRE(stbi_write_png(path_.c_str(), width, height, 3, pixels.data(), width * 3) != 0);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::vector<float> read(const ir::PartialShape& shape,
                                        const run_ir::ImageOptions& options = {}) const {
    const ir::Tensor tensor = run_ir::read_image(path_, {{"in"}, ir::ElementType::f32, shape}, options);
    const auto data = tensor.data<float>();
    return {data.begin(), data.end()};
  }
  [[nodiscard]] std::string failure(const ir::PartialShape& shape,
                                    const run_ir::ImageOptions& options = {}) const {
    try {
      (void)read(shape, options);
    } catch (const ir::Error& error) {
      return error.code() + ": " + error.diagnostics()[0].message;
    }
    return "none";
  }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

using Floats = std::vector<float>;

run_ir::ImageOptions with(const std::string& layout, const std::string& order = "bgr") {
  run_ir::ImageOptions options;
  options.layout = layout;
  options.channel_order = order;
  return options;
}

TEST_CASE("channels come blue first unless rgb is asked for") {
  const Picture picture;
  CHECK(picture.read({1, 3, 1, 2}) == Floats{30, 60, 20, 50, 10, 40});
  CHECK(picture.read({1, 3, 1, 2}, with("", "rgb")) == Floats{10, 40, 20, 50, 30, 60});
}

TEST_CASE("the layout is found out, or told") {
  const Picture picture;
  CHECK(picture.read({1, 1, 2, 3}, with("NHWC")) == Floats{30, 20, 10, 60, 50, 40});
  const Picture tall(1, 2, {10, 20, 30, 40, 50, 60});
  CHECK(tall.read({1, 2, 1, 3}, with("", "rgb")) == Floats{10, 20, 30, 40, 50, 60});
  CHECK(tall.read({1, 3, 2, 1}, with("", "rgb")) == Floats{10, 40, 20, 50, 30, 60});
  CHECK(tall.read({2, 1, 3}, with("HWC", "rgb")) == Floats{10, 20, 30, 40, 50, 60});
  CHECK(tall.read({3, 2, 1}, with("NCHW", "rgb")) == Floats{10, 40, 20, 50, 30, 60});
}

TEST_CASE("unknown height and width are the picture's own, an unknown batch is 1") {
  const Picture picture;
  const ir::Tensor tensor = run_ir::read_image(
      picture.path(), {{"in"}, ir::ElementType::f32, {ir::Dimension(), 3, ir::Dimension(), ir::Dimension()}},
      {});
  CHECK(tensor.shape() == ir::Shape{1, 3, 1, 2});
}

TEST_CASE("one channel is the luminance, four have the opacity") {
  const Picture grey(1, 1, {90, 90, 90});
  CHECK(grey.read({1, 1, 1, 1}) == Floats{90});
  CHECK(grey.read({1, 4, 1, 1}) == Floats{90, 90, 90, 255});
}

TEST_CASE("the mean is subtracted and the scale divides, one value or one per channel of the input") {
  const Picture picture;
  run_ir::ImageOptions options;
  options.mean = {10};
  options.scale = {2};
  CHECK(picture.read({1, 3, 1, 2}, options) == Floats{10, 25, 5, 20, 0, 15});
  options.mean = {30, 20, 10};
  options.scale = {1, 2, 3};
  CHECK(picture.read({1, 3, 1, 2}, options) == Floats{0, 30, 0, 15, 0, 10});
}

TEST_CASE("a picture of another size is resized") {
  const Picture even(3, 3, std::vector<unsigned char>(27, 77));
  CHECK(even.read({1, 3, 2, 5}) == Floats(30, 77));
  const Picture ramp(2, 1, {0, 0, 0, 200, 200, 200});
  const Floats wide = ramp.read({1, 1, 1, 4});
  const Floats expected{0, 50, 150, 200};
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(wide[i] - expected[i]) <= 1);
}

TEST_CASE("integer inputs get integers") {
  const Picture picture;
  const ir::Tensor tensor =
      run_ir::read_image(picture.path(), {{"in"}, ir::ElementType::u8, {1, 3, 1, 2}}, {});
  CHECK(tensor.element_type() == ir::ElementType::u8);
  CHECK(tensor.data<std::uint8_t>()[0] == 30);
}

TEST_CASE("a bitmap is a picture, too") {
  const TemporaryFolder folder;
  const std::vector<unsigned char> pixel{1, 2, 3};
  REQUIRE(stbi_write_bmp((folder.path() / "a.bmp").c_str(), 1, 1, 3, pixel.data()) != 0);
  const ir::Tensor tensor =
      run_ir::read_image(folder.path() / "a.bmp", {{"in"}, ir::ElementType::f32, {1, 3, 1, 1}}, {});
  CHECK(tensor.data<float>()[0] == 3.0F);
}

TEST_CASE("inputs that take no picture say so") {
  const Picture picture;
  CHECK(picture.failure({1, 3}) == "IR-image: input 'in' of shape [1,3] does not take a picture");
  CHECK(picture.failure(ir::PartialShape()) == "IR-image: input 'in' of shape [...] does not take a picture");
  CHECK(picture.failure({1, 2, 5, 5}) == "IR-image: input 'in' takes 2 channels, a picture has 1, 3 or 4");
  CHECK(picture.failure({3, 4, 4}, with("CWX")) ==
        "IR-image: the layout 'CWX' does not fit input 'in' of shape [3,4,4]");
  CHECK(picture.failure({1, 3, 0, 4}) == "IR-image: the input takes a picture of size 0");
  CHECK(picture.failure({1, 3, 4, 1'000'000'000}) ==
        "IR-image: the input takes a picture of size 1000000000");
  run_ir::ImageOptions options;
  options.mean = {1, 2};
  CHECK(picture.failure({1, 3, 4, 4}, options) ==
        "IR-image: 2 values for mean or scale, input 'in' has 3 channels");
}

TEST_CASE("what is no picture is refused") {
  const TemporaryFolder folder;
  const auto failure = [&](const std::filesystem::path& file) {
    try {
      (void)run_ir::read_image(file, {{"in"}, ir::ElementType::f32, {1, 3, 4, 4}}, {});
    } catch (const ir::Error& error) {
      return error.code() + ": " + error.diagnostics()[0].message;
    }
    return std::string("none");
  };
  CHECK(failure(folder.write("a.png", "no picture")).starts_with("IR-image: the picture cannot be read: "));
  CHECK(failure(folder.write("b.png", "")).starts_with("IR-image: the picture cannot be read: "));
  CHECK(failure(folder.path() / "absent.png").starts_with("IR-file: "));
}

TEST_CASE("what stb_image would stumble over in a PNG file is refused") {
  const TemporaryFolder folder;
  const ir::Port port{{"in"}, ir::ElementType::f32, ir::PartialShape{1, 3, 1, 2}};
  const auto chunk = [](const std::string& type, const std::string& data, unsigned char length) {
    return std::string(3, '\0') + static_cast<char>(length) + type + data + "sum?";
  };
  const std::string head =
      "\x89PNG\r\n\x1a\n" + chunk("IHDR", std::string("\0\0\0\2\0\0\0\1\b\2\0\0\0", 13), 13);
  const std::string end = chunk("IEND", "", 0);
  const auto failure = [&](const std::string& chunks) {
    try {
      (void)run_ir::read_image(folder.write("picture.png", head + chunks), port, {});
    } catch (const ir::Error& error) {
      return error.code() + ": " + error.diagnostics()[0].message;
    }
    return std::string("none");
  };
  CHECK(failure(chunk("IDAT", "", 0) + chunk("IDAT", "1234", 4) + end) ==
        "IR-image: the picture cannot be read: its pixels begin with an empty chunk");
  CHECK(failure(chunk("IDAT", "1234", 200) + end) ==
        "IR-image: the picture cannot be read: a chunk is longer than the file");
  // stb_image's own words.
  CHECK(failure(chunk("IDAT", "1234", 4) + chunk("IDAT", "", 0) + end) ==
        "IR-image: the picture cannot be read: Corrupt PNG");
  CHECK(failure("").starts_with("IR-image: the picture cannot be read: "));
}

TEST_CASE("a JPEG file without its Huffman tables is read the same whatever lay in memory before") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "picture.jpg";
  std::vector<unsigned char> pixels(16 * 16 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(37 * i);
  REQUIRE(stbi_write_jpg(path.c_str(), 16, 16, 3, pixels.data(), 90) != 0);
  std::string file = ir::test::bytes_of(path);
  // A comment takes the tables' place.
  const std::size_t tables = file.find("\xff\xc4");
  REQUIRE(tables != std::string::npos);
  file[tables + 1] = '\xfe';
  // Nothing to decode, which tables of zeros do without.
  constexpr std::size_t kScanHeader = 2 + 12;
  file.resize(file.find("\xff\xda") + kScanHeader);
  file += "\xff\xd9";
  const std::filesystem::path without = folder.write("without.jpg", file);
  const ir::Port port{{"in"}, ir::ElementType::f32, ir::PartialShape{1, 3, 16, 16}};
  const auto read_with = [&](int filling) {
    mallopt(M_PERTURB, filling);  // what malloc gives is full of the complement
    std::string outcome = "read";
    try {
      (void)run_ir::read_image(without, port, {});
    } catch (const ir::Error& error) {
      outcome = error.diagnostics()[0].message;
    }
    mallopt(M_PERTURB, 0);
    return outcome;
  };
  for (const int filling : {0x01, 0x7f, 0x80, 0xaa, 0xff}) CHECK(read_with(filling) == "read");
}

TEST_CASE("pictures are known by the end of their name") {
  for (const char* name : {"a.png", "a.PNG", "dir.x/b.jpg", "c.JPEG", "d.bmp"}) CHECK(run_ir::is_image(name));
  for (const char* name : {"a.npy", "png", "a.png.bin", "a."}) CHECK_FALSE(run_ir::is_image(name));
}

}  // namespace
