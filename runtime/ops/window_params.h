// From a resolved window to the kernels' form of it.
#ifndef RUNTIME_OPS_WINDOW_PARAMS_H_
#define RUNTIME_OPS_WINDOW_PARAMS_H_

#include "kernels/base/window.h"
#include "runtime/ops/windows.h"

namespace ir::op {

/// Pads are not negative.
inline kernels::WindowParams window_params(const WindowAxisPlan& plan) {
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  return {size(plan.in),       size(plan.out),       size(plan.kernel), size(plan.stride),
          size(plan.dilation), size(plan.pad_begin), size(plan.pad_end)};
}

}  // namespace ir::op

#endif  // RUNTIME_OPS_WINDOW_PARAMS_H_
