#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "ir_runtime/ir_runtime.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/inputs.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/progress.h"
#include "samples/run_ir/quantile.h"
#include "samples/run_ir/tuning.h"

namespace run_ir {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string model;
  InputOptions inputs;
  TuningOptions tuning;
  double seconds = 5;
  std::size_t iterations = 0;
  int threads = 0;
  bool json = false;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Most memory of this process that was resident at a time.
std::size_t peak_bytes() {
  constexpr std::size_t kUnit = 1024;
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::size_t>(usage.ru_maxrss) * kUnit : 0;
}

Outcome bench(const BenchOptions& options) {
  Progress progress;
  auto start = Clock::now();
  const std::shared_ptr<ir::Model> model = ir::read_model(options.model, {}, limits().read);
  const double load_ms = since(start);
  start = Clock::now();
  ir::CompileOptions compile = compile_options(options.threads);
  apply(options.tuning, compile);
  const ir::CompiledModel compiled = ir::compile_model(*model, compile);
  const double compile_ms = since(start);
  ir::InferRequest request = compiled.create_infer_request();
  const std::vector<ir::Tensor> inputs = make_inputs(compiled.inputs(), options.inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  start = Clock::now();
  request.infer();
  const double first_ms = since(start);
  keep(options.tuning, compile);

  std::vector<double> times;
  const std::size_t most =
      options.iterations > 0 ? options.iterations : std::numeric_limits<std::size_t>::max();
  const auto begin = Clock::now();
  // A given number of runs is done whatever it takes.
  while (times.size() < most &&
         (options.iterations > 0 || times.empty() || since(begin) < options.seconds * 1000)) {
    // Each run does the same work, though the model may remember the last one.
    request.reset_state();
    const auto run_start = Clock::now();
    request.infer();
    times.push_back(since(run_start));
    progress.update(fmt::format("{} runs", times.size()));
  }
  const double total_ms = since(begin);
  progress.clear();
  std::ranges::sort(times);
  const double throughput = 1000.0 * static_cast<double>(times.size()) / total_ms;
  if (options.json) {
    const nlohmann::ordered_json result{{"model", options.model},
                                        {"load_ms", load_ms},
                                        {"compile_ms", compile_ms},
                                        {"first_ms", first_ms},
                                        {"min_ms", times.front()},
                                        {"median_ms", quantile(times, 0.5)},
                                        {"p90_ms", quantile(times, 0.9)},
                                        {"throughput", throughput},
                                        {"threads", compiled.threads()},
                                        {"runs", times.size()},
                                        {"activation_bytes", compiled.activation_bytes()},
                                        {"peak_bytes", peak_bytes()}};
    print("{}\n", result.dump());
  } else {
    print("{}: {} runs on {} threads\n", options.model, times.size(), compiled.threads());
    print("  load {:.1f} ms, compile {:.1f} ms, first run {:.2f} ms\n", load_ms, compile_ms, first_ms);
    print("  min {:.3f} ms, median {:.3f} ms, p90 {:.3f} ms, {:.1f} runs/s\n", times.front(),
          quantile(times, 0.5), quantile(times, 0.9), throughput);
    print("  activations {:.1f} MB, peak memory of the process {:.1f} MB\n",
          static_cast<double>(compiled.activation_bytes()) / 1e6, static_cast<double>(peak_bytes()) / 1e6);
  }
  return Outcome::fine;
}

}  // namespace

void add_bench(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measures a model: one inference at a time, in turn.");
  command->add_option("model", options->model, "The model's .xml file.")->required();
  add_input_options(*command, options->inputs);
  add_tuning_options(*command, options->tuning);
  command->add_option("-t,--time", options->seconds, "Seconds to measure.")
      ->check(above_zero())
      ->capture_default_str();
  command->add_option("--niter,-n", options->iterations, "Runs to measure, instead of a time.");
  command->add_option("--nthreads,--threads", options->threads, "Threads; 0: all that the process may use.")
      ->check(from_zero());
  command->add_flag("--json", options->json, "One JSON object on standard output.");
  command->footer(
      "Examples:\n  run_ir bench model.xml -t 3\n  run_ir bench model.xml --niter 100 --nthreads 1 --json");
  command->callback([options, &outcome] { outcome = bench(*options); });
}

}  // namespace run_ir
