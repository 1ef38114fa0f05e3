// What is odd about a weights file: places, bytes and numbers.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "ir_reader/value_scan.h"
#include "ir_runtime/lint.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/validate.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::test::edge;
using ir::test::layer;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::outputs;
using ir::test::port;
using ir::test::result;

struct Place {
  std::string type;
  std::string shape;
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

// One constant per line from line 2 on, layers 0, 2, 4, ..., each with a result. The attribute `offset`
// starts in a column that depends on the lengths before it.
std::string model_of(const std::vector<Place>& places) {
  std::string layers;
  std::string edges;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    const std::string id = std::to_string(2 * i);
    const std::string data = "<data offset=\"" + std::to_string(place.offset) + "\" size=\"" +
                             std::to_string(place.size) + "\" element_type=\"" + place.type + "\" shape=\"" +
                             place.shape + "\"/>";
    layers += layer(id, "Const", data + outputs(port("0", place.shape, "")));
    edges += edge(id + ":0 " + std::to_string(2 * i + 1) + ":0");
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    layers += result(std::to_string(2 * i + 1), places[i].shape, "");
  return net(layers, edges);
}

// "CODE name: message" of each finding, and the hint behind a bar; file names without folder.
Lines lines_of(const std::vector<ir::Diagnostic>& findings, const ModelFiles& files) {
  Lines lines;
  const std::string folder = files.folder().string() + "/";
  for (const ir::Diagnostic& finding : findings) {
    std::string text = finding.code +
                       (finding.severity == ir::Severity::error     ? " error "
                        : finding.severity == ir::Severity::warning ? " warning "
                                                                    : " note ") +
                       (finding.layer.name.empty() ? finding.where.file : finding.layer.name) + ": " +
                       finding.message;
    if (!finding.hint.empty()) text += " | " + finding.hint;
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder))
      text.erase(at, folder.size());
    lines.push_back(text);
  }
  return lines;
}

Lines linted(const std::vector<Place>& places, std::string_view weights) {
  const ModelFiles files(model_of(places), weights);
  return lines_of(ir::lint(files.xml()), files);
}

// What validate() says of constants, weights files and pointers to them.
Lines weights_findings(const ModelFiles& files, bool notes = false) {
  ir::ValidateOptions options;
  options.notes = notes;
  Lines lines;
  for (std::string& line : lines_of(ir::validate(files.xml(), {}, options), files)) {
    if (line.starts_with("IR-const") || line.starts_with("IR-weights") || line.starts_with("IR-lfs"))
      lines.push_back(std::move(line));
  }
  return lines;
}

Lines validated(const std::vector<Place>& places, std::string_view weights, bool notes = false) {
  return weights_findings(ModelFiles(model_of(places), weights), notes);
}

template <class T>
std::string bytes(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T)};
}

TEST_CASE("sizes are compared in integers: no constant is too long or too short by a rounding error") {
  // In f32 arithmetic 33,554,433 * 4 is 134,217,728 and 33,554,435 * 4 is 134,217,744.
  const std::int64_t count = GENERATE(33'554'433, 33'554'435);
  const std::string shape = std::to_string(count);
  const auto read = [&](std::int64_t size, std::int64_t file_bytes) {
    const ModelFiles files(model_of({{"f32", shape, 0, size}}), "x");
    // A sparse file takes no room.
    std::filesystem::resize_file(files.folder() / "model.bin", static_cast<std::uintmax_t>(file_bytes));
    return lines_of(ir::read_and_check(files.xml()).diagnostics, files);
  };
  CHECK(read(count * 4, count * 4).empty());
  CHECK(read(count * 4 - 4, count * 4) ==
        Lines{"IR-const-size error n0: a constant of type f32 and shape [" + shape + "] takes " +
              std::to_string(count * 4) + " bytes, size is " + std::to_string(count * 4 - 4)});
  CHECK(read(count * 4, count * 4 - 4) ==
        Lines{"IR-const-range error n0: the constant takes bytes 0 to " + std::to_string(count * 4) +
              " of model.bin, which has " + std::to_string(count * 4 - 4)});
}

