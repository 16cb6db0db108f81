// What an agent host is to be told on this machine.
#pragma once

#include <string_view>

#include "faces/cli/arguments.h"
#include "faces/cli/host_setup.h"

namespace cordon {

// With this program, and the workspace, ceilings and profile of the arguments.
Result<HostSetup> host_setup_here(std::string_view host, const Arguments& arguments);
// The same for a project, with nothing else said. A host that starts its servers in the project
// needs no name of it.
Result<HostSetup> host_setup_in(std::string_view host, const std::string& project);

}  // namespace cordon
