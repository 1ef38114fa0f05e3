#include "runtime/execution/cgroup.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace ir {
namespace {

bool is_among(std::string_view name, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// The folders of the process's group and of those around it, up to the root. `controller` is empty for
// version 2.
std::vector<std::filesystem::path> groups(const CgroupFiles& files, std::string_view controller) {
  const std::filesystem::path root = controller.empty() ? files.mount : files.mount / controller;
  std::vector<std::filesystem::path> found;
  std::ifstream lines(files.membership);
  // "hierarchy:controllers:/path", the hierarchy of version 2 is 0 and has no controllers.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? !controllers.empty() : !is_among(controller, controllers)) continue;
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !group.empty(); group = group.parent_path()) found.push_back(root / group);
  }
  // In a container the root is the process's group, whatever the path says.
  found.push_back(root);
  return found;
}

std::optional<double> number_in(const std::filesystem::path& path) {
  double number = 0;
  std::ifstream file(path);
  return file >> number && number > 0 ? std::optional(number) : std::nullopt;  // "max" is none
}

template <class T>
void keep_lower(std::optional<T>& lowest, std::optional<T> number) {
  if (number) lowest = std::min(lowest.value_or(*number), *number);
}

}  // namespace

std::optional<std::int64_t> cgroup_memory(const CgroupFiles& files) {
  std::optional<double> lowest;
  for (const auto& group : groups(files, "")) keep_lower(lowest, number_in(group / "memory.max"));
  for (const auto& group : groups(files, "memory"))
    keep_lower(lowest, number_in(group / "memory.limit_in_bytes"));
  constexpr double kMost = 0x1p62;
  return lowest && *lowest < kMost ? std::optional(static_cast<std::int64_t>(*lowest)) : std::nullopt;
}

std::optional<double> cgroup_cores(const CgroupFiles& files) {
  std::optional<double> lowest;
  for (const auto& group : groups(files, "")) {
    std::string quota;
    double period = 0;
    std::ifstream file(group / "cpu.max");
    if (file >> quota >> period && quota != "max" && period > 0)
      keep_lower(lowest, std::optional(std::strtod(quota.c_str(), nullptr) / period));
  }
  for (const auto& group : groups(files, "cpu")) {
    const auto quota = number_in(group / "cpu.cfs_quota_us");
    const auto period = number_in(group / "cpu.cfs_period_us");
    if (quota && period) keep_lower(lowest, std::optional(*quota / *period));
  }
  return lowest;
}

}  // namespace ir
