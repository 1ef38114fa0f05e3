// Options that several commands have.
#ifndef SAMPLES_RUN_IR_OPTIONS_H_
#define SAMPLES_RUN_IR_OPTIONS_H_

#include <CLI/CLI.hpp>

namespace run_ir {

/// Adds --threads, which is also spelt --nthreads as by OpenVINO's benchmark_app. 0: all that the process may
/// use.
void add_threads_option(CLI::App& command, int& threads);

/// How findings are printed.
enum class ReportFormat { text, json, sarif };

/// Adds --format; `format`, which must live as long as the command, is left alone without it.
void add_format_option(CLI::App& command, ReportFormat& format);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_OPTIONS_H_
