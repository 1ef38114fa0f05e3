#include "samples/run_ir/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "ir_runtime/diagnostics.h"

namespace run_ir {

using Clock = std::chrono::steady_clock;

Progress::Progress() : start_(Clock::now()), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

void Progress::update(const std::string& what) {
  const auto now = Clock::now();
  if (!terminal_ || now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100))
    return;
  last_ = now;
  fmt::print(stderr, "\r\x1b[K{:.0f} s  {}", std::chrono::duration<double>(now - start_).count(),
             ir::printable(what));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace run_ir
