// Where the values of a plan lie.
#ifndef RUNTIME_EXECUTION_PLAN_MEMORY_H_
#define RUNTIME_EXECUTION_PLAN_MEMORY_H_

#include "runtime/execution/plan.h"

namespace ir {

/// Gives a place to all values of a plan whose steps and outputs are complete, and to the scratch of its
/// steps, in the arena or in output tensors. With `shares_memory` values lie in each other's memory where
/// that is possible: parts in what they become, results in inputs that nobody reads later, all in what is
/// free again. Views always lie in their inputs; steps that make nothing else leave the plan. With several
/// `workers` the scratch of all steps lies at one place where nothing else does, unless it is large.
void place_values(Plan& plan, bool shares_memory, std::size_t workers);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_PLAN_MEMORY_H_
