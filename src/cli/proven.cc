#include "cli/proven.h"

#include <algorithm>
#include <vector>

namespace cordon {

std::span<const ProvenMachine> proven_machines() {
  static const std::vector<ProvenMachine> kMachines = {
#include "proven.inc"
  };
  return kMachines;
}

bool architecture_is_proven(std::string_view architecture) {
  return std::ranges::any_of(proven_machines(), [&](const ProvenMachine& machine) {
    return machine.architecture == architecture;
  });
}

bool cgroup_is_proven(int version) {
  return std::ranges::any_of(proven_machines(), [&](const ProvenMachine& machine) {
    return machine.cgroup_version == version;
  });
}

}  // namespace cordon
