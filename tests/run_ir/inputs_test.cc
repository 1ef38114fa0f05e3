// Where the data of inputs comes from: files, chance, and shapes from the command line.
#include "samples/run_ir/inputs.h"

#include <algorithm>
#include <functional>

#include "ir_runtime/diagnostics.h"
#include "samples/run_ir/npy.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace {

using ir::test::TemporaryFolder;
using run_ir::InputOptions;
using run_ir::make_inputs;

ir::Port port(const std::string& name, ir::PartialShape shape, ir::ElementType type = ir::ElementType::f32) {
  return {{name}, type, std::move(shape)};
}

InputOptions from(const std::vector<std::string>& files, const std::vector<std::string>& shapes = {}) {
  InputOptions options;
  options.files = files;
  options.shapes = shapes;
  return options;
}

std::string failure(const std::vector<ir::Port>& ports, const InputOptions& options) {
  try {
    (void)make_inputs(ports, options);
  } catch (const ir::Error& error) {
    const ir::Diagnostic& first = error.diagnostics()[0];
    return error.code() + ": " + (first.where.file.empty() ? "" : first.where.file + ": ") + first.message;
  }
  return "none";
}

const std::string kOne("\0\0\x80\x3F", 4);  // 1.0F

TEST_CASE("strings are the lines of a text file, or random numbers") {
  const TemporaryFolder folder;
  const std::string file = folder.write("words.txt", "one\r\n\ntwo words\n").string();
  const auto words = [](const ir::Tensor& tensor) {
    const auto data = tensor.data<std::string>();
    return std::vector<std::string>(data.begin(), data.end());
  };
  const auto strings = [](ir::PartialShape shape) {
    return port("in", std::move(shape), ir::ElementType::string);
  };
  CHECK(words(make_inputs({strings({3})}, from({file}))[0]) ==
        std::vector<std::string>{"one", "", "two words"});
  CHECK(make_inputs({strings({1, ir::Dimension()})}, from({file}))[0].shape() == ir::Shape{1, 3});
  CHECK(failure({strings({2})}, from({file})) ==
        "IR-input-size: " + file + ": the file has 3 lines, input 'in' of string [2] takes one per string");
  CHECK(words(make_inputs({strings({2})}, from({}))[0]) == words(make_inputs({strings({2})}, from({}))[0]));
}

TEST_CASE("a file goes to the input that it names, or to the only one") {
  const TemporaryFolder folder;
  const std::string file = folder.write("one.bin", kOne).string();
  CHECK(make_inputs({port("in", {1})}, from({file}))[0].data<float>()[0] == 1.0F);
  CHECK(make_inputs({port("in", {1})}, from({"in=" + file}))[0].data<float>()[0] == 1.0F);
  const auto two = make_inputs({port("a", {1}), port("b", {1})}, from({"b=" + file}));
  CHECK(two[1].data<float>()[0] == 1.0F);
  CHECK(two[0].data<float>()[0] < 1.0F);  // random
  CHECK(failure({port("a", {1}), port("b", {1})}, from({file})) ==
        "IR-port-unknown: '" + file + "' names no input and the model has 2: 'a', 'b'");
  CHECK(failure({port("a", {1})}, from({"c=" + file})) ==
        "IR-port-unknown: the model has no input 'c'; it has 'a'");
  CHECK(failure({}, from({file})) == "IR-port-unknown: '" + file + "' names no input and the model has none");
}

TEST_CASE("a name of two inputs, and a name without a file, are refused") {
  const TemporaryFolder folder;
  const std::string file = folder.write("one.bin", kOne).string();
  const std::vector<ir::Port> ports = {{{"a", "both"}, ir::ElementType::f32, {1}},
                                       {{"b", "both"}, ir::ElementType::f32, {1}}};
  const std::string two_inputs = "IR-port-ambiguous: the name 'both' belongs to inputs 0 and 1";
  CHECK(failure(ports, from({"both=" + file})) == two_inputs);
  CHECK(failure(ports, from({}, {"both[1]"})) == two_inputs);
  CHECK(failure(ports, from({"b=" + file})) == "none");
  CHECK(failure(ports, from({"b="})) == "IR-input-options: 'b=' names no file for input 'b'");
  CHECK(failure({port("a", {1})}, from({""})) == "IR-input-options: '' names no file for input 'a'");
}

TEST_CASE("names and files may hold an equals sign") {
  const TemporaryFolder folder;
  const std::string file = folder.write("x=1.bin", kOne).string();
  CHECK(make_inputs({port("in", {1})}, from({"in=" + file}))[0].data<float>()[0] == 1.0F);
  CHECK(make_inputs({port("in", {1})}, from({file}))[0].data<float>()[0] == 1.0F);
  const auto inputs = make_inputs({port("a", {1}), port("a=b", {1})}, from({"a=b=" + file}));
  CHECK(inputs[1].data<float>()[0] == 1.0F);
  CHECK(inputs[0].data<float>()[0] < 1.0F);
}

