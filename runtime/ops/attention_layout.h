// From operands of any layout to the kernel of kernels/sequence/attention.h.
#ifndef RUNTIME_OPS_ATTENTION_LAYOUT_H_
#define RUNTIME_OPS_ATTENTION_LAYOUT_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "ir_runtime/element_type.h"
#include "ir_runtime/shape.h"
#include "kernels/sequence/attention.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// The matrices [batch..., rows, columns] of an operand. Strides are in elements, one per axis.
struct AttentionLayout {
  Shape dims;
  std::vector<std::size_t> strides;

  /// Of a dense tensor.
  static AttentionLayout dense(const Shape& shape);
};

struct AttentionLayouts {
  AttentionLayout query;
  AttentionLayout key;
  AttentionLayout value;
  AttentionLayout out;
  std::optional<AttentionLayout> mask;
  std::optional<AttentionLayout> sink;
  /// boolean, or a type of numbers that are added.
  ElementType mask_type = ElementType::f32;
  float hidden_score = std::numeric_limits<float>::lowest();
  bool causal = false;
};

/// A kernel, and a step that lacks only the `run` which calls it.
struct AttentionStep {
  std::shared_ptr<const kernels::Attention> attention;
  PreparedKernel kernel;
  std::size_t depth = 0;  ///< of queries and keys
};

/// Operands are spread over the batch and the rows of `out`. Of each of query, key, value and
/// out, columns or rows lie side by side.
AttentionStep prepare_attention(const PrepareContext& context, const AttentionLayouts& layouts);

}  // namespace ir::op

#endif  // RUNTIME_OPS_ATTENTION_LAYOUT_H_
