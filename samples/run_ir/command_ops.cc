#include <fmt/format.h>

#include <memory>
#include <string>

#include "ir_runtime/op.h"
#include "runtime/ops/documentation.h"
#include "runtime/ops/fields.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/output.h"

namespace run_ir {
namespace {

struct OpsOptions {
  std::string type;
  bool markdown = false;
};

void print_class(const ir::OpClass& record) {
  print("{} ({}): {}\n", record.info.type, ir::opsets_of(record.info), record.info.summary);
  const ir::Op defaults(record);
  for (const ir::Field& field : record.fields) {
    if (field.kind == ir::FieldKind::ignored) continue;
    const std::string standing =
        field.required ? "required"
                       : fmt::format("default '{}'", ir::field_text(field, defaults.descriptor()));
    print("  {:<24} {} Takes {}; {}.\n", field.name, field.doc, ir::accepted_text(field), standing);
  }
}

Outcome ops(const OpsOptions& options) {
  if (options.markdown) {
    print("{}", ir::operations_markdown());
    return Outcome::fine;
  }
  if (options.type.empty()) {
    for (const ir::OpClass* record : ir::all_op_classes()) {
      print("{:<50} {:<28} {}\n", record->info.type, ir::opsets_of(record->info), record->info.family);
    }
    return Outcome::fine;
  }
  const auto classes = ir::op_classes_of_type(options.type);
  if (classes.empty()) {
    print(stderr, "error: the operation '{}' is not known; run_ir ops lists those that are\n", options.type);
    return Outcome::found_wrong;
  }
  for (const ir::OpClass* record : classes) print_class(*record);
  return Outcome::fine;
}

}  // namespace

void add_ops(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<OpsOptions>();
  CLI::App* command = app.add_subcommand("ops", "Lists the operations, or the attributes of one.");
  CLI::Option* const type =
      command->add_option("type", options->type, "Type of an operation, as in a layer.")->check(not_empty());
  command->add_flag("--markdown", options->markdown, "Everything, as in docs/operations.md.")->excludes(type);
  command->footer("Examples:\n  run_ir ops\n  run_ir ops AvgPool");
  command->callback([options, &outcome] { outcome = ops(*options); });
}

}  // namespace run_ir
