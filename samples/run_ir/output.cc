#include "samples/run_ir/output.h"

#include <string>

#include "runtime/types/printable.h"

namespace run_ir {

void write_text(std::FILE* file, std::string_view text) {
  const std::string safe = ir::printable_lines(text);
  std::fwrite(safe.data(), 1, safe.size(), file);
}

}  // namespace run_ir
