// Which algorithms are chosen: options of the commands that run models.
#ifndef SAMPLES_RUN_IR_TUNING_H_
#define SAMPLES_RUN_IR_TUNING_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "ir_runtime/compiled_model.h"

namespace run_ir {

struct TuningOptions {
  /// File whose choices are taken.
  std::string file;
  /// File to which what it lacks is added, too.
  std::string tuned_file;
  double extra_weights = ir::CompileOptions().extra_weights;
  ir::ExecutionMode execution_mode = ir::CompileOptions().execution_mode;
  std::int64_t dynamic_quantization = ir::CompileOptions().dynamic_quantization_group_size;
};

/// For options of type ir::ExecutionMode, whose type name is kExecutionModeType.
inline constexpr const char* kExecutionModeHelp =
    "performance: algorithms may save multiplications by adding up terms first (Winograd, Strassen), use "
    "AMX, or keep large weights of single rows in 16 or 24 bits, at the price of roundings, and multiply "
    "integers where values are quantised; accuracy: they may not.";
inline constexpr const char* kExecutionModeType = "MODE";
CLI::Validator execution_mode_names();

inline constexpr const char* kDynamicQuantizationHelp =
    "Products with weights of 8 and 4 bits may quantise the rows that meet them to 8 bits while they run, so "
    "many "
    "neighbouring elements at most with a scale of their own (32 and more); 0: rows stay floats.";

/// Adds --tuning, --tune, --extra-weights, --execution-mode and --dynamic-quantization to a command.
void add_tuning_options(CLI::App& command, TuningOptions& options);

/// Reads the file, or makes and writes the one that is to be filled, and sets the options of `compile` that
/// say what becomes of it. Throws ir::Error.
void apply(const TuningOptions& options, ir::CompileOptions& compile);

/// After the model ran: writes the file when there is one to write, and choices that it lacks.
void keep(const TuningOptions& options, const ir::CompileOptions& compile);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_TUNING_H_
