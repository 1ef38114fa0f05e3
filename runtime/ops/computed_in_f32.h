// f64 for operations whose kernels exist in f32 only.
#ifndef RUNTIME_OPS_COMPUTED_IN_F32_H_
#define RUNTIME_OPS_COMPUTED_IN_F32_H_

#include "runtime/ops/prepare.h"

namespace ir::op {

/// `kernel` reads and writes f32 where the operation has real tensors. Returns it as it is when that is so;
/// where the context has f64 inputs or outputs, returns a kernel that converts them on the way, in scratch.
/// Fails for those of more than 8 inputs or outputs. As in OpenVINO's CPU plugin, f64 has the precision of f32 then.
PreparedKernel computed_in_f32(const PrepareContext& context, PreparedKernel kernel);

/// Of a tensor of floats.
Tensor in_f32(const Tensor& tensor);

}  // namespace ir::op

#endif  // RUNTIME_OPS_COMPUTED_IN_F32_H_
