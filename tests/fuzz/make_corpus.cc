// Writes the seeds and the dictionaries of the fuzz targets: make_corpus OUT MODELS...
#include <fmt/format.h>
#include <stb_image_write.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/op.h"
#include "samples/run_ir/npy.h"
#include "tests/fuzz/targets.h"
#include "tests/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using ir::test::bytes_of;

// More would make the fuzzers slow.
constexpr std::uintmax_t kMostXmlBytes = 40'000;
constexpr std::uintmax_t kMostWeightBytes = 20'000;

class Corpus {
 public:
  explicit Corpus(fs::path root) : root_(std::move(root)) {}

  void add(std::string_view target, std::string_view bytes) {
    const fs::path folder = root_ / target;
    fs::create_directories(folder);
    std::ofstream(folder / fmt::format("seed{:04}", ++count_), std::ios::binary) << bytes;
  }
  void add_dictionary(std::string_view target, const std::set<std::string>& words) {
    std::ofstream file(root_ / fmt::format("{}.dict", target));
    for (const std::string& word : words) file << fmt::format("\"{}\"\n", word);
  }

 private:
  fs::path root_;
  int count_ = 0;
};

std::string joined(std::string_view first, std::string_view second) {
  return std::string(first).append(ir::fuzz::kSeparator).append(second);
}

void add_model(Corpus& corpus, const fs::path& xml) {
  if (fs::file_size(xml) > kMostXmlBytes) return;
  const std::string text = bytes_of(xml);
  corpus.add("xml", text);
  fs::path bin = xml;
  bin.replace_extension(".bin");
  if (!fs::exists(bin) || fs::file_size(bin) > kMostWeightBytes) return;
  const std::string both = joined(text, bytes_of(bin));
  corpus.add("weights", both);
  corpus.add("inference", both);
}

void add_case(Corpus& corpus, const fs::path& file) {
  const std::string text = bytes_of(file);
  for (const char* tensor : {"input0.bin", "output0.bin"}) {
    const fs::path path = file.parent_path() / tensor;
    if (fs::exists(path) && fs::file_size(path) <= kMostWeightBytes)
      corpus.add("case_file", joined(text, bytes_of(path)));
  }
}

void add_models(Corpus& corpus, const fs::path& root) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".xml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    if (file.filename() == "case.xml") {
      add_case(corpus, file);
    } else {
      add_model(corpus, file);
    }
  }
}

void add_arrays(Corpus& corpus) {
  const ir::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "array.npy";
  for (const ir::ElementType type : ir::all_element_types()) {
    ir::Tensor values = ir::Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
    if (type == ir::ElementType::string) {
      values = ir::Tensor(type, {2});
      values.data<std::string>()[0] = "word";
    } else {
      values = values.converted(type);
    }
    run_ir::write_npy(file, values);
    corpus.add("npy", bytes_of(file));
  }
  run_ir::write_npy(file, ir::Tensor::of<float>({}, {1}));
  corpus.add("npy", bytes_of(file));
}

void append(void* bytes, void* data, int size) {
  static_cast<std::string*>(bytes)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

void add_pictures(Corpus& corpus) {
  constexpr int kSide = 9;
  for (const int channels : {1, 3, 4}) {
    std::string pixels(static_cast<std::size_t>(kSide * kSide * channels), '\0');
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i * 7);
    for (const char choice : {'\x00', '\x11', '\x22', '\x33', '\x44', '\x75'}) {
      std::string png(1, choice);
      std::string jpeg = png;
      std::string bmp = png;
      stbi_write_png_to_func(append, &png, kSide, kSide, channels, pixels.data(), kSide * channels);
      stbi_write_jpg_to_func(append, &jpeg, kSide, kSide, channels, pixels.data(), 80);
      stbi_write_bmp_to_func(append, &bmp, kSide, kSide, channels, pixels.data());
      for (const std::string& picture : {png, jpeg, bmp}) corpus.add("image", picture);
    }
  }
}

void add_shapes(Corpus& corpus) {
  for (const char* text : {"1,3,224,224", "[1,3,224,224]", "?", "-1,3", "[...]", "...", "1..4,2..,..8,?", "",
                           "[]", "9223372036854775807,2", "4294967296, 4294967296 ,0"})
    corpus.add("shape", text);
}

