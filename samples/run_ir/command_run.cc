#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ir_runtime/ir_runtime.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/inputs.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/npy.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/progress.h"
#include "samples/run_ir/summary.h"
#include "samples/run_ir/tuning.h"

namespace run_ir {
namespace {

struct RunOptions {
  std::string model;
  std::string weights;
  InputOptions inputs;
  TuningOptions tuning;
  std::string output_folder;
  int threads = 0;
  std::size_t repeat = 1;
  std::size_t top = 10;
};

// File names for outputs: their names with what a file system does not like replaced, each once.
class FileNames {
 public:
  std::string of(const ir::Port& port) {
    constexpr std::size_t kLongest = 200;
    std::string name = port.name().substr(0, kLongest);
    std::ranges::replace_if(
        name, [](char c) { return c == '/' || c == '\\' || c == ':' || c == '\0'; }, '_');
    std::string unique = name;
    for (int number = 2; !taken_.insert(unique).second; ++number) unique = fmt::format("{}_{}", name, number);
    return unique + ".npy";
  }

 private:
  std::set<std::string> taken_;
};

// Before the model runs, which may take long.
void make_folder(const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error)
    throw ir::Error("IR-file", fmt::format("the folder {} cannot be made: {}", folder, error.message()));
}

Outcome run(const RunOptions& options) {
  Progress progress;
  progress.update("reading " + options.model);
  const std::shared_ptr<ir::Model> model = ir::read_model(options.model, options.weights, limits().read);
  progress.update("compiling");
  ir::CompileOptions compile = compile_options(options.threads);
  apply(options.tuning, compile);
  make_folder(options.output_folder);
  const ir::CompiledModel compiled = ir::compile_model(std::move(*model), compile);
  ir::InferRequest request = compiled.create_infer_request();
  set_inputs(request, compiled.inputs(), options.inputs);
  for (std::size_t i = 0; i < options.repeat; ++i) {
    progress.update(fmt::format("running {}/{}", i + 1, options.repeat));
    request.infer();
  }
  progress.clear();
  keep(options.tuning, compile);
  if (compiled.outputs().empty()) print("the model has no outputs\n");
  FileNames names;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) {
    const ir::Port& port = compiled.outputs()[i];
    const ir::Tensor tensor = request.output_tensor(i);
    print("{} {} {}\n{}", port.name(), ir::name_of(tensor.element_type()), ir::to_string(tensor.shape()),
          summary_of(tensor, options.top));
    if (options.output_folder.empty()) continue;
    const std::filesystem::path file = std::filesystem::path(options.output_folder) / names.of(port);
    write_npy(file, tensor);
    print("  written to {}\n", file.string());
  }
  for (const ir::VariableState& variable : request.query_state()) {
    const ir::Tensor tensor = variable.get_state();
    print("variable {} {} {}\n{}", variable.name(), ir::name_of(tensor.element_type()),
          ir::to_string(tensor.shape()), summary_of(tensor, options.top));
  }
  return Outcome::fine;
}

}  // namespace

void add_run(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Runs a model and prints its outputs, and its variables if it has any.");
  add_model_argument(*command, options->model);
  add_weights_option(*command, options->weights);
  add_input_options(*command, options->inputs);
  add_tuning_options(*command, options->tuning);
  command
      ->add_option("-o,--output", options->output_folder,
                   "Folder to write every output to, as .npy; f32 for types that NumPy lacks.")
      ->check(not_empty());
  add_threads_option(*command, options->threads);
  command
      ->add_option(
          "--repeat", options->repeat,
          "Runs in turn with the same inputs; what a stateful model remembers goes from one to the next.")
      ->check(whole_number(1, kMostTimes))
      ->capture_default_str();
  command->add_option("--top", options->top, "Classes, detections or strings to show.")
      ->check(whole_number(0, kMostTimes))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  run_ir run model.xml\n"
      "  run_ir run model.xml -i picture.png --mean 123.7,116.3,103.5 --scale 58.4,57.1,57.4 --channels rgb\n"
      "  run_ir run model.xml -i data=input.npy -i mask=mask.bin -o results");
  command->callback([options, &outcome] { outcome = run(*options); });
}

}  // namespace run_ir
