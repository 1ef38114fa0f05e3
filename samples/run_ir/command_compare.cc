#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ir_reader/errors.h"
#include "ir_runtime/ir_runtime.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/deviation.h"
#include "samples/run_ir/elements.h"
#include "samples/run_ir/inputs.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/progress.h"
#include "samples/run_ir/tuning.h"

namespace run_ir {
namespace {

// Lists hold a value for both models, or one for each.
struct CompareOptions {
  std::vector<std::string> models;
  std::vector<std::string> weights = {""};
  InputOptions inputs;
  std::vector<int> threads = {0};
  std::vector<std::string> optimize = {"on"};
  std::vector<std::string> share_memory = {"on"};
  std::vector<ir::ExecutionMode> execution_modes = {ir::CompileOptions().execution_mode};
  std::vector<std::int64_t> dynamic_quantization = {ir::CompileOptions().dynamic_quantization_group_size};
  double tolerance = 0;
};

struct Side {
  std::string model;
  std::string weights;
  ir::CompileOptions compile;
};

struct NamedOutput {
  std::string name;
  ir::Tensor tensor;
};

template <class T>
const T& of_side(const std::vector<T>& values, std::size_t side) {
  return values[std::min(side, values.size() - 1)];
}

Side side_of(const CompareOptions& options, std::size_t side) {
  Side result{of_side(options.models, side), of_side(options.weights, side),
              compile_options(of_side(options.threads, side))};
  result.compile.optimize = of_side(options.optimize, side) == "on";
  result.compile.share_memory = of_side(options.share_memory, side) == "on";
  result.compile.execution_mode = of_side(options.execution_modes, side);
  result.compile.dynamic_quantization_group_size = of_side(options.dynamic_quantization, side);
  return result;
}

// That the model takes what the first one does.
void require_inputs(const Side& side, const std::vector<ir::Port>& ports,
                    const std::vector<ir::Tensor>& inputs) {
  if (inputs.size() != ports.size()) {
    throw ir::reader::file_error(
        "IR-input-count", side.model,
        fmt::format("the model has {} inputs, the first one {}", ports.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (ports[i].shape.compatible(inputs[i].shape())) continue;
    throw ir::reader::file_error(
        "IR-input-shape", side.model,
        fmt::format("input '{}' takes shape {}, that of the first model has {}", ports[i].name(),
                    ir::to_string(ports[i].shape), ir::to_string(inputs[i].shape())));
  }
}

// The first model decides on the inputs; `inputs` is empty before.
std::vector<NamedOutput> run(const Side& side, const InputOptions& options, std::vector<ir::Tensor>& inputs) {
  const std::shared_ptr<ir::Model> model = ir::read_model(side.model, side.weights, limits().read);
  const ir::CompiledModel compiled = ir::compile_model(*model, side.compile);
  if (inputs.empty()) inputs = make_inputs(compiled.inputs(), options);
  require_inputs(side, compiled.inputs(), inputs);
  ir::InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::ElementType type = compiled.inputs()[i].type;
    request.set_input_tensor(i, inputs[i].element_type() == type ? inputs[i] : inputs[i].converted(type));
  }
  request.infer();
  std::vector<NamedOutput> outputs;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i)
    outputs.push_back({compiled.outputs()[i].name(), request.output_tensor(i).clone()});
  return outputs;
}

std::string type_and_shape(const ir::Tensor& tensor) {
  return fmt::format("{} {}", ir::name_of(tensor.element_type()), ir::to_string(tensor.shape()));
}

// Whether the outputs are close enough.
bool print_comparison(const NamedOutput& a, const NamedOutput& b, double tolerance) {
  const std::string left = type_and_shape(a.tensor);
  const std::string right = type_and_shape(b.tensor);
  print("{}{} {}{}\n", a.name, a.name == b.name ? "" : " / " + b.name, left,
        left == right ? "" : " / " + right);
  if (a.tensor.shape() != b.tensor.shape() || holds_strings(a.tensor) != holds_strings(b.tensor)) {
    print("  cannot be compared\n");
    return false;
  }
  const Deviation deviation = deviation_of(a.tensor, b.tensor);
  print("{}", describe(deviation, a.tensor, b.tensor));
  return deviation.different == 0 || (tolerance > 0 && deviation.relative_l2 <= tolerance);
}

Outcome compare(const CompareOptions& options) {
  Progress progress;
  std::vector<ir::Tensor> inputs;
  progress.update("running the first");
  const std::vector<NamedOutput> a = run(side_of(options, 0), options.inputs, inputs);
  progress.update("running the second");
  const std::vector<NamedOutput> b = run(side_of(options, 1), options.inputs, inputs);
  progress.clear();
  if (a.empty() && b.empty()) print("the models have no outputs\n");
  bool close = a.size() == b.size();
  if (!close) print("{} outputs / {} outputs\n", a.size(), b.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    close = print_comparison(a[i], b[i], options.tolerance) && close;
  return close ? Outcome::fine : Outcome::found_wrong;
}

template <class T>
CLI::Option* add_per_side(CLI::App& command, const std::string& name, std::vector<T>& values,
                          const std::string& text) {
  return command.add_option(name, values, text)->delimiter(',')->allow_extra_args(false);
}

// `expected(1, 2)` would take a model that follows for the second value.
void require_two_at_most(const CLI::App& command) {
  for (const char* const name : {"--weights", "--threads", "--optimize", "--share-memory", "--execution-mode",
                                 "--dynamic-quantization"}) {
    const std::size_t count = command.count(name);
    if (count > 2) throw CLI::ArgumentMismatch::AtMost(name, 2, count);
  }
}

}  // namespace

void add_compare(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare",
      "Runs two models, or one with different options, on the same inputs and compares the outputs.");
  command
      ->add_option("models", options->models, "One or two .xml files; inputs and outputs pair by position.")
      ->required()
      ->check(not_empty())
      ->expected(1, 2);
  command
      ->add_option("--weights", options->weights,
                   "The weights file, for both or, given twice, for each; default: the .bin beside a model.")
      ->check(not_empty())
      ->allow_extra_args(false);
  add_input_options(*command, options->inputs);
  add_per_side(*command, "--threads,--nthreads", options->threads, "Threads, for both or for each; 0: all.")
      ->check(whole_number(0, std::numeric_limits<int>::max()))
      ->default_str("0");
  add_per_side(*command, "--optimize", options->optimize, "Whether layers are folded and fused.")
      ->check(one_of({"on", "off"}))
      ->default_str("on");
  add_per_side(*command, "--share-memory", options->share_memory,
               "Whether values that do not live at the same time share memory.")
      ->check(one_of({"on", "off"}))
      ->default_str("on");
  add_per_side(*command, "--execution-mode", options->execution_modes, kExecutionModeHelp)
      ->transform(execution_mode_names())
      ->type_name(kExecutionModeType)
      ->default_str("performance");
  add_per_side(*command, "--dynamic-quantization", options->dynamic_quantization, kDynamicQuantizationHelp)
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->default_str("0");
  command
      ->add_option("--tolerance", options->tolerance,
                   "Relative L2 error up to which outputs count as equal; 0: they must be identical.")
      ->check(from_zero())
      ->capture_default_str();
  command->footer(
      "Values are shown as first / second. Exit status 1 when an output differs.\n"
      "Examples:\n"
      "  run_ir compare model.xml --threads 1,2\n"
      "  run_ir compare model.xml --optimize on,off --tolerance 1e-5 -i picture.png\n"
      "  run_ir compare model.xml --execution-mode performance,accuracy --tolerance 1e-4\n"
      "  run_ir compare model_f32.xml model_f16.xml --tolerance 1e-2");
  command->callback([command, options, &outcome] {
    require_two_at_most(*command);
    outcome = compare(*options);
  });
}

}  // namespace run_ir
