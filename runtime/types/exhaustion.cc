#include "runtime/types/exhaustion.h"

#include <fmt/format.h>

#include "ir_runtime/diagnostics.h"

namespace ir {

void throw_exhausted(std::string_view during) {
  throw Error("IR-memory", fmt::format("memory ran out while {}", during),
              "give the process more memory, or set lower limits");
}

}  // namespace ir
