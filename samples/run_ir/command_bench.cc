#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ir_runtime/ir_runtime.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/inputs.h"
#include "samples/run_ir/json.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/progress.h"
#include "samples/run_ir/quantile.h"
#include "samples/run_ir/tuning.h"

namespace run_ir {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMostRequests = 1024;

struct BenchOptions {
  std::string model;
  std::string weights;
  InputOptions inputs;
  TuningOptions tuning;
  double seconds = 5;
  std::size_t iterations = 0;
  std::size_t requests = 1;
  int threads = 0;
  bool json = false;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Most memory of this process that was resident at a time. What getrusage tells may be that of the process
// which started this one.
std::size_t peak_bytes() {
  constexpr std::size_t kUnit = 1024;
  std::ifstream status("/proc/self/status");
  std::size_t peak = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:" && status >> peak) return peak * kUnit;
  }
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::size_t>(usage.ru_maxrss) * kUnit : 0;
}

// Times in milliseconds.
struct Measurements {
  double load = 0;
  double compile = 0;
  double first_run = 0;
  /// Of each further run, ascending.
  std::vector<double> runs;
  double runs_per_second = 0;
  std::size_t requests = 1;
  int threads = 0;
  std::size_t activation_bytes = 0;
  /// Of the inputs, which are the caller's.
  std::size_t input_bytes = 0;
  /// What the process held at most before it read the model.
  std::size_t start_bytes = 0;
};

// The runs that are to be measured, whichever request does them.
class Runs {
 public:
  explicit Runs(const BenchOptions& options)
      // A given number of runs is done whatever it takes.
      : most_(options.iterations > 0 ? options.iterations : std::numeric_limits<std::size_t>::max()),
        milliseconds_(options.iterations > 0 ? std::numeric_limits<double>::infinity()
                                             : options.seconds * 1000) {}

  // Whether one more is to begin; the first one is.
  bool begin_one() { return (begun_ == 0 || since(start_) < milliseconds_) && ++begun_ <= most_; }

  [[nodiscard]] std::size_t begun() const { return std::min<std::size_t>(begun_, most_); }
  [[nodiscard]] double milliseconds() const { return since(start_); }

