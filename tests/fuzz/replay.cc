// Runs the fuzz targets on files, for compilers without libFuzzer: replay FOLDER, with a folder per target in
// it.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tests/temporary_folder.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 2) {
    std::fprintf(stderr, "usage: replay FOLDER\n");
    return 2;
  }
  bool complete = true;
  for (const ir::fuzz::Target& target : ir::fuzz::kTargets) {
    std::vector<fs::path> files;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(fs::path(argv[1]) / target.name, missing))
      files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      try {
        target.run(ir::test::bytes_of(file));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: an exception that is no ir::Error: %s\n", file.c_str(), error.what());
        return 1;
      }
    }
    std::printf("%-10s %zu files\n", target.name.data(), files.size());
    complete = complete && !files.empty();
  }
  return complete ? 0 : 1;
}