TEST_CASE("a size larger than the shape takes is odd, not wrong") {
  CHECK(
      validated({{"f32", "2", 0, 12}}, std::string(12, '\0')) ==
      Lines{"IR-const-size warning n0: a constant of type f32 and shape [2] takes 8 bytes, size is 12 | the "
            "last 4 "
            "bytes are ignored"});
}

TEST_CASE("a constant without elements may have the one byte that OpenVINO writes for it") {
  CHECK(validated({{"f32", "0,2", 0, 1}, {"u8", "4", 1, 4}}, std::string(5, '\0')).empty());
  CHECK(
      validated({{"f32", "0,2", 0, 2}, {"u8", "4", 2, 4}}, std::string(6, '\0')) ==
      Lines{"IR-const-size warning n0: a constant of type f32 and shape [0,2] takes 0 bytes, size is 2 | the "
            "last 2 bytes are ignored"});
}

TEST_CASE("many constants beyond the end are named up to three, and counted") {
  const std::vector<Place> places{{"u8", "2", 0, 2},  {"u8", "2", 9, 2},  {"u8", "2", 11, 2},
                                  {"u8", "2", 13, 2}, {"u8", "2", 15, 2}, {"u8", "2", 17, 2}};
  const Lines found = validated(places, "0123456789");
  REQUIRE(found.size() == 4);
  CHECK(found[0] == "IR-const-range error n2: the constant takes bytes 9 to 11 of model.bin, which has 10");
  CHECK(found[2] == "IR-const-range error n6: the constant takes bytes 13 to 15 of model.bin, which has 10");
  CHECK(
      found[3] ==
      "IR-weights-short error model.bin: 5 constants lie beyond the end of the file, 3 of them named above: "
      "they reach up to byte 19, it has 10 | the file was cut off, or belongs to another model");
}

TEST_CASE("a missing weights file is reported once") {
  const ModelFiles files(model_of({{"u8", "1", 0, 1}, {"u8", "1", 1, 1}}));
  CHECK(lines_of(ir::read_and_check(files.xml()).diagnostics, files) ==
        Lines{"IR-weights-missing error n0: the model has constants and no weights file | there is no "
              "model.bin"});
  CHECK(
      weights_findings(files) ==
      Lines{"IR-weights-unchecked note model.xml: model.bin was not read: what 2 constants hold is unknown, "
            "and dims that depend on it are taken as declared | put the .bin beside the .xml"});
}

TEST_CASE("a Git LFS pointer is told from weights, and the rest of the model is still checked") {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 2150120\n";
  const Lines expected{
      "IR-lfs-pointer error model.bin: the weights file is a Git LFS pointer to 2150120 bytes, not the "
      "weights themselves | `git lfs pull` fetches them"};
  CHECK(validated({{"u8", "1", 0, 1}}, pointer) == expected);
  const ModelFiles files(model_of({{"u8", "2", 0, 1}}), pointer);
  const Lines both = weights_findings(files);
  REQUIRE(both.size() == 2);
  CHECK(both[0] == expected[0]);
  CHECK(both[1] == "IR-const-size error n0: a constant of type u8 and shape [2] takes 2 bytes, size is 1");
  const ModelFiles xml_pointer(pointer);
  CHECK(lines_of(ir::validate(xml_pointer.xml()), xml_pointer) ==
        Lines{"IR-lfs-pointer error model.xml: the file is a Git LFS pointer, not the file itself | `git lfs "
              "pull` "
              "fetches it"});
}

