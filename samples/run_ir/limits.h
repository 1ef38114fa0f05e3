// The limits on what files may ask for: options of all commands.
#ifndef SAMPLES_RUN_IR_LIMITS_H_
#define SAMPLES_RUN_IR_LIMITS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/read_model.h"
#include "runtime/types/budget.h"

namespace run_ir {

struct Limits {
  ir::ReadOptions read;
  ir::CompileOptions compile;
  /// For a file with data for an input, and for the tensor that it becomes.
  std::int64_t max_input_bytes = std::int64_t{1} << 30;
};

/// Sets the limit `name`; `value` is a number that may end with K, M, G or T. Throws CLI::ValidationError.
void set_limit(Limits& limits, const std::string& name, const std::string& value);

/// Adds --limit, --max-mem and --no-map, which every command of `app` then takes.
void add_limit_options(CLI::App& app);

/// As the command line sets them.
const Limits& limits();

/// To be in force while data for inputs is read: what tensors it may become.
ir::Budget::Limits input_budget();

/// Options for compiling with these limits.
ir::CompileOptions compile_options(int threads);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_LIMITS_H_
