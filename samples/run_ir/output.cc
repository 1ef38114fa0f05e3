#include "samples/run_ir/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/types/printable.h"

namespace run_ir {
namespace {

// Of the first write to standard output that failed: those after it may fail otherwise.
int first_error = 0;

}  // namespace

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // The lowest number that is free: this one. What can only be read makes writing fail, as it did.
    (void)open("/dev/null", O_RDONLY);
  }
}

std::string fault_of_standard_output() {
  if (std::fflush(stdout) != 0 && first_error == 0) first_error = errno;
  if (first_error == EPIPE) return {};
  if (first_error != 0) return std::strerror(first_error);
  return std::ferror(stdout) != 0 ? "not all bytes could be written" : "";
}

void write_text(std::FILE* file, std::string_view text) {
  const std::string safe = ir::printable_lines(text);
  if (std::fwrite(safe.data(), 1, safe.size(), file) < safe.size() && file == stdout && first_error == 0)
    first_error = errno;
}

}  // namespace run_ir
