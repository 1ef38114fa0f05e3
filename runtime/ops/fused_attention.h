// Attention on tensors as they lie in memory, which no IR contains; passes make it.
#ifndef RUNTIME_OPS_FUSED_ATTENTION_H_
#define RUNTIME_OPS_FUSED_ATTENTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ir_runtime/op.h"

namespace ir::op {

/// A tensor as an operation looks at it: its axes in another order, of one axis only a part.
struct TensorView {
  struct Cut {
    std::size_t axis = 0;  ///< of the tensor
    std::int64_t first = 0;
    std::int64_t count = 1;
  };
  /// Axis i of the view is axis order[i] of the tensor. An axis that is cut to one element may be missing.
  std::vector<std::size_t> order;
  std::optional<Cut> cut;

  /// All of a tensor.
  static TensorView whole(std::size_t rank);
  [[nodiscard]] PartialShape shape_of(const PartialShape& tensor) const;
};

/// v13::ScaledDotProductAttention of views, on f32. Along the last axis of the batch (the heads), each matrix
/// of key and value serves as many of the query as `repeats` says. Inputs: the tensors of query, key and
/// value; the mask, if there is one (f32, or boolean with `hidden_score` where it is false; rank 2 or more).
/// The last axis of each tensor, and of the output, is one of the last two of its view.
struct FusedAttention {
  static constexpr OpInfo info{.type = "FusedAttention",
                               .family = "fused",
                               .summary = "softmax(scale * query x key^T + mask) x value, in one."};
  TensorView query;
  TensorView key;
  TensorView value;
  /// out.dim[i] = [batch..., queries, value columns].dim[out_order[i]]
  std::vector<std::size_t> out_order;
  double scale = 1;
  double hidden_score = std::numeric_limits<float>::lowest();
  std::int64_t repeats = 1;
  bool causal = false;  ///< there is no mask then

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_FUSED_ATTENTION_H_
