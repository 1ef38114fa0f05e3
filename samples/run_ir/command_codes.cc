#include <fmt/format.h>

#include <memory>
#include <string>

#include "ir_runtime/diagnostic_codes.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/option_checks.h"
#include "samples/run_ir/output.h"

namespace run_ir {
namespace {

struct CodesOptions {
  std::string code;
  bool markdown = false;
};

Outcome codes(const CodesOptions& options) {
  if (options.markdown) {
    print("{}", ir::diagnostic_codes_markdown());
    return Outcome::fine;
  }
  if (options.code.empty()) {
    for (const ir::DiagnosticGroup& group : ir::diagnostic_groups()) {
      print("{}\n", group.title);
      for (const ir::DiagnosticCode& code : group.codes)
        print("  {:<26} {:<8} {}\n", code.code, ir::name_of(code.severity), code.meaning);
    }
    return Outcome::fine;
  }
  const ir::DiagnosticCode* found = ir::find_diagnostic_code(options.code);
  if (found == nullptr) {
    print(stderr, "error: there is no code '{}'; run_ir codes lists them\n", options.code);
    return Outcome::found_wrong;
  }
  print("{} ({})\n  {}\n  example: {}\n  hint: {}\n", found->code, ir::name_of(found->severity),
        found->meaning, found->example, found->hint);
  return Outcome::fine;
}

}  // namespace

void add_codes(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<CodesOptions>();
  CLI::App* command = app.add_subcommand("codes", "Lists the codes of findings, or explains one.");
  CLI::Option* const code =
      command->add_option("code", options->code, "A code, as it stands in brackets behind a finding.")
          ->check(not_empty());
  command->add_flag("--markdown", options->markdown, "The tables of docs/diagnostics.md.")->excludes(code);
  command->footer("Examples:\n  run_ir codes\n  run_ir codes IR-shape-mismatch");
  command->callback([options, &outcome] { outcome = codes(*options); });
}

}  // namespace run_ir
