// The steps that an Einsum runs: what is summed first, which operands are multiplied, how each is laid out.
#ifndef RUNTIME_OPS_EINSUM_PLAN_H_
#define RUNTIME_OPS_EINSUM_PLAN_H_

#include <vector>

#include "runtime/ops/einsum_equation.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// Prepares the sum of products of inputs with these labels (one per axis, ellipses expanded). T is the
/// element type.
///
/// Each input first loses what concerns it alone: diagonals, and labels that are summed over. Then pairs are
/// multiplied, the pair with the smallest result first: by a batched matrix product when labels are summed
/// over, else element by element. Operands are copied into another order only where the product needs it.
template <class T>
PreparedKernel prepare_einsum(const PrepareContext& context, const std::vector<EinsumLabels>& inputs,
                              const EinsumLabels& output);

}  // namespace ir::op

#endif  // RUNTIME_OPS_EINSUM_PLAN_H_
