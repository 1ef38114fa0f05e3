#include "runtime/execution/cgroup.h"

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace ir::test {
namespace {

class Groups {
 public:
  explicit Groups(std::string_view membership)
      : files_{folder_.write("membership", membership), folder_.path()} {}

  void write(const std::filesystem::path& group, std::string_view file, std::string_view text) const {
    std::filesystem::create_directories(folder_.path() / group);
    (void)folder_.write((group / file).string(), text);
  }
  [[nodiscard]] std::optional<std::int64_t> memory() const { return cgroup_memory(files_); }
  [[nodiscard]] std::optional<double> cores() const { return cgroup_cores(files_); }

 private:
  TemporaryFolder folder_;
  CgroupFiles files_;
};

}  // namespace

TEST_CASE("Without cgroups there is no limit") {
  const Groups groups("");
  CHECK_FALSE(groups.memory());
  CHECK_FALSE(groups.cores());
  const CgroupFiles nowhere{"no-such-folder/cgroup", "no-such-folder"};
  CHECK_FALSE(cgroup_memory(nowhere));
  CHECK_FALSE(cgroup_cores(nowhere));
}

TEST_CASE("The lowest limit of the process's group and of those around it counts") {
  const Groups groups("0::/system.slice/service\n");
  groups.write("", "memory.max", "max\n");
  CHECK_FALSE(groups.memory());
  groups.write("system.slice/service", "memory.max", "3000\n");
  groups.write("system.slice/service", "cpu.max", "max 100000\n");
  groups.write("system.slice/other", "memory.max", "10\n");
  CHECK(groups.memory() == 3000);
  CHECK_FALSE(groups.cores());
  groups.write("system.slice", "memory.max", "2000\n");
  groups.write("system.slice", "cpu.max", "150000 100000\n");
  CHECK(groups.memory() == 2000);
  CHECK(groups.cores() == 1.5);
  groups.write("system.slice/service", "cpu.max", "50000 100000\n");
  CHECK(groups.cores() == 0.5);
}

TEST_CASE("In a container the root is the group") {
  const Groups groups(GENERATE("0::/\n", "0::/docker/of-the-host\n", "0::/../outside\n"));
  groups.write("", "memory.max", "4096");
  groups.write("", "cpu.max", "200000 100000");
  CHECK(groups.memory() == 4096);
  CHECK(groups.cores() == 2);
}

TEST_CASE("Version 1 has a hierarchy per controller") {
  const Groups groups("5:memory:/a\n4:cpu,cpuacct:/a/b\n0::/unused\nno group at all\n");
  groups.write("memory/a", "memory.limit_in_bytes", "5000");
  groups.write("memory", "memory.limit_in_bytes", "9223372036854771712");
  groups.write("cpu/a/b", "cpu.cfs_quota_us", "-1");
  groups.write("cpu/a/b", "cpu.cfs_period_us", "100000");
  CHECK(groups.memory() == 5000);
  CHECK_FALSE(groups.cores());
  groups.write("cpu/a", "cpu.cfs_quota_us", "300000");
  groups.write("cpu/a", "cpu.cfs_period_us", "100000");
  CHECK(groups.cores() == 3);
}

}  // namespace ir::test
