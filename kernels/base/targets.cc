#include "kernels/base/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/base/targets.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
std::int64_t ThisTarget() { return HWY_TARGET; }
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(ThisTarget);

std::vector<std::int64_t> targets() {
  std::vector<std::int64_t> found;
  // Highway gives better targets lower bits.
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    found.push_back(rest & -rest);
  }
  return found;
}

std::string target_name(std::int64_t target) { return hwy::TargetName(target); }

std::string active_target() { return target_name(HWY_DYNAMIC_DISPATCH(ThisTarget)()); }

void force_target(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
