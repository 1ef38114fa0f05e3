// Damages models and watches the library read, compile and run them: mutate --help
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/hostile/memory_file.h"
#include "tests/hostile/mutations.h"
#include "tests/hostile/run_model.h"

namespace {

namespace fs = std::filesystem;
using ir::hostile::Outcome;

struct Options {
  std::vector<std::string> paths;
  std::uint64_t count = 300;
  std::uint64_t seed = 1;
  std::int64_t max_mem = 1 << 20;
  unsigned seconds = 20;
  std::int64_t only = -1;
  std::string keep;
};

struct Model {
  std::string name;
  std::string xml;
  std::string weights;
};

struct Case {
  std::string xml;
  std::string weights;
  bool strict = true;
};

// What the process that runs the cases tells the one that watches it.
struct Progress {
  std::uint64_t next = 0;
  std::array<std::uint64_t, 4> outcomes{};
};

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Files *.xml at and below the paths, but for cases; weights lie beside.
std::vector<Model> find_models(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  const auto consider = [&](const fs::path& path) {
    if (path.extension() == ".xml" && path.filename() != "case.xml") files.push_back(path);
  };
  for (const std::string& path : paths) {
    if (fs::is_regular_file(path)) {
      consider(path);
    } else {
      for (const auto& entry : fs::recursive_directory_iterator(path)) consider(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<Model> models;
  for (const fs::path& file : files) {
    fs::path weights = file;
    weights.replace_extension(".bin");
    models.push_back({(file.parent_path().filename() / file.filename()).string(), bytes_of(file),
                      fs::exists(weights) ? bytes_of(weights) : std::string()});
  }
  return models;
}

// Case 0 is the model as it is. Declared shapes count in every other case.
Case make_case(const Model& model, const Model& other, std::uint64_t seed, std::uint64_t index) {
  Case made{model.xml, model.weights};
  if (index == 0) return made;
  made.strict = index % 2 == 0;
  ir::hostile::Mutator mutator(seed * 1'000'003 + index);
  for (std::size_t changes = 1 + mutator.below(3); changes > 0; --changes) {
    if (!made.weights.empty() && mutator.below(4) == 0) {
      made.weights = mutator.weights(std::move(made.weights), other.weights);
    } else {
      made.xml = mutator.xml(std::move(made.xml), other.xml);
    }
  }
  return made;
}

Outcome run(const Case& made, const Options& options) {
  const ir::hostile::MemoryFile xml(made.xml);
  const ir::hostile::MemoryFile weights(made.weights);
  const ir::ShapeCheck check = made.strict ? ir::ShapeCheck::error : ir::ShapeCheck::warn;
  return ir::hostile::run_model(xml.path(), weights.path(), {options.max_mem, check});
}

// Ends the process after so many seconds of CPU time: a machine that does other things makes no hang. Waiting
// for nothing takes none, and ends later.
void watch(unsigned seconds) {
  const itimerval limit{{}, {static_cast<time_t>(seconds), 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  ::alarm(100 * seconds);
}

[[noreturn]] void run_cases(const Model& model, const Model& other, const Options& options, std::uint64_t end,
                            Progress& progress) {
  for (; progress.next < end; ++progress.next) {
    const Case made = make_case(model, other, options.seed, progress.next);
    watch(options.seconds);
    try {
      const Outcome outcome = run(made, options);
      ++progress.outcomes[static_cast<std::size_t>(outcome)];
    } catch (const std::exception& error) {
      fmt::print(stderr, "an exception that is no ir::Error: {}\n", error.what());
      std::_Exit(1);
    }
    watch(0);
  }
  // Not exit(): what the parent has opened is the parent's to close.
  std::fflush(nullptr);
  std::_Exit(0);
}

std::string ending(int status) {
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM)) return "hang";
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

void keep_case(const Case& made, const std::string& folder, const std::string& name) {
  fs::create_directories(folder);
  const fs::path stem = fs::path(folder) / name;
  std::ofstream(stem.string() + ".xml", std::ios::binary) << made.xml;
  std::ofstream(stem.string() + ".bin", std::ios::binary) << made.weights;
}

// Runs the cases of one model in a process of their own, and in another one after each that ends it.
std::size_t mutate(const Model& model, const Model& other, const Options& options) {
  void* shared = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto& progress = *new (shared) Progress();
  std::uint64_t end = options.count + 1;
  if (options.only >= 0) {
    progress.next = static_cast<std::uint64_t>(options.only);
    end = progress.next + 1;
  }
  std::size_t found = 0;
  while (progress.next < end) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) run_cases(model, other, options, end, progress);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status == 0) break;
    ++found;
    const std::uint64_t index = progress.next++;
    fmt::print("FOUND {}: {} in case {} of seed {}\n", model.name, ending(status), index, options.seed);
    if (!options.keep.empty()) {
      std::string name = fmt::format("{}-{}-{}", model.name, options.seed, index);
      std::ranges::replace(name, '/', '-');
      keep_case(make_case(model, other, options.seed, index), options.keep, name);
    }
  }
  fmt::print("{:<60}", model.name);
  for (std::size_t i = 0; i < progress.outcomes.size(); ++i) {
    fmt::print(" {:>6} {}", progress.outcomes[i], ir::hostile::name_of(static_cast<Outcome>(i)));
  }
  fmt::print(" {:>3} found\n", found);
  std::fflush(stdout);
  ::munmap(shared, sizeof(Progress));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Damages models, and reads, compiles and runs them under small limits. Crashes, hangs and foreign "
      "exceptions are reported with the number of the case."};
  Options options;
  app.add_option("paths", options.paths, "Models, or folders to search for them.")->required();
  app.add_option("-n,--count", options.count, "Cases per model.")->capture_default_str();
  app.add_option("--seed", options.seed, "Cases of one seed are the same on any machine.")
      ->capture_default_str();
  app.add_option("--max-mem", options.max_mem, "Bytes of activations.")->capture_default_str();
  app.add_option("--seconds", options.seconds, "A case that takes more CPU time hangs.")
      ->capture_default_str();
  app.add_option("--only", options.only, "Runs the case of this number.");
  app.add_option("--keep", options.keep, "Folder for the files of what is found.");
  CLI11_PARSE(app, argc, argv);

  const std::vector<Model> models = find_models(options.paths);
  std::size_t found = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    found += mutate(models[i], models[(i + 1) % models.size()], options);
  }
  fmt::print("{} models, {} cases each, {} found\n", models.size(), options.count, found);
  return found == 0 && !models.empty() ? 0 : 1;
}
