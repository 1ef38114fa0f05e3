// What Linux control groups allow the process.
#ifndef RUNTIME_EXECUTION_CGROUP_H_
#define RUNTIME_EXECUTION_CGROUP_H_

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ir {

/// Where the kernel tells it. Another folder serves tests.
struct CgroupFiles {
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path mount = "/sys/fs/cgroup";
};

/// The lowest limit in bytes of the process's group and of those around it, of version 1 and 2 of cgroups.
std::optional<std::int64_t> cgroup_memory(const CgroupFiles& files = {});

/// The lowest quota of these groups, in cores.
std::optional<double> cgroup_cores(const CgroupFiles& files = {});

}  // namespace ir

#endif  // RUNTIME_EXECUTION_CGROUP_H_
