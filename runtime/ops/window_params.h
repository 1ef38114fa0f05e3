// From a resolved window to the kernels' form of it.
#ifndef RUNTIME_OPS_WINDOW_PARAMS_H_
#define RUNTIME_OPS_WINDOW_PARAMS_H_

#include "kernels/base/window.h"
#include "runtime/ops/sizes.h"
#include "runtime/ops/windows.h"

namespace ir::op {

/// Pads are not negative.
inline kernels::WindowParams window_params(const WindowAxisPlan& plan) {
  return {size_of(plan.in),       size_of(plan.out),       size_of(plan.kernel), size_of(plan.stride),
          size_of(plan.dilation), size_of(plan.pad_begin), size_of(plan.pad_end)};
}

}  // namespace ir::op

#endif  // RUNTIME_OPS_WINDOW_PARAMS_H_
