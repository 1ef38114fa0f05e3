// From operands of any layout to the parameters of kernels/attention.h.
#ifndef RUNTIME_OPS_ATTENTION_LAYOUT_H_
#define RUNTIME_OPS_ATTENTION_LAYOUT_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "ir_runtime/shape.h"
#include "kernels/attention.h"

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
};

/// Sizes and strides, with operands spread over the batch and the rows of `out`. Columns of query, value and
/// out lie side by side, and so do the columns of key, or its rows. The kind of mask is left to the caller.
kernels::AttentionParams attention_params(const AttentionLayouts& layouts);

/// Multiplications and additions of the two products.
double attention_flops(const AttentionLayouts& layouts);

}  // namespace ir::op

#endif  // RUNTIME_OPS_ATTENTION_LAYOUT_H_