// Some attributes and inputs for each operation.
void add_operations(Corpus& corpus) {
  constexpr int kSeedsPerClass = 3;
  constexpr std::size_t kSeedBytes = 96;
  std::mt19937 random;
  for (std::size_t index = 0; index < ir::all_op_classes().size(); ++index) {
    for (int i = 0; i < kSeedsPerClass; ++i) {
      std::string bytes(kSeedBytes, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() >> 24U);
      bytes[0] = static_cast<char>(index);
      corpus.add("operation", bytes);
    }
  }
}

// The spelling of what models are made of.
std::set<std::string> model_words() {
  std::set<std::string> words{"layer",
                              "layers",
                              "edge",
                              "edges",
                              "port",
                              "dim",
                              "data",
                              "input",
                              "output",
                              "port_map",
                              "back_edges",
                              "body",
                              "internal_port_id",
                              "external_port_id",
                              "rt_info",
                              "names",
                              "purpose",
                              "current_iteration",
                              "execution_condition",
                              "opset1",
                              "opset8",
                              "opset17",
                              "extension",
                              "experimental",
                              "offset",
                              "size",
                              "shape",
                              "element_type",
                              "precision",
                              "FP32",
                              "FP16",
                              "I64",
                              "<![CDATA[",
                              "<!--",
                              "-->",
                              "<?xml",
                              "&#x41;",
                              "&lt;",
                              "version=\\\"10\\\"",
                              "\\x0a--8<--\\x0a",
                              "9223372036854775807",
                              "18446744073709551616",
                              "-1",
                              "1e308",
                              "nan",
                              "1..4",
                              "?"};
  for (const ir::ElementType type : ir::all_element_types()) words.emplace(ir::name_of(type));
  for (const ir::OpClass* record : ir::all_op_classes()) {
    words.emplace(record->info.type);
    for (const ir::Field& field : record->fields) words.emplace(field.name);
  }
  return words;
}

void add_dictionaries(Corpus& corpus) {
  const std::set<std::string> words = model_words();
  for (const char* target : {"xml", "weights", "inference"}) corpus.add_dictionary(target, words);
  corpus.add_dictionary("operation", {"\\xff", "\\x00"});
  corpus.add_dictionary("npy", {"\\x93NUMPY\\x01\\x00", "\\x93NUMPY\\x02\\x00", "'descr': ",
                                "'fortran_order': ", "'shape': ", "False", "True", "'<f4'", "'>f4'", "'<U2'",
                                "'<i8'", "'|S4'", "'|b1'", "(2, 3)", "()", "(9223372036854775807,)"});
  corpus.add_dictionary("image", {"\\x89PNG\\x0d\\x0a\\x1a\\x0a", "IHDR", "IDAT", "PLTE", "tRNS", "IEND",
                                  "BM", "\\xff\\xd8", "\\xff\\xc0", "\\xff\\xc2", "\\xff\\xc4", "\\xff\\xda",
                                  "\\xff\\xdb", "\\xff\\xdd", "\\xff\\xd9", "JFIF"});
  corpus.add_dictionary("shape", {"..", "...", "?", "-1", "[", "]", ",", "9223372036854775807",
                                  "-9223372036854775808", "4294967296"});
  corpus.add_dictionary("case_file", {"case",
                                      "input",
                                      "output",
                                      "index=",
                                      "element_type=",
                                      "shape=",
                                      "file=",
                                      "metric=",
                                      "elementwise",
                                      "relative_l2",
                                      "detections",
                                      "rtol=",
                                      "atol=",
                                      "compare_first=",
                                      "confidence=",
                                      "iou=",
                                      "model=",
                                      "f32",
                                      "string",
                                      "u4",
                                      "1e308",
                                      "../",
                                      "\\x0a--8<--\\x0a"});
}

void make_corpus(const fs::path& folder, std::span<const char* const> models) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  Corpus corpus(folder);
  for (const char* const path : models) add_models(corpus, path);
  add_arrays(corpus);
  add_pictures(corpus);
  add_shapes(corpus);
  add_operations(corpus);
  add_dictionaries(corpus);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: make_corpus OUT MODELS...\n", stderr);
    return 2;
  }
  try {
    make_corpus(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_corpus: %s\n", error.what());
    return 1;
  }
  return 0;
}
