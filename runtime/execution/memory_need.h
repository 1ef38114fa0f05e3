// What a model takes in memory, known before any of it is allocated.
#ifndef RUNTIME_EXECUTION_MEMORY_NEED_H_
#define RUNTIME_EXECUTION_MEMORY_NEED_H_

#include <cstdint>
#include <optional>

#include "ir_runtime/compiled_model.h"
#include "runtime/types/budget.h"

namespace ir {

/// Bytes; sums that do not fit saturate.
struct MemoryNeed {
  /// Constants in the types that they are computed in, halves as f32; equal memory once. Those that are
  /// packed and read by nobody else are left out: a file's pages go when they are not read any more.
  std::int64_t constants = 0;
  /// Weights in the layouts of kernels: an estimate.
  std::int64_t packed = 0;
  /// What the constants take whose packed forms lie together in large pages, as they are stored.
  std::int64_t packed_together = 0;
};

/// Of a model and its bodies. Outputs must have been inferred.
MemoryNeed memory_need_of(const Model& model);

/// a + b; the largest number where that is too much.
std::int64_t saturating_sum(std::int64_t a, std::int64_t b);

/// Of all elements; the largest number where they are not known or too many.
std::int64_t bytes_of(const ValueInfo& value);

/// What the process may use: the limit of its cgroup when there is one and it is lower, else the memory of
/// the machine.
std::int64_t usable_memory();

/// Whether the caller allows less than the process may use: then nothing is kept that only may be needed.
bool is_memory_limited(const CompileOptions& options);

/// Throws Error `IR-limit`, with the numbers, when constants, packed weights and activations take more than
/// options.max_memory_bytes, which is not 0. `activations` is empty as long as they are not known.
void require_memory(const MemoryNeed& need, std::optional<std::int64_t> activations,
                    const CompileOptions& options);

/// What the activations may take: the smaller one of the two limits. max_memory_bytes of 0 is none.
ByteLimit activation_limit(const CompileOptions& options);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_MEMORY_NEED_H_
