#include "faces/cli/help_text.h"

#include <gmock/gmock.h>

#include <vector>

#include "faces/cli/verbs.h"

namespace cordon {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Proven, NamesWholeRunsOnly) {
  for (const ProvenMachine& machine : proven_machines()) {
    EXPECT_NE(machine.name, "");
    EXPECT_NE(machine.kernel, "") << machine.name;
    EXPECT_GT(machine.cases, 0) << machine.name;
    EXPECT_GT(machine.landlock_abi, 0) << machine.name;
    EXPECT_TRUE(machine.cgroup_version == 1 || machine.cgroup_version == 2) << machine.name;
    EXPECT_EQ(machine.date.size(), 20u) << machine.name;
    EXPECT_EQ(machine.commit.size(), 40u) << machine.name;
    EXPECT_TRUE(architecture_is_proven(machine.architecture));
    EXPECT_TRUE(cgroup_is_proven(machine.cgroup_version));
  }
  EXPECT_FALSE(architecture_is_proven("mips"));
  EXPECT_FALSE(cgroup_is_proven(3));
}

TEST(Proven, AnExecutorCountsOnTheArchitectureItRanOn) {
  const std::vector<ProvenMachine> machines{
      {"a", "aarch64", "6.1", 2, 2, 1, "", "", "lxc-exec 0.8.0"},
      {"b", "x86_64", "6.1", 2, 2, 1, "", "", ""},
      {"c", "aarch64", "6.12", 6, 2, 1, "", "", "lxc-exec 0.9.0"}};
  EXPECT_EQ(proven_executors(machines, "aarch64"), "lxc-exec 0.8.0, lxc-exec 0.9.0");
  EXPECT_EQ(proven_executors(machines, "x86_64"), "");
}

TEST(Proven, IsToldWithTheVersion) {
  for (const ProvenMachine& machine : proven_machines()) {
    EXPECT_THAT(version_details(), HasSubstr("Linux " + std::string(machine.kernel)));
  }
  EXPECT_THAT(version_line(), Not(HasSubstr("Linux")));
}

}  // namespace
}  // namespace cordon