 private:
  std::size_t most_;
  double milliseconds_;
  std::atomic<std::size_t> begun_ = 0;
  Clock::time_point start_ = Clock::now();
};

// Milliseconds of each run. `progress`: null for all requests but one.
std::vector<double> times_of(ir::InferRequest& request, Runs& runs, Progress* progress) {
  std::vector<double> times;
  while (runs.begin_one()) {
    // Each run does the same work, though the model may remember the last one.
    request.reset_state();
    const auto run_start = Clock::now();
    request.infer();
    times.push_back(since(run_start));
    if (progress != nullptr) progress->update(fmt::format("{} runs", runs.begun()));
  }
  return times;
}

// All requests run at once.
void measure_runs(const BenchOptions& options, std::vector<ir::InferRequest>& requests, Progress& progress,
                  Measurements& measured) {
  Runs runs(options);
  std::vector<std::future<std::vector<double>>> others;
  for (std::size_t i = 1; i < requests.size(); ++i)
    others.push_back(std::async(std::launch::async, [&, i] { return times_of(requests[i], runs, nullptr); }));
  std::vector<double>& times = measured.runs;
  times = times_of(requests.front(), runs, &progress);
  for (auto& other : others) {
    const std::vector<double> more = other.get();
    times.insert(times.end(), more.begin(), more.end());
  }
  measured.runs_per_second = 1000.0 * static_cast<double>(times.size()) / runs.milliseconds();
  std::ranges::sort(times);
}

Measurements measure(const BenchOptions& options) {
  Progress progress;
  Measurements measured;
  measured.start_bytes = peak_bytes();
  auto start = Clock::now();
  const std::shared_ptr<ir::Model> model = ir::read_model(options.model, options.weights, limits().read);
  measured.load = since(start);
  start = Clock::now();
  ir::CompileOptions compile = compile_options(options.threads);
  apply(options.tuning, compile);
  const ir::CompiledModel compiled = ir::compile_model(std::move(*model), compile);
  measured.compile = since(start);
  const std::vector<ir::Tensor> inputs = make_inputs(compiled.inputs(), options.inputs);
  std::vector<ir::InferRequest> requests;
  for (std::size_t r = 0; r < options.requests; ++r) {
    ir::InferRequest& request = requests.emplace_back(compiled.create_infer_request());
    for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    start = Clock::now();
    request.infer();
    if (r == 0) measured.first_run = since(start);
  }
  keep(options.tuning, compile);
  measured.requests = options.requests;
  measured.threads = compiled.threads();
  measured.activation_bytes = compiled.activation_bytes();
  for (const ir::Tensor& input : inputs) measured.input_bytes += input.byte_size();
  measure_runs(options, requests, progress, measured);
  return measured;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void print_json(const std::string& model, const Measurements& measured) {
  const Json result{{"model", model},
                    {"load_ms", measured.load},
                    {"compile_ms", measured.compile},
                    {"first_ms", measured.first_run},
                    {"min_ms", measured.runs.front()},
                    {"mean_ms", mean_of(measured.runs)},
                    {"median_ms", quantile(measured.runs, 0.5)},
                    {"p90_ms", quantile(measured.runs, 0.9)},
                    {"p99_ms", quantile(measured.runs, 0.99)},
                    {"max_ms", measured.runs.back()},
                    {"throughput", measured.runs_per_second},
                    {"requests", measured.requests},
                    {"threads", measured.threads},
                    {"runs", measured.runs.size()},
                    {"activation_bytes", measured.activation_bytes},
                    {"input_bytes", measured.input_bytes},
                    {"start_bytes", measured.start_bytes},
                    {"peak_bytes", peak_bytes()}};
  print("{}\n", text_of(result));
}

void print_text(const std::string& model, const Measurements& measured) {
  print("{}: {} runs on {} threads{}\n", model, measured.runs.size(), measured.threads,
        measured.requests > 1 ? fmt::format(" in {} requests at once", measured.requests) : "");
  print("  load {:.1f} ms, compile {:.1f} ms, first run {:.2f} ms\n", measured.load, measured.compile,
        measured.first_run);
  print("  min {:.3f} ms, mean {:.3f} ms, median {:.3f} ms, p90 {:.3f} ms, p99 {:.3f} ms, max {:.3f} ms\n",
        measured.runs.front(), mean_of(measured.runs), quantile(measured.runs, 0.5),
        quantile(measured.runs, 0.9), quantile(measured.runs, 0.99), measured.runs.back());
  print("  {:.1f} runs/s\n", measured.runs_per_second);
  const auto megabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  print(
      "  activations {:.1f} MB, inputs {:.1f} MB, peak memory of the process {:.1f} MB, {:.1f} MB before the "
      "model\n",
      megabytes(measured.activation_bytes), megabytes(measured.input_bytes), megabytes(peak_bytes()),
      megabytes(measured.start_bytes));
}

Outcome bench(const BenchOptions& options) {
  const Measurements measured = measure(options);
  if (options.json) {
    print_json(options.model, measured);
  } else {
    print_text(options.model, measured);
  }
  return Outcome::fine;
}

}  // namespace

void add_bench(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measures a model: one inference after the other, or several requests at once.");
  add_model_argument(*command, options->model);
  add_weights_option(*command, options->weights);
  add_input_options(*command, options->inputs);
  add_tuning_options(*command, options->tuning);
  command->add_option("-t,--time", options->seconds, "Seconds to measure.")
      ->check(above_zero())
      ->capture_default_str();
  command->add_option("--niter,-n", options->iterations, "Runs to measure, instead of a time.")
      ->check(whole_number(0, kMostTimes));
  add_threads_option(*command, options->threads);
  command
      ->add_option("--nireq", options->requests,
                   "Requests that infer at once, each on a thread of its own. With --nthreads 1 they share "
                   "nothing but the weights, which gives most inferences per second.")
      ->check(whole_number(1, kMostRequests))
      ->capture_default_str();
  CLI::Option* const format = add_json_option(*command, options->json);
  command->add_flag("--json", options->json, "The same as --format json.")->excludes(format);
  command->footer(
      "Examples:\n  run_ir bench model.xml -t 3\n  run_ir bench model.xml --niter 100 --nthreads 1 --json\n"
      "  run_ir bench model.xml --nthreads 1 --nireq 4");
  command->callback([options, &outcome] { outcome = bench(*options); });
}

}  // namespace run_ir
