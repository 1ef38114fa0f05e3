// What inference knows of numbers that an operation computes element by element, when it knows some of them.
#ifndef RUNTIME_OPS_COMPUTED_ELEMENTS_H_
#define RUNTIME_OPS_COMPUTED_ELEMENTS_H_

#include "runtime/ops/infer.h"

namespace ir::op {

/// Sets which elements of output 0 are known, and what they are, for an operation that computes each from
/// those in its place of all inputs. Runs `op` on what is known of these, so that elements are rounded as
/// they are when the model runs.
void propagate_computed_elements(InferContext& context, const Op& op);

/// The same for an `op` that takes fewer inputs than there are: the first `count`.
void propagate_computed_elements(InferContext& context, const Op& op, std::size_t count);

}  // namespace ir::op

#endif  // RUNTIME_OPS_COMPUTED_ELEMENTS_H_