TEST_CASE("constants share all of their bytes or none") {
  CHECK(validated({{"u8", "4", 0, 4}, {"u8", "4", 0, 4}, {"u8", "4", 4, 4}}, "01234567").empty());
  CHECK(
      validated({{"u8", "4", 0, 4}, {"u8", "4", 3, 4}, {"u8", "2", 4, 2}, {"u8", "1", 7, 1}}, "01234567") ==
      Lines{
          "IR-const-overlap warning n2: bytes 3 to 4 also belong to layer 'n0' of line 2, which takes bytes "
          "0 to 4 | "
          "constants share all of their bytes or none: see whether offset and size are right",
          "IR-const-overlap warning n4: bytes 4 to 6 also belong to layer 'n2' of line 3, which takes bytes "
          "3 to 7 | "
          "constants share all of their bytes or none: see whether offset and size are right"});
  std::vector<Place> many;
  for (std::int64_t i = 0; i < 10; ++i) many.push_back({"u8", "4", i, 4});
  const Lines found = validated(many, std::string(13, 'x'));
  REQUIRE(found.size() == 4);
  CHECK(found[3] ==
        "IR-const-overlap warning model.bin: 9 constants share some of their bytes with others, 3 of them "
        "named above");
}

TEST_CASE("bytes of no constant are a note, and a warning when they are most of the file") {
  const std::vector<Place> places{{"u8", "4", 0, 4}, {"u8", "4", 6, 4}};
  CHECK(validated(places, "0123..6789").empty());
  const Lines noted{
      "IR-weights-unused note model.bin: 2 of 10 bytes belong to no constant: 4 to 6 | `run_ir lint "
      "--repair` writes a copy without them"};
  CHECK(validated(places, "0123..6789", true) == noted);
  CHECK(linted(places, "0123..6789") == noted);
  CHECK(linted(places, "0123..6789++") ==
        Lines{"IR-weights-unused note model.bin: 4 of 12 bytes belong to no "
              "constant: 4 to 6 and 1 more | `run_ir lint "
              "--repair` writes a copy without them"});
  CHECK(
      validated({{"u8", "1", 0, 1}}, "0+++") ==
      Lines{"IR-weights-unused warning model.bin: 3 of 4 bytes belong to no constant: 1 to 4 | the file may "
            "belong to "
            "another model"});
  CHECK(validated({}, "0+++") == Lines{"IR-weights-unused warning model.bin: 4 of 4 bytes belong to no "
                                       "constant: 0 to 4 | the file may belong to "
                                       "another model"});
}

TEST_CASE("zeros that align what comes behind them are no waste") {
  const std::string start(1, 'x');
  const std::string end(4, 'y');
  CHECK(linted({{"u8", "1", 0, 1}, {"u8", "4", 4, 4}}, start + std::string(3, '\0') + end).empty());
  CHECK(linted({{"u8", "1", 0, 1}, {"u8", "4", 64, 4}}, start + std::string(63, '\0') + end).empty());
  // Nothing is aligned there, and more than an alignment takes.
  CHECK(linted({{"u8", "1", 0, 1}, {"u8", "4", 5, 4}}, start + std::string(4, '\0') + end).size() == 1);
  CHECK(linted({{"u8", "1", 0, 1}, {"u8", "4", 128, 4}}, start + std::string(127, '\0') + end).size() == 1);
}

TEST_CASE("bytes that are stored again are named with what they would save") {
  const std::string block(100, 'a');
  const std::string other(100, 'b');
  CHECK(linted(
            {{"u8", "100", 0, 100}, {"u8", "100", 100, 100}, {"i8", "50,2", 200, 100}, {"u8", "100", 0, 100}},
            block + other + block) == Lines{"IR-const-duplicate note n0: the same 100 bytes are stored again "
                                            "for 'n4' (line 4): written once, they would "
                                            "save 100 bytes | `run_ir lint --repair` writes such a copy"});
  // Little to save.
  CHECK(linted({{"u8", "2", 0, 2}, {"u8", "2", 2, 2}}, "xxxx").empty());
  // Only lint compares contents.
  CHECK(validated({{"u8", "100", 0, 100}, {"u8", "100", 100, 100}}, block + block, true).empty());
  std::vector<Place> many;
  std::string weights;
  for (std::int64_t i = 0; i < 6; ++i) {
    many.push_back({"u8", "100", i * 100, 100});
    weights += block;
  }
  CHECK(linted(many, weights) == Lines{"IR-const-duplicate note n0: the same 100 bytes are stored again for "
                                       "'n2' (line 3), 'n4' (line 4), 'n6' "
                                       "(line 5) and 2 more: written once, they would save 500 bytes | "
                                       "`run_ir lint --repair` writes such a "
                                       "copy"});
}

