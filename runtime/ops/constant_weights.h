// Constant tensors as kernels take them.
#ifndef RUNTIME_OPS_CONSTANT_WEIGHTS_H_
#define RUNTIME_OPS_CONSTANT_WEIGHTS_H_

#include "ir_runtime/tensor.h"
#include "kernels/weights/constant_weights.h"

namespace ir {

/// The elements of a constant of type f32, which must live as long; or, without waste of time and memory on
/// floats that nobody wants, the bytes that they are made of. nullptr: they are not known.
kernels::ConstantWeights constant_weights(const Tensor* constant);

}  // namespace ir

#endif  // RUNTIME_OPS_CONSTANT_WEIGHTS_H_
