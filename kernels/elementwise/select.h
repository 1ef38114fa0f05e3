// Choice between two tensors by a boolean one.
#ifndef KERNELS_ELEMENTWISE_SELECT_H_
#define KERNELS_ELEMENTWISE_SELECT_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/broadcast.h"

namespace ir::kernels {

/// out[i] = condition[i] != 0 ? a[i] : b[i] over `plan`, made from {condition, a, b}; Select-1. The elements
/// of a, b and out are any bits of `element_size` 1, 2, 4 or 8 bytes. Parallel. `out` may be a full `a` or
/// `b`.
void select(const BroadcastPlan& plan, std::size_t element_size, const std::uint8_t* condition, const void* a,
            const void* b, void* out);

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_SELECT_H_