TEST_CASE("any of an input's names will do") {
  const TemporaryFolder folder;
  const std::string file = folder.write("one.bin", kOne).string();
  const ir::Port named{{"first", "second"}, ir::ElementType::f32, {1}};
  CHECK(make_inputs({named}, from({"second=" + file}))[0].data<float>()[0] == 1.0F);
}

TEST_CASE("raw files hold exactly the input's elements; one unknown dim follows from the size") {
  const TemporaryFolder folder;
  const std::string file = folder.write("raw.bin", kOne + kOne + kOne).string();
  CHECK(failure({port("in", {4})}, from({file})) ==
        "IR-input-size: " + file + ": the file has 12 bytes, input 'in' of f32 [4] takes 16");
  CHECK(make_inputs({port("in", {1, ir::Dimension()})}, from({file}))[0].shape() == ir::Shape{1, 3});
  CHECK(failure({port("in", {2, ir::Dimension()})}, from({file})) ==
        "IR-input-size: " + file +
            ": the file holds 3 elements, input 'in' of f32 [2,?] takes a multiple of 2");
  CHECK(failure({port("in", {ir::Dimension(), ir::Dimension()})}, from({file})) ==
        "IR-input-shape: " + file + ": input 'in' has shape [?,?]; say which with --shape");
  CHECK(make_inputs({port("in", {ir::Dimension(), ir::Dimension()})}, from({file}, {"[3,1]"}))[0].shape() ==
        ir::Shape{3, 1});
}

TEST_CASE("an unknown dim beside dims whose product is no number cannot follow from the size") {
  const TemporaryFolder folder;
  const std::string file = folder.write("raw.bin", kOne).string();
  constexpr std::int64_t kLarge = std::int64_t{1} << 32;  // squared it wraps to 0 in 64 bits
  CHECK(failure({port("in", {ir::Dimension(), kLarge, kLarge})}, from({file})) ==
        "IR-input-size: " + file +
            ": the file holds 1 elements, input 'in' of f32 [?,4294967296,4294967296] takes a multiple of "
            "9223372036854775807");
}

TEST_CASE("a .npy file brings its shape, and its elements are converted") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "a.npy").string();
  run_ir::write_npy(file, ir::Tensor::of<std::int64_t>({2, 1}, {3, 4}));
  const auto inputs = make_inputs({port("in", {ir::Dimension(), ir::Dimension()})}, from({file}));
  CHECK(inputs[0].element_type() == ir::ElementType::f32);
  CHECK(inputs[0].shape() == ir::Shape{2, 1});
  CHECK(inputs[0].data<float>()[1] == 4.0F);

  const std::string capitals = (folder.path() / "A.NPY").string();
  std::filesystem::copy_file(file, capitals);
  CHECK(make_inputs({port("in", {2, 1})}, from({capitals}))[0].data<float>()[1] == 4.0F);
}

TEST_CASE("an array that does not suit its input is refused by name") {
  const TemporaryFolder folder;
  const std::string numbers = (folder.path() / "numbers.npy").string();
  run_ir::write_npy(numbers, ir::Tensor::of<float>({2}, {3, 4}));
  const std::string strings = (folder.path() / "strings.npy").string();
  run_ir::write_npy(strings, ir::Tensor::of<std::string>({2}, {"a", "b"}));
  CHECK(failure({port("in", {2})}, from({strings})) ==
        "IR-input-type: " + strings + ": the array holds string, input 'in' takes f32");
  CHECK(failure({port("in", {2}, ir::ElementType::string)}, from({numbers})) ==
        "IR-input-type: " + numbers + ": the array holds f32, input 'in' takes string");
  CHECK(failure({port("in", {2}, ir::ElementType::string)}, from({strings})) == "none");
  CHECK(failure({port("in", {ir::Dimension(), 3})}, from({numbers})) ==
        "IR-input-shape: " + numbers + ": the array has shape [2], input 'in' takes [?,3]");
}

TEST_CASE("what is said of an input is said once, and agrees with its file") {
  const TemporaryFolder folder;
  const std::string array = (folder.path() / "a.npy").string();
  run_ir::write_npy(array, ir::Tensor::of<float>({1, 2}, {3, 4}));
  const std::vector<ir::Port> ports{
      {{"in", "alias"}, ir::ElementType::f32, {ir::Dimension(), ir::Dimension()}}};
  CHECK(failure(ports, from({"in=" + array, array})) ==
        "IR-input-options: input 'in' has two files: " + array + " and " + array);
  CHECK(failure(ports, from({"in=" + array, "alias=x"})) ==
        "IR-input-options: input 'in' has two files: " + array + " and x");
  CHECK(failure({port("in", {ir::Dimension(), 3})}, from({}, {"[1,4]"})) ==
        "IR-input-shape: input 'in' takes shape [?,3], --shape says [1,4]");
  CHECK(failure(ports, from({}, {"in[1,2]", "[1,3]"})) ==
        "IR-input-options: input 'in' has two shapes: [1,2] and [1,3]");
  CHECK(failure(ports, from({array}, {"in[2,3]"})) ==
        "IR-input-options: " + array + ": the array has shape [1,2], --shape says [2,3] for input 'in'");
  CHECK(failure(ports, from({array}, {"in[1,2]"})) == "none");
}

