// Everything that the commands print goes through here.
#ifndef SAMPLES_RUN_IR_OUTPUT_H_
#define SAMPLES_RUN_IR_OUTPUT_H_

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace run_ir {

/// Keeps standard streams that the caller closed from becoming files that are opened later, into which
/// reports would go. Before anything is opened.
void hold_standard_streams();

/// Why what was printed did not all reach standard output; empty when it did, or when whoever read it has
/// seen enough (`| head`). After all is printed.
std::string fault_of_standard_output();

/// Writes `text` with all control characters but line breaks and tabs spelt out: names come from files, and a
/// terminal would obey what they hold.
void write_text(std::FILE* file, std::string_view text);

template <class... Args>
void print(std::FILE* file, fmt::format_string<Args...> format, Args&&... args) {
  write_text(file, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_text(stdout, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_OUTPUT_H_
