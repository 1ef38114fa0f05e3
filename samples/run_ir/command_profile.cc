#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir_runtime/ir_runtime.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/inputs.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/profile_report.h"
#include "samples/run_ir/progress.h"
#include "samples/run_ir/quantile.h"
#include "samples/run_ir/tuning.h"

namespace run_ir {
namespace {

struct ProfileOptions {
  std::string model;
  std::string weights;
  InputOptions inputs;
  TuningOptions tuning;
  int threads = 0;
  std::size_t repeat = 20;
  bool as_written = false;
  bool fastest = false;
  bool json = false;
  std::string by = "step";
  std::string sort;
  std::size_t top = 0;
};

Outcome profile(const ProfileOptions& options) {
  Progress progress;
  progress.update("reading and compiling " + options.model);
  const std::shared_ptr<ir::Model> model = ir::read_model(options.model, options.weights, limits().read);
  ir::CompileOptions compile = compile_options(options.threads);
  apply(options.tuning, compile);
  compile.optimize = !options.as_written;
  const ir::CompiledModel compiled = ir::compile_model(std::move(*model), compile);
  ir::InferRequest request = compiled.create_infer_request();
  set_inputs(request, compiled.inputs(), options.inputs);
  request.set_profiling(true);
  request.infer();  // touches memory for the first time
  keep(options.tuning, compile);

  StepTimes steps;
  std::vector<double> times;
  for (std::size_t run = 0; run < options.repeat; ++run) {
    progress.update(fmt::format("running {}/{}", run + 1, options.repeat));
    request.reset_state();
    const auto start = std::chrono::steady_clock::now();
    request.infer();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    steps.add(request.profile());
  }
  progress.clear();
  const double fraction = options.fastest ? 0.0 : 0.5;
  const ProfileReport report{options.model,   compiled.threads(),        times.size(),
                             options.fastest, quantile(times, fraction), steps.at(fraction)};
  const bool by_op = options.by == "op";
  const ProfileView view{by_op, options.sort.empty() ? by_op : options.sort == "time", options.top};
  if (options.json) {
    print("{}\n", profile_json(report, view));
  } else {
    print("{}", profile_text(report, view));
  }
  return Outcome::fine;
}

}  // namespace

void add_profile(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand(
      "profile", "Measures the steps of a model: time, share, kernel, algorithm, GFLOP/s, GB/s.");
  add_model_argument(*command, options->model);
  add_weights_option(*command, options->weights);
  add_input_options(*command, options->inputs);
  add_tuning_options(*command, options->tuning);
  add_threads_option(*command, options->threads);
  command->add_option("--repeat", options->repeat, "Runs; the median of each step's times is shown.")
      ->check(whole_number(1, kMostTimes))
      ->capture_default_str();
  command->add_flag("--fastest", options->fastest,
                    "The fastest run of each step, for machines that are not quiet.");
  command->add_flag("--as-written", options->as_written, "Every layer on its own: nothing folded or fused.");
  add_json_option(*command, options->json);
  command->add_option("--by", options->by, "Every step and totals, or totals per operation only.")
      ->check(one_of({"step", "op"}))
      ->capture_default_str();
  command
      ->add_option(
          "--sort", options->sort,
          "In the order of execution (that of steps without this), or the slowest first (of operations).")
      ->check(one_of({"order", "time"}));
  command->add_option("--top", options->top, "Steps, or operations, to list; 0: all.")
      ->check(whole_number(0, kMostTimes));
  command->footer(
      "GFLOP/s counts the multiplications and additions of the operation's definition, also for algorithms\n"
      "that do with fewer (Winograd); GB/s counts inputs, constants and outputs once each. threads is the\n"
      "most that one loop of the step was spread over; SIMD is '-' for kernels that are built once for all\n"
      "machines.\n"
      "Examples:\n"
      "  run_ir profile model.xml --threads 1\n"
      "  run_ir profile model.xml --sort time --top 10\n"
      "  run_ir profile model.xml --by op --format json");
  command->callback([options, &outcome] { outcome = profile(*options); });
}

}  // namespace run_ir
