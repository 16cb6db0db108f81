// What belongs to the machine rather than to a person: the top of the file system, and the secrets
// of its services.
#pragma once

#include <string_view>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

// Everything directly below "/", for a grant of "/" itself.
std::vector<SystemEntry> root_entries();
// Whether `path` is a tree of the kernel's own making: no grant shows what is in /proc or /dev, no
// file on a disk has a second name there, and a process that ends while it is searched is no
// failure.
bool is_kernel_tree(std::string_view path);
// Of the files that tell a program how to find hosts, those that are there. A minimal image has
// neither, and /etc/resolv.conf is often a link to what no service has written yet.
std::vector<std::string> network_files();
// Password hashes, host keys and the like that exist; they are masked wherever a grant covers them.
std::vector<std::string_view> machine_secrets();

// True if Yama lets nobody look into another process, not even into its children.
bool attaching_is_forbidden();

}  // namespace cordon
