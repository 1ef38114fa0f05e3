#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ir_runtime/validate.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/report.h"

namespace run_ir {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string weights;
  ReportFormat format = ReportFormat::text;
  TextOptions text;
  ir::ValidateOptions checks;
};

Outcome validate(const Options& options) {
  if (!options.weights.empty() && options.files.size() > 1)
    throw CLI::ValidationError("--weights", fmt::format("one file for {} models", options.files.size()));
  std::vector<FileReport> reports;
  Outcome outcome = Outcome::fine;
  ir::ValidateOptions checks = options.checks;
  checks.read = limits().read;
  for (const std::string& file : options.files) {
    FileReport report{file, ir::validate(file, options.weights, checks)};
    if (count(report.findings).errors > 0)
      outcome = std::max(outcome, is_unreadable(report) ? Outcome::usage : Outcome::found_wrong);
    if (options.format == ReportFormat::text) {
      print("{}", report_text(report, options.text));
    } else {
      reports.push_back(std::move(report));
    }
  }
  if (options.format == ReportFormat::json) print("{}", report_json(reports));
  if (options.format == ReportFormat::sarif) print("{}", report_sarif(reports, options.text.all));
  return outcome;
}

}  // namespace

void add_validate(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("validate", "Checks models: structure, attributes, types and every declared dim.");
  command
      ->add_option("files", options->files,
                   "The models' .xml files; weights are checked when they lie beside them.")
      ->required()
      ->check(not_empty());
  add_weights_option(*command, options->weights);
  add_format_option(*command, options->format);
  command->add_flag("--notes", options->checks.notes, "Show notes, too.");
  command->add_flag("--strict", options->checks.strict, "Warnings are errors.");
  command->add_flag("--all", options->text.all,
                    "List findings that follow from others instead of counting them.");
  command->add_flag("-q,--quiet", options->text.quiet, "Errors only; nothing when there is none.");
  command->footer(
      "Exit status: 0 no errors, 1 errors, 2 usage, or a file that cannot be read.\n"
      "Examples:\n  run_ir validate model.xml\n  run_ir validate -q models/*/model.xml\n"
      "  run_ir validate --strict --format sarif model.xml > model.sarif");
  command->callback([options, &outcome] { outcome = validate(*options); });
}

}  // namespace run_ir