TEST_CASE("sets of equal constants beyond the tenth are counted") {
  std::vector<Place> places;
  std::string weights;
  for (char c = 'a'; c < 'a' + 12; ++c) {
    for (int copy = 0; copy < 2; ++copy) {
      places.push_back({"u8", "64", static_cast<std::int64_t>(weights.size()), 64});
      weights += std::string(64, c);
    }
  }
  const Lines found = linted(places, weights);
  REQUIRE(found.size() == 11);
  CHECK(found[10] ==
        "IR-const-duplicate note model.bin: 12 sets of constants hold the same bytes, the largest 10 of them "
        "named above: written once, all would save 768 bytes");
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("numbers that are none are counted, and the first one is named with its place and value") {
  const std::string weights =
      bytes<float>({1, kNan, -2, 1e-40F, kInfinity, 3, -70'000, -kNan, 65'519, 1e6F, 0, -0.0F});
  CHECK(linted({{"f32", "3,4", 0, 48}}, weights) ==
        Lines{"IR-const-nan warning n0: 2 of 12 elements are NaN, the first [0,1]",
              "IR-const-infinite warning n0: 1 of 12 elements is infinite, the first [1,0]",
              "IR-const-f16-overflow note n0: 2 of 12 elements are beyond 65504, the largest f16, the first "
              "[1,2] = -70000 "
              "| they become infinite when the model is stored in f16",
              "IR-const-denormal note n0: 1 of 12 elements is denormal, the first [0,3] = 9.99995e-41 | they "
              "make "
              "arithmetic "
              "slow on many CPUs"});
  CHECK(linted({{"f32", "", 0, 4}}, bytes<float>({kNan})) ==
        Lines{"IR-const-nan warning n0: 1 of 1 elements is NaN, the first"});
  // Only lint reads values.
  CHECK(validated({{"f32", "3,4", 0, 48}}, weights, true).empty());
}

TEST_CASE("infinity in a mask, which holds zeros besides, is a note") {
  CHECK(linted({{"f32", "4", 0, 16}}, bytes<float>({0, -kInfinity, -kInfinity, 0})) ==
        Lines{"IR-const-infinite note n0: 2 of 4 elements are infinite, the first [1]"});
}

TEST_CASE("every floating-point type is looked at, others are not") {
  CHECK(
      linted({{"f64", "2", 0, 16}}, bytes<double>({1, 1e300})) ==
      Lines{
          "IR-const-f16-overflow note n0: 1 of 2 elements is beyond 65504, the largest f16, the first [1] = "
          "1e+300 | "
          "they become infinite when the model is stored in f16"});
  CHECK(linted({{"bf16", "2", 0, 4}}, bytes<std::uint16_t>({0x3F80, 0x7FC0})) ==
        Lines{"IR-const-nan warning n0: 1 of 2 elements is NaN, the first [1]"});
  CHECK(linted({{"f16", "3", 0, 6}}, bytes<std::uint16_t>({0x0001, 0x7BFF, 0xFC00})) ==
        Lines{"IR-const-infinite warning n0: 1 of 3 elements is infinite, the first [2]"});
  CHECK(linted({{"i32", "1", 0, 4}}, bytes<float>({kNan})).empty());
}

TEST_CASE("numbers at offsets that their type cannot be read from are found too") {
  CHECK(linted({{"u8", "1", 0, 1}, {"f32", "2", 1, 8}}, "x" + bytes<float>({1, kNan})) ==
        Lines{"IR-const-nan warning n2: 1 of 2 elements is NaN, the first [1]"});
}

TEST_CASE("weights of another model show in their numbers") {
  std::vector<std::uint32_t> random(256);
  std::uint32_t state = 1;
  for (std::uint32_t& value : random) {
    state = state * 1664525U + 1013904223U;
    value = state ^ state >> 13U;
  }
  const std::string weights(reinterpret_cast<const char*>(random.data()), random.size() * 4);
  const Lines found = linted({{"f32", "256", 0, 1024}}, weights);
  REQUIRE_FALSE(found.empty());
  CHECK(found.back().starts_with("IR-const-implausible warning n0: "));
  CHECK(found.back().ends_with(
      "of 256 elements are NaN, infinite, at least 1e30 or below 1e-30 | see whether the "
      "weights file belongs to another model, or the offset or the element type is wrong"));
}

TEST_CASE("a scan of many blocks counts what a plain loop counts") {
  std::vector<float> values(10'007);
  std::int64_t nan = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_nan = i > 5'000 && i % 97 == 0;
    values[i] = is_nan ? kNan : static_cast<float>(i) * 0.25F - 100;
    nan += is_nan ? 1 : 0;
  }
  const auto counts =
      ir::reader::scan_values(ir::ElementType::f32, reinterpret_cast<const std::byte*>(values.data()),
                              static_cast<std::int64_t>(values.size()));
  CHECK(counts.nan.count == nan);
  CHECK(counts.nan.first == 97 * 52);
  CHECK(counts.infinite.count == 0);
  CHECK(counts.denormal.count == 0);
  // All others but one 0.
  CHECK(counts.usual == 10'007 - nan - 1);
}

TEST_CASE("constants that overlap a thousand times are not read a thousand times") {
  std::vector<Place> places;
  for (std::int64_t i = 0; i < 64; ++i) places.push_back({"u8", "192", i, 192});
  const Lines found = linted(places, std::string(255, 'x'));
  REQUIRE_FALSE(found.empty());
  CHECK(found.back() ==
        "IR-weights-unread warning model.bin: the constants take more than 4 times the 255 bytes of the "
        "file: they overlap, and their values were not looked at");
}

TEST_CASE("copies of constants that lie astride their type are held to a limit, and shared") {
  const std::vector<Place> places{
      {"u8", "1", 0, 1}, {"f32", "2", 1, 8}, {"f32", "1,2", 1, 8}, {"f32", "2", 9, 8}};
  const ModelFiles files(model_of(places), std::string(17, '\0'));
  ir::ReadOptions options;
  options.limits.max_copied_bytes = 16;
  CHECK(lines_of(ir::read_and_check(files.xml(), {}, options).diagnostics, files).empty());
  options.limits.max_copied_bytes = 15;
  CHECK(
      lines_of(ir::read_and_check(files.xml(), {}, options).diagnostics, files) ==
      Lines{
          "IR-limit error n6: constants that cannot be read in place take 8 bytes of memory up to this one, "
          "which "
          "takes 8; the limit max_copied_bytes is 15"});
}

TEST_CASE("weights may be read instead of mapped: then the file may go or be cut off") {
  const std::vector<Place> places{{"f32", "2", 0, 8}};
  const ModelFiles files(model_of(places), bytes<float>({1.5F, -2}));
  ir::ReadOptions options;
  options.map_weights = false;
  const auto model = files.read(options);
  std::filesystem::resize_file(files.folder() / "model.bin", 0);
  const auto* constant = model->nodes()[0]->op().as<ir::op::v0::Constant>();
  REQUIRE(constant != nullptr);
  CHECK(constant->value->data<float>()[1] == -2);
  const ModelFiles large(model_of(places), bytes<float>({1.5F, -2}));
  options.limits.max_copied_bytes = 7;
  CHECK(lines_of(ir::read_and_check(large.xml(), {}, options).diagnostics, large) ==
        Lines{"IR-limit error model.bin: the file has 8 bytes to be read into memory, the limit "
              "max_copied_bytes is 7"});
}

}  // namespace
