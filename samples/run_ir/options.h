// Options that several commands have.
#ifndef SAMPLES_RUN_IR_OPTIONS_H_
#define SAMPLES_RUN_IR_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

namespace run_ir {

/// Adds --threads, which is also spelt --nthreads as by OpenVINO's benchmark_app. 0: all that the process may
/// use.
void add_threads_option(CLI::App& command, int& threads);

/// Adds the argument that names the model.
void add_model_argument(CLI::App& command, std::string& model,
                        const std::string& text = "The model's .xml file.");

/// Adds --weights: another file than the .bin beside the model.
void add_weights_option(CLI::App& command, std::string& weights);

/// Adds --format for commands that print text, or with `json` one object.
CLI::Option* add_json_option(CLI::App& command, bool& json);

/// How findings are printed.
enum class ReportFormat { text, json, sarif };

/// Adds --format; `format`, which must live as long as the command, is left alone without it.
void add_format_option(CLI::App& command, ReportFormat& format);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_OPTIONS_H_
