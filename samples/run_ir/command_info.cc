#include <fmt/format.h>

#include <map>
#include <memory>

#include "ir_runtime/ir_runtime.h"
#include "ir_runtime/ops/infrastructure.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/output.h"

namespace run_ir {
namespace {

void print_ports(const char* title, const std::vector<ir::Port>& ports) {
  print("{}\n", title);
  for (const ir::Port& port : ports) {
    print("  {:<40} {:<8} {}\n", port.name(), ir::name_of(port.type), ir::to_string(port.shape));
  }
}

struct Totals {
  std::map<std::string, std::size_t> operations;
  std::map<std::string, std::size_t> opsets;
  std::int64_t parameters = 0;
  std::int64_t constant_bytes = 0;
};

Totals totals_of(const ir::Model& model) {
  Totals totals;
  for (const auto& node : model.nodes()) {
    ++totals.operations[std::string(node->op().type())];
    ++totals.opsets[node->op().op_class_record().version()];
    const auto* constant = node->op().as<ir::op::v0::Constant>();
    if (constant == nullptr) continue;
    totals.parameters += ir::element_count(constant->shape).value_or(0);
    totals.constant_bytes += constant->size;
  }
  return totals;
}

// Multiplications and additions of one run with inputs of the declared shapes; empty when they are not
// static.
std::optional<double> flops_of(const ir::Model& model) {
  const ir::CompiledModel compiled = ir::compile_model(model, compile_options(0));
  for (const ir::Port& port : compiled.inputs()) {
    if (!port.shape.is_static()) return std::nullopt;
  }
  return compiled.flops();
}

Outcome info(const std::string& file) {
  ir::ReadOptions options = limits().read;
  std::error_code error;
  const auto weights = std::filesystem::path(file).replace_extension(".bin");
  options.without_weights = !std::filesystem::exists(weights, error);
  const std::shared_ptr<ir::Model> model = ir::read_model(file, {}, options);
  const Totals totals = totals_of(*model);
  print("{}: '{}', IR version {}\n", file, model->name(), model->ir_version());
  print_ports("inputs", model->inputs());
  print_ports("outputs", model->outputs());
  print("operations ({})\n", model->nodes().size());
  for (const auto& [type, count] : totals.operations) print("  {:<40} {}\n", type, count);
  print("opsets");
  for (const auto& [version, count] : totals.opsets) print("  {} ({})", version, count);
  print("\nparameters  {} ({:.1f} MB of constants)\n", totals.parameters,
        static_cast<double>(totals.constant_bytes) / 1e6);
  if (options.without_weights && totals.constant_bytes > 0) {
    print("FLOPs       unknown without the weights file\n");
  } else if (const auto flops = flops_of(*model)) {
    print("FLOPs       {:.3f} G per inference\n", *flops / 1e9);
  } else {
    print("FLOPs       depend on the input shapes\n");
  }
  return Outcome::fine;
}

}  // namespace

void add_info(CLI::App& app, Outcome& outcome) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "info", "Shows inputs, outputs, operations, parameters, FLOPs and opsets of a model.");
  command->add_option("model", *file, "The model's .xml file; the weights file may be missing.")->required();
  command->footer("Example:\n  run_ir info model.xml");
  command->callback([file, &outcome] { outcome = info(*file); });
}

}  // namespace run_ir
