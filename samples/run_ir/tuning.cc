#include "samples/run_ir/tuning.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include "ir_runtime/tuning.h"
#include "samples/run_ir/option_checks.h"

namespace run_ir {

CLI::Validator execution_mode_names() {
  return value_of_name<ir::ExecutionMode>(
      {{"performance", ir::ExecutionMode::performance}, {"accuracy", ir::ExecutionMode::accuracy}});
}

void add_tuning_options(CLI::App& command, TuningOptions& options) {
  const char* const group = "Choice of algorithms";
  CLI::Option* const tuning =
      command.add_option("--tuning", options.file, "Take the choices in this file, which --tune wrote.");
  CLI::Option* const tune = command.add_option(
      "--tune", options.tuned_file,
      "The same; first measure what the file lacks for this machine, model and number of threads, and write "
      "it there. The file need not exist.");
  tuning->excludes(tune)->check(not_empty())->group(group);
  tune->check(not_empty())->group(group);
  command
      .add_option("--extra-weights", options.extra_weights,
                  "How much more memory than constants and activations may be taken for speed, in parts of "
                  "these; below 0: any.")
      ->check(number_that("of 64 bits", "NUMBER", [](double) { return true; }))
      ->capture_default_str()
      ->group(group);
  command.add_option("--execution-mode", options.execution_mode, kExecutionModeHelp)
      ->transform(execution_mode_names())
      ->type_name(kExecutionModeType)
      ->default_str("performance")
      ->group(group);
  command.add_option("--dynamic-quantization", options.dynamic_quantization, kDynamicQuantizationHelp)
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str()
      ->group(group);
}

void apply(const TuningOptions& options, ir::CompileOptions& compile) {
  compile.extra_weights = options.extra_weights;
  compile.execution_mode = options.execution_mode;
  compile.dynamic_quantization_group_size = options.dynamic_quantization;
  compile.tune = !options.tuned_file.empty();
  if (compile.tune && !std::filesystem::exists(options.tuned_file)) {
    compile.tuning = std::make_shared<ir::Tuning>();
  } else if (compile.tune || !options.file.empty()) {
    compile.tuning = ir::read_tuning(compile.tune ? options.tuned_file : options.file);
  }
  // Whether it can be written is better known before all is measured.
  keep(options, compile);
}

void keep(const TuningOptions& options, const ir::CompileOptions& compile) {
  if (compile.tune) ir::write_tuning(*compile.tuning, options.tuned_file);
}

}  // namespace run_ir
