// What belongs to the machine rather than to a person: the top of the file system, and the secrets
// of its services.
#pragma once

#include <string_view>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

// Everything directly below "/", for a grant of "/" itself.
std::vector<SystemEntry> root_entries();
// Password hashes, host keys and the like that exist; they are masked wherever a grant covers them.
std::vector<std::string_view> machine_secrets();

// True if Yama lets nobody look into another process, not even into its children.
bool attaching_is_forbidden();

}  // namespace cordon
