// What a fused convolution does to its image first, as the kernels take it.
#ifndef RUNTIME_OPS_PROLOGUE_H_
#define RUNTIME_OPS_PROLOGUE_H_

#include <cstddef>
#include <optional>

#include "kernels/prologue.h"

namespace ir::op {

/// The default does nothing.
struct PrologueOfStep {
  kernels::Prologue prologue;
  /// The input that is the scale of each run.
  std::optional<std::size_t> scale_input;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_PROLOGUE_H_
