#include "runtime/types/processor.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "ir_runtime/diagnostics.h"

namespace ir {

void require_processor() {
#if defined(__x86_64__)
  static const bool checked = [] {
    const std::array needed{Instructions{"SSSE3", __builtin_cpu_supports("ssse3") != 0},
                            Instructions{"SSE4.1", __builtin_cpu_supports("sse4.1") != 0},
                            Instructions{"SSE4.2", __builtin_cpu_supports("sse4.2") != 0},
                            Instructions{"POPCNT", __builtin_cpu_supports("popcnt") != 0}};
    require_present(needed);
    return true;
  }();
  (void)checked;
#endif
}

void require_present(std::span<const Instructions> needed) {
  std::string missing;
  for (const Instructions& instructions : needed) {
    if (!instructions.present) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", instructions.name);
  }
  if (missing.empty()) return;
  throw Error("IR-unsupported",
              fmt::format("this processor lacks {}, with which all kernels are built", missing),
              "x86-64-v2 is needed: Intel since 2008 (Nehalem), AMD since 2011 (Bulldozer)");
}

}  // namespace ir
