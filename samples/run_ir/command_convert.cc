#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ir_reader/weights.h"
#include "ir_runtime/read_model.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/progress.h"
#include "samples/run_ir/round_trip.h"

namespace run_ir {
namespace {

struct ConvertOptions {
  std::string model;
  std::string weights;
  std::string output;
  std::optional<int> version;
};

Outcome convert(const ConvertOptions& options) {
  require_weights_stay(options.model, options.weights, options.output);
  Progress progress;
  progress.update("reading " + options.model);
  const std::shared_ptr<ir::Model> model = ir::read_model(options.model, options.weights, limits().read);
  const int version = options.version.value_or(model->ir_version());
  progress.update("writing " + options.output);
  (void)written_and_read(*model, options.output, version, limits().read);
  progress.clear();
  const std::filesystem::path weights = ir::reader::weights_file_of(options.output);
  print("{}: IR version {}, {} layers, {:.1f} MB of constants\n", options.output, version,
        model->nodes().size(), static_cast<double>(std::filesystem::file_size(weights)) / 1e6);
  return Outcome::fine;
}

}  // namespace

void add_convert(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand(
      "convert", "Reads a model, writes it again, and checks that what was written reads as the same model.");
  add_model_argument(*command, options->model);
  command->add_option("output", options->output, "The .xml file to write; the .bin goes beside it.")
      ->required()
      ->check(not_empty());
  add_weights_option(*command, options->weights);
  command->add_option("--ir-version", options->version, "10 or 11; default: the model's own.")
      ->check(one_of({"10", "11"}));
  command->footer("Example:\n  run_ir convert model.xml model_v10.xml --ir-version 10");
  command->callback([options, &outcome] { outcome = convert(*options); });
}

}  // namespace run_ir
