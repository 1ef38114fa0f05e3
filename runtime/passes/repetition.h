// Values that repeat what another one holds, as models with fewer heads of keys than of queries do.
#ifndef RUNTIME_PASSES_REPETITION_H_
#define RUNTIME_PASSES_REPETITION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ir_runtime/model.h"

namespace ir::passes {

/// Along `axis`, each slice of `tensor` comes `times` times, before the next one does.
struct Repetition {
  Output tensor;
  std::size_t axis = 0;
  std::int64_t times = 1;
};

/// What `value` repeats: Unsqueeze, then Broadcast or Tile of the new axis, then Reshape, which joins it with
/// the one before. Dims that are not known count as equal only where shapes are computed from the tensor's
/// own.
std::optional<Repetition> repetition_of(const Output& value);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_REPETITION_H_
