// Measures kernels that do the same work.
#ifndef RUNTIME_EXECUTION_KERNEL_RACE_H_
#define RUNTIME_EXECUTION_KERNEL_RACE_H_

#include <cstddef>
#include <span>

#include "runtime/ops/prepare.h"

namespace ir {

/// Runs the kernels in turn, again and again, in the threads of the caller, on tensors of these static shapes
/// (constants as they are, else random numbers), and returns the index of the fastest. The first one wins
/// unless another is faster by more than a few percent. Takes some 50 ms per kernel at most, but a few runs
/// of each at least.
std::size_t fastest_kernel(std::span<const PreparedKernel> kernels, std::span<const ValueInfo> inputs,
                           std::span<const ValueInfo> outputs);

/// Bytes that fastest_kernel takes besides inputs, outputs and scratch.
std::size_t race_bytes();

}  // namespace ir

#endif  // RUNTIME_EXECUTION_KERNEL_RACE_H_
