#include "samples/run_ir/options.h"

#include <map>
#include <string>

namespace run_ir {

void add_threads_option(CLI::App& command, int& threads) {
  command.add_option("--threads,--nthreads", threads, "Threads; 0: all that the process may use.")
      ->check(CLI::NonNegativeNumber);
}

void add_format_option(CLI::App& command, ReportFormat& format) {
  static const std::map<std::string, ReportFormat> kFormats{
      {"text", ReportFormat::text}, {"json", ReportFormat::json}, {"sarif", ReportFormat::sarif}};
  command
      .add_option_function<std::string>(
          "--format", [&format](const std::string& name) { format = kFormats.at(name); },
          "Text, JSON (see docs/diagnostics.md) or SARIF 2.1.0 for CI.")
      ->check(CLI::IsMember({"text", "json", "sarif"}))
      ->default_str("text");
}

}  // namespace run_ir
