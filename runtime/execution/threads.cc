#include "runtime/execution/threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include "runtime/execution/cgroup.h"

namespace ir {
namespace {

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

int default_threads() {
  const int cores = std::min(allowed_cores(), kMostThreads);
  const std::optional<double> quota = cgroup_cores();
  return quota ? static_cast<int>(std::clamp<double>(std::ceil(*quota), 1, cores)) : cores;
}

}  // namespace ir
