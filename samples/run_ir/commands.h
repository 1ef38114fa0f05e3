// The subcommands of run_ir: each adds itself to the command line and says how it ended.
#ifndef SAMPLES_RUN_IR_COMMANDS_H_
#define SAMPLES_RUN_IR_COMMANDS_H_

#include <CLI/CLI.hpp>

namespace run_ir {

/// How the program ends.
enum class Outcome : int { fine = 0, found_wrong = 1, usage = 2 };

/// Each declares its options; when the subcommand is parsed, its callback sets `outcome`.
void add_run(CLI::App& app, Outcome& outcome);
void add_validate(CLI::App& app, Outcome& outcome);
void add_info(CLI::App& app, Outcome& outcome);
void add_lint(CLI::App& app, Outcome& outcome);
void add_check(CLI::App& app, Outcome& outcome);
void add_convert(CLI::App& app, Outcome& outcome);
void add_bench(CLI::App& app, Outcome& outcome);
void add_profile(CLI::App& app, Outcome& outcome);
void add_compare(CLI::App& app, Outcome& outcome);
void add_ops(CLI::App& app, Outcome& outcome);
void add_codes(CLI::App& app, Outcome& outcome);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_COMMANDS_H_
