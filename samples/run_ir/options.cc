#include "samples/run_ir/options.h"

#include <limits>

#include "samples/run_ir/option_checks.h"

namespace run_ir {

void add_threads_option(CLI::App& command, int& threads) {
  command.add_option("--threads,--nthreads", threads, "Threads; 0: all that the process may use.")
      ->check(whole_number(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
}

void add_model_argument(CLI::App& command, std::string& model, const std::string& text) {
  command.add_option("model", model, text)->required()->check(not_empty());
}

void add_weights_option(CLI::App& command, std::string& weights) {
  command.add_option("--weights", weights, "The weights file; default: the .bin beside the model.")
      ->check(not_empty());
}

CLI::Option* add_json_option(CLI::App& command, bool& json) {
  return command
      .add_option_function<std::string>(
          "--format", [&json](const std::string& format) { json = format == "json"; },
          "Text, or one JSON object.")
      ->check(one_of({"text", "json"}))
      ->default_str("text");
}

void add_format_option(CLI::App& command, ReportFormat& format) {
  command.add_option("--format", format, "text, json (see docs/diagnostics.md) or sarif (2.1.0, for CI).")
      ->transform(value_of_name<ReportFormat>(
          {{"text", ReportFormat::text}, {"json", ReportFormat::json}, {"sarif", ReportFormat::sarif}}))
      ->type_name("FORMAT")
      ->default_str("text");
}

}  // namespace run_ir
