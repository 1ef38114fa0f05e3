// Values as what they show of other values: what Transpose, Split, Reshape and the like cost can be saved by
// operations that read tensors in any layout.
#ifndef RUNTIME_PASSES_SEEN_TENSOR_H_
#define RUNTIME_PASSES_SEEN_TENSOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir_runtime/model.h"
#include "runtime/ops/fused_attention.h"

namespace ir::passes {

/// A part of a tensor with its axes in another order, times a number, each matrix as often as `repeats` says
/// before the next one along the last axis of the batch.
struct SeenTensor {
  Output tensor;
  op::TensorView view;
  double factor = 1;
  std::int64_t repeats = 1;
  /// The tensor is to be given this pattern of a Reshape (with special_zero) first.
  std::optional<std::vector<std::int64_t>> pattern = std::nullopt;

  /// The tensor as a value that nodes from `position` on can read.
  [[nodiscard]] Output put(Model::Insertions& insertions, const Node& position) const;
};

/// The earliest tensor that shows the value of known rank that `start` sees, as far as `accepts` allows; it
/// accepts `start`.
SeenTensor trace_back(const SeenTensor& start, const std::function<bool(const SeenTensor&)>& accepts);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_SEEN_TENSOR_H_
