#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir_reader/regular_file.h"
#include "ir_reader/weights.h"
#include "ir_runtime/ir_runtime.h"
#include "ir_runtime/ops/infrastructure.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/json.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/options.h"
#include "samples/run_ir/output.h"

namespace run_ir {
namespace {

struct InfoOptions {
  std::string model;
  std::string weights;
  bool json = false;
};

void print_ports(const char* title, const std::vector<ir::Port>& ports) {
  constexpr std::size_t kWidest = 100;
  std::size_t width = 40;
  for (const ir::Port& port : ports) width = std::max(width, std::min(port.name().size(), kWidest));
  print("{}\n", title);
  for (const ir::Port& port : ports)
    print("  {:<{}} {:<8} {}\n", port.name(), width, ir::name_of(port.type), ir::to_string(port.shape));
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

// Multiplications and additions of one run with inputs of the declared shapes, or why their number is not
// known.
struct Flops {
  std::optional<double> count;
  std::string unknown;
};

Flops flops_of(const ir::Model& model) {
  const auto inputs = model.inputs();
  if (!std::ranges::all_of(inputs, [](const ir::Port& port) { return port.shape.is_static(); }))
    return {{}, "depend on the input shapes"};
  try {
    return {ir::compile_model(model, compile_options(0)).flops(), {}};
  } catch (const ir::Error& error) {
    // What the model is can be told all the same.
    return {{}, fmt::format("unknown, as the model cannot be compiled: {}", error.diagnostics()[0].message)};
  }
}

void print_text(const std::string& file, const ir::Model& model, const Totals& totals, const Flops& flops) {
  print("{}: '{}', IR version {}\n", file, model.name(), model.ir_version());
  print_ports("inputs", model.inputs());
  print_ports("outputs", model.outputs());
  print("operations ({})\n", model.nodes().size());
  for (const auto& [type, count] : totals.operations) print("  {:<40} {}\n", type, count);
  print("opsets");
  for (const auto& [version, count] : totals.opsets) print("  {} ({})", version, count);
  print("\nparameters  {} ({:.1f} MB of constants)\n", totals.parameters,
        static_cast<double>(totals.constant_bytes) / 1e6);
  if (flops.count) {
    print("FLOPs       {:.3f} G per inference\n", *flops.count / 1e9);
  } else {
    print("FLOPs       {}\n", flops.unknown);
  }
}

// A number for each dim that is known, else text as that of --shape; null when the rank is not known.
Json json_of(const ir::PartialShape& shape) {
  if (!shape.has_rank()) return nullptr;
  Json dims = Json::array();
  for (const ir::Dimension& dim : shape)
    dims.push_back(dim.is_static() ? Json(dim.value()) : Json(ir::to_string(dim)));
  return dims;
}

Json json_of(const std::vector<ir::Port>& ports) {
  Json list = Json::array();
  for (const ir::Port& port : ports) {
    list.push_back({{"name", port.name()},
                    {"names", port.names},
                    {"type", ir::name_of(port.type)},
                    {"shape", json_of(port.shape)}});
  }
  return list;
}

void print_json(const std::string& file, const ir::Model& model, const Totals& totals, const Flops& flops) {
  const Json result{{"model", file},
                    {"name", model.name()},
                    {"ir_version", model.ir_version()},
                    {"inputs", json_of(model.inputs())},
                    {"outputs", json_of(model.outputs())},
                    {"operations", totals.operations},
                    {"opsets", totals.opsets},
                    {"parameters", totals.parameters},
                    {"constant_bytes", totals.constant_bytes},
                    {"flops", flops.count ? Json(*flops.count) : Json(nullptr)}};
  print("{}\n", text_of(result));
}

Outcome info(const InfoOptions& options) {
  ir::ReadOptions read = limits().read;
  read.without_weights =
      options.weights.empty() && !ir::reader::is_there(ir::reader::weights_file_of(options.model));
  const std::shared_ptr<ir::Model> model = ir::read_model(options.model, options.weights, read);
  const Totals totals = totals_of(*model);
  const bool weights_missing = read.without_weights && totals.constant_bytes > 0;
  const Flops flops = weights_missing ? Flops{{}, "unknown without the weights file"} : flops_of(*model);
  if (options.json) {
    print_json(options.model, *model, totals, flops);
  } else {
    print_text(options.model, *model, totals, flops);
  }
  return Outcome::fine;
}

}  // namespace

void add_info(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand(
      "info", "Shows inputs, outputs, operations, parameters, FLOPs and opsets of a model.");
  add_model_argument(*command, options->model, "The model's .xml file; the weights file may be missing.");
  add_weights_option(*command, options->weights);
  add_json_option(*command, options->json);
  command->footer(
      "In JSON, a dim of a shape is a number, or text as \"?\" when it is not known.\n"
      "Examples:\n  run_ir info model.xml\n  run_ir info model.xml --format json");
  command->callback([options, &outcome] { outcome = info(*options); });
}

}  // namespace run_ir
