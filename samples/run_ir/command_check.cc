#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "samples/run_ir/case_runner.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/progress.h"
#include "samples/run_ir/round_trip.h"

namespace run_ir {
namespace {

struct CheckOptions {
  std::vector<std::string> paths;
  int threads = 0;
  bool verbose = false;
  bool round_trip = false;
};

Outcome check(const CheckOptions& options) {
  const ir::CompileOptions compile = compile_options(options.threads);
  const auto cases = find_cases(options.paths);
  std::size_t failed = 0;
  Progress progress;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = cases[i].parent_path().string();
    progress.update(fmt::format("{}/{} {}", i + 1, cases.size(), name));
    std::vector<std::string> failures = run_case(cases[i], compile);
    if (failures.empty() && options.round_trip) failures = run_round_trip(cases[i], compile);
    if (!failures.empty()) ++failed;
    if (!failures.empty() || options.verbose) progress.clear();
    if (failures.empty() && options.verbose) print("ok   {}\n", name);
    for (const std::string& failure : failures) print("FAIL {}: {}\n", name, failure);
  }
  progress.clear();
  if (cases.empty()) run_ir::print(stderr, "error: no case.xml lies in {}\n", fmt::join(options.paths, ", "));
  print("{} passed, {} failed\n", cases.size() - failed, failed);
  return failed == 0 && !cases.empty() ? Outcome::fine : Outcome::found_wrong;
}

}  // namespace

void add_check(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Runs test cases (folders with case.xml) and compares the outputs.");
  command->add_option("paths", options->paths, "Cases, or folders to search for them.")
      ->required()
      ->check(not_empty());
  add_threads_option(*command, options->threads);
  command->add_flag("--round-trip", options->round_trip,
                    "Write each model as IR version 10 and 11, too, read it again, and demand an equal model "
                    "and the same outputs to the bit.");
  command->add_flag("-v,--verbose", options->verbose, "Name the cases that pass, too.");
  command->footer(
      "Examples:\n  run_ir check models\n  run_ir check models/small_cnn -v\n  run_ir check models "
      "--round-trip");
  command->callback([options, &outcome] { outcome = check(*options); });
}

}  // namespace run_ir
