// Attention of transformers.
#ifndef IR_RUNTIME_OPS_ATTENTION_H_
#define IR_RUNTIME_OPS_ATTENTION_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v13 {

/// softmax(scale * query x key^T + mask) x value. Inputs: query [batch..., L, E], key [batch..., S, E] and
/// value [batch..., S, Ev] of one floating-point type, with at least one axis of batch; then three optional
/// ones. A mask [batch..., L or 1, S or 1] of that type is added; one of type boolean keeps scores where it
/// is true; a scalar stands for none. The scale is one element (1 / sqrt(E)). A sink [batch..., L or 1, 1] is
/// one more score per row, which takes its share of the softmax and has no value. Axes of the batch broadcast
/// as in NumPy. Output: [batch..., L, Ev].
struct ScaledDotProductAttention {
  static constexpr OpInfo info{.type = "ScaledDotProductAttention",
                               .first_opset = 13,
                               .family = "sequence",
                               .summary = "Values weighted by how well their keys match queries."};
  bool causal = false;
  static constexpr auto fields() {
    return std::array{required<&ScaledDotProductAttention::causal>(
        "causal", "Whether row i of the queries sees keys 0 to i only; the mask is ignored then.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v13

#endif  // IR_RUNTIME_OPS_ATTENTION_H_