TEST_CASE("options for pictures need a picture") {
  const TemporaryFolder folder;
  const std::string raw = folder.write("one.bin", kOne).string();
  const auto with = [&](const std::function<void(run_ir::ImageOptions&)>& set,
                        const std::vector<std::string>& files) {
    InputOptions options = from(files);
    set(options.image);
    return failure({port("in", {1}), port("b", {1})}, options);
  };
  const std::string refused = "IR-input-options: no input is a picture, which ";
  const auto mean = [](run_ir::ImageOptions& image) { image.mean = {0}; };
  CHECK(with(mean, {}) == refused + "--mean would be for");
  CHECK(with(mean, {"in=" + raw}) == refused + "--mean would be for");
  CHECK(with([](run_ir::ImageOptions& image) { image.scale = {1}; }, {}) == refused + "--scale would be for");
  CHECK(with([](run_ir::ImageOptions& image) { image.layout = "CHW"; }, {}) ==
        refused + "--layout would be for");
  CHECK(with([](run_ir::ImageOptions& image) { image.channel_order = "bgr"; }, {}) ==
        refused + "--channels would be for");
  CHECK(with(mean, {"b=picture.png"}) ==
        "IR-image: picture.png: input 'b' of shape [1] does not take a picture");
}

TEST_CASE("random inputs depend on the seed and the input only") {
  const std::vector<ir::Port> ports{port("a", {100}), port("b", {100})};
  const auto values = [&](std::uint64_t seed, std::size_t input) {
    InputOptions options;
    options.seed = seed;
    const ir::Tensor tensor = make_inputs(ports, options)[input];
    const auto data = tensor.data<float>();
    return std::vector<float>(data.begin(), data.end());
  };
  CHECK(values(1, 0) == values(1, 0));
  CHECK(values(1, 0) != values(2, 0));
  CHECK(values(1, 0) != values(1, 1));
  const std::vector<float> sample = values(0, 0);
  CHECK(std::ranges::all_of(sample, [](float value) { return value >= 0 && value < 1; }));
  // The same on every machine: what std::mt19937_64 gives first, cut to 24 bits.
  CHECK(sample[0] == static_cast<float>(2947667278772165694U >> 40U) * 0x1p-24F);
}

TEST_CASE("random integers are small, random booleans are both") {
  const auto integers = make_inputs({port("in", {1000}, ir::ElementType::i64)}, {})[0];
  const auto [low, high] = std::ranges::minmax(integers.data<std::int64_t>());
  CHECK(low == 0);
  CHECK(high == 9);
  const auto booleans =
      make_inputs({port("in", {1000}, ir::ElementType::boolean)}, {})[0].converted(ir::ElementType::i32);
  const auto ones = std::ranges::count(booleans.data<std::int32_t>(), 1);
  CHECK(ones > 400);
  CHECK(ones < 600);
}

TEST_CASE("an input that is not static needs a shape") {
  const std::vector<ir::Port> ports{port("in", {ir::Dimension(), 3})};
  CHECK(failure(ports, {}) == "IR-input-shape: input 'in' has shape [?,3]; say which with --shape 'in[...]'");
  CHECK(make_inputs(ports, from({}, {"in[2,3]"}))[0].shape() == ir::Shape{2, 3});
  CHECK(make_inputs(ports, from({}, {"[2,3]"}))[0].shape() == ir::Shape{2, 3});
  CHECK(failure(ports, from({}, {"2,3"})) == "IR-shape-text: '2,3' is no shape; write NAME[1,3,224,224]");
  CHECK(failure(ports, from({}, {"in[?,3]"})) ==
        "IR-shape-text: 'in[?,3]' is no shape; write NAME[1,3,224,224]");
  CHECK(failure(ports, from({}, {"x[2,3]"})) == "IR-port-unknown: the model has no input 'x'; it has 'in'");
  CHECK(make_inputs({port("a[0]", {ir::Dimension()})}, from({}, {"a[0][5]"}))[0].shape() == ir::Shape{5});
}

TEST_CASE("a file that is not there is named") {
  CHECK(failure({port("in", {1})}, from({"in=/absent/file.bin"})) ==
        "IR-file: /absent/file.bin: the file does not exist");
  CHECK(failure({port("in", {1})}, from({"in=/tmp"})) ==
        "IR-file: /tmp: the file is a folder; it must be a regular file");
}

}  // namespace
