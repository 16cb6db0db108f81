// The machines on which the suites last passed. The table is made of tests/vm/proven.json while
// building, and only a run writes that file: nobody can type that something is proven.
#pragma once

#include <span>
#include <string_view>

namespace cordon {

struct ProvenMachine {
  std::string_view name;
  std::string_view architecture;
  std::string_view kernel;
  int landlock_abi;
  int cgroup_version;
  int cases;
  std::string_view date;
  std::string_view commit;
};

std::span<const ProvenMachine> proven_machines();

// Whether a run on a machine of that architecture is among them.
bool architecture_is_proven(std::string_view architecture);

// The same of a version of control groups.
bool cgroup_is_proven(int version);

}  // namespace cordon
