// Whether this processor has the instructions that the kernels are compiled with.
#ifndef RUNTIME_TYPES_PROCESSOR_H_
#define RUNTIME_TYPES_PROCESSOR_H_

#include <span>
#include <string_view>

namespace ir {

/// Before anything that kernels may do: they, and what the compiler put around them, would end the process
/// where the processor is older than x86-64-v2. Throws Error `IR-unsupported`.
void require_processor();

struct Instructions {
  std::string_view name;
  bool present = false;
};

/// Throws Error `IR-unsupported`, which names those that are missing.
void require_present(std::span<const Instructions> needed);

}  // namespace ir

#endif  // RUNTIME_TYPES_PROCESSOR_H_
