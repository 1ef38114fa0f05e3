// The kernel of every matrix product, plain or fused.
#ifndef RUNTIME_OPS_MATRIX_KERNEL_H_
#define RUNTIME_OPS_MATRIX_KERNEL_H_

#include "ir_runtime/ops/matrix.h"
#include "runtime/ops/epilogue.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/prologue.h"

namespace ir::op {

/// The product of inputs 0 and 1. The bias of an epilogue, which only f32 takes, has one value per column.
/// Of a prologue, what is known of the values of input 0 counts.
PreparedKernel prepare_matmul(PrepareContext& context, const v0::MatMul& product,
                              const EpilogueOfStep& epilogue = {}, const PrologueOfStep& prologue = {});

}  // namespace ir::op

#endif  // RUNTIME_OPS_MATRIX_KERNEL_H_
