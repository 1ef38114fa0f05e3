// What a run with profiling tells about its steps.
#include <algorithm>

#include "kernels/base/targets.h"
#include "runtime/execution/run_state.h"

namespace ir {

// Of a tensor made in the last run, the size that it had.
double RunState::bytes_of(ValueId id) const {
  const PlanValue& value = plan_->values[id];
  if (value.type == ElementType::string) return 0;
  if (value.shape.is_static()) {
    const auto bytes = storage_bytes(value.type, value.shape.element_count().value());
    return static_cast<double>(bytes.value_or(0));
  }
  if (value.place.storage != Storage::slot || !slots_[value.place.index]) return 0;
  return static_cast<double>(slots_[value.place.index].byte_size());
}

std::vector<StepProfile> RunState::profile() const {
  const std::string target = kernels::active_target();
  std::vector<StepProfile> profiles;
  for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
    const PlanStep& step = plan_->steps[i];
    // A deferred step keeps the kernel that it met its data with, unless that serves one run only.
    const PreparedKernel& kernel = step.deferred() ? prepared_[i].kernel : step.kernel;
    StepProfile profile;
    profile.layer = step.node->name();
    profile.type = std::string(step.node->op().type());
    profile.kernel = kernel.name.empty() ? "deferred" : kernel.name;
    if (kernel.per_target) profile.simd_target = target;
    for (const ValueId id : step.outputs) {
      profile.outputs.push_back(plan_->values[id].shape);
      profile.bytes += bytes_of(id);
    }
    for (auto id = step.inputs.begin(); id != step.inputs.end(); ++id) {
      // A square reads its operand once.
      if (std::find(step.inputs.begin(), id, *id) == id) profile.bytes += bytes_of(*id);
    }
    profile.flops = kernel.flops;
    profile.milliseconds = costs_[i].milliseconds;
    profile.threads = costs_[i].threads;
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace ir
