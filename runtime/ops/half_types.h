// What halves were before they compute in f32.
#ifndef RUNTIME_OPS_HALF_TYPES_H_
#define RUNTIME_OPS_HALF_TYPES_H_

#include "ir_runtime/op.h"
#include "ir_runtime/ops/embedding.h"

namespace ir {

/// For an operation whose inputs are about to be widened: where a result depends on the range of the half
/// type of input 0, the operation remembers it.
inline void remember_half_type(Op& op, ElementType data) {
  if (auto* segment_max = op.as<op::v16::SegmentMax>()) segment_max->lowest_of = data;
}

}  // namespace ir

#endif  // RUNTIME_OPS_HALF_TYPES_H_
