#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "ir_reader/errors.h"
#include "ir_reader/weights.h"
#include "ir_runtime/lint.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/report.h"
#include "samples/run_ir/round_trip.h"

namespace run_ir {
namespace {

struct Options {
  std::string model;
  std::string weights;
  std::string repaired;
  ReportFormat format = ReportFormat::text;
  bool strict = false;
};

std::uintmax_t size_of(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes;
}

// A copy whose weights file holds each constant once, and nothing else.
void repair(const Options& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.model, options.repaired, error)) {
    throw ir::reader::file_error("IR-file", options.repaired, "the copy would replace the model itself",
                                 "name another file");
  }
  require_weights_stay(options.model, options.weights, options.repaired);
  const auto model = ir::read_model(options.model, options.weights, limits().read);
  (void)written_and_read(*model, options.repaired, model->ir_version());
  // JSON and SARIF stand alone on standard output.
  print(options.format == ReportFormat::text ? stdout : stderr,
        "{}: written, with {} bytes of weights instead of {}\n", options.repaired,
        size_of(ir::reader::weights_file_of(options.repaired)),
        size_of(ir::reader::weights_file_of(options.model, options.weights)));
}

Outcome lint(const Options& options) {
  FileReport report{options.model, ir::lint(options.model, options.weights, limits().read)};
  const Counts found = count(report.findings);
  switch (options.format) {
    case ReportFormat::text:
      print("{}", report_text(report, {}));
      break;
    case ReportFormat::json:
      print("{}", report_json({&report, 1}));
      break;
    case ReportFormat::sarif:
      print("{}", report_sarif({&report, 1}, false));
      break;
  }
  if (!options.repaired.empty() && found.errors == 0) repair(options);
  if (is_unreadable(report)) return Outcome::usage;
  return found.errors > 0 || (options.strict && found.warnings > 0) ? Outcome::found_wrong : Outcome::fine;
}

}  // namespace

void add_lint(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "lint", "Looks into the weights: overlaps, unused bytes, duplicates, NaN and infinity, f16 overflow.");
  add_model_argument(*command, options->model);
  add_weights_option(*command, options->weights);
  command
      ->add_option("--repair", options->repaired,
                   "Write a copy whose weights hold each constant once and nothing else, and check that it "
                   "reads as the same model. The .bin goes beside it.")
      ->check(not_empty())
      ->type_name("OUT.xml");
  add_format_option(*command, options->format);
  command->add_flag("--strict", options->strict, "Exit with 1 for warnings, too.");
  command->footer(
      "Exit status: 0 no errors, 1 errors, 2 usage, or a file that cannot be read.\n"
      "Examples:\n  run_ir lint model.xml\n  run_ir lint model.xml --repair compact.xml");
  command->callback([options, &outcome] { outcome = lint(*options); });
}

}  // namespace run_ir
