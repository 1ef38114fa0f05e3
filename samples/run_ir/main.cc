#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "samples/run_ir/commands.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/output.h"
#include "samples/run_ir/version.h"

namespace {

// OpenVINO's benchmark_app spells long options with one dash; its users type them so here too.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {
    const std::string_view text = argv[i];
    const bool single_dash = text == "-niter" || text == "-nthreads" || text == "-nireq" || text == "-json";
    arguments.push_back(single_dash ? fmt::format("-{}", text) : std::string(text));
  }
  return arguments;  // CLI11 takes them last first
}

// CLI11's own message names them in reverse.
void report_extras(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  if (commands.empty()) {
    run_ir::print(stderr, "'{}' is no command; run_ir --help lists them\n", app.remaining().front());
    return;
  }
  const CLI::App& command = *commands.front();
  run_ir::print(stderr, "not expected: {}; run_ir {} --help lists the options\n",
                fmt::join(app.remaining(true), " "), command.get_name());
}

int run(int argc, char** argv) {
  using run_ir::Outcome;
  Outcome outcome = Outcome::fine;
  CLI::App app("Runs, checks and measures OpenVINO IR models (.xml with .bin).", "run_ir");
  app.require_subcommand(1);
  app.footer("Exit status: 0 fine, 1 found wrong, 2 usage. `run_ir COMMAND --help` shows examples.");
  app.set_version_flag("--version", fmt::format("run_ir {}", run_ir::kVersion));
  run_ir::add_limit_options(app);
  run_ir::add_run(app, outcome);
  run_ir::add_validate(app, outcome);
  run_ir::add_lint(app, outcome);
  run_ir::add_info(app, outcome);
  run_ir::add_check(app, outcome);
  run_ir::add_convert(app, outcome);
  run_ir::add_bench(app, outcome);
  run_ir::add_profile(app, outcome);
  run_ir::add_compare(app, outcome);
  run_ir::add_ops(app, outcome);
  run_ir::add_codes(app, outcome);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    command->footer(command->get_footer() + "\n\nFor --max-mem, --limit and --no-map see run_ir --help.");
  try {
    app.parse(arguments_of(argc, argv));
  } catch (const CLI::ExtrasError&) {
    report_extras(app);
    return static_cast<int>(Outcome::usage);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty()) {
      report_extras(app);
      return static_cast<int>(Outcome::usage);
    }
    // --help and --version end here too, with code 0.
    return app.exit(error) == 0 ? 0 : static_cast<int>(Outcome::usage);
  } catch (const ir::Error& error) {
    run_ir::print(stderr, "{}\n", error.what());
    return static_cast<int>(Outcome::found_wrong);
  } catch (const std::exception& error) {
    run_ir::print(stderr, "error: {}\n", error.what());
    return static_cast<int>(Outcome::found_wrong);
  }
  return static_cast<int>(outcome);
}

// What was found is not told when it cannot be printed.
int status_of_output(int status) {
  const std::string fault = run_ir::fault_of_standard_output();
  if (fault.empty()) return status;
  run_ir::print(stderr, "error: standard output cannot be written: {}\n", fault);
  return status != 0 ? status : static_cast<int>(run_ir::Outcome::found_wrong);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run_ir::hold_standard_streams();
    return status_of_output(run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("error: memory ran out\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  } catch (...) {
    std::fputs("error: something was thrown that does not say what it is\n", stderr);
  }
  return static_cast<int>(run_ir::Outcome::found_wrong);
}
