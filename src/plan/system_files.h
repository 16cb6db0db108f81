// The files of /etc that are written for a sandbox rather than shown from the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cordon/policy.h"

namespace cordon {

struct SystemFile {
  std::string path;
  std::string content;
};

// passwd and group with root, nobody and the caller; nsswitch.conf and hostname.
std::vector<SystemFile> system_files(std::uint32_t uid, std::uint32_t gid, const std::string& user,
                                     const std::string& home);
// hosts and resolv.conf of a sandbox that has only its own loopback, and perhaps a resolver on it.
std::vector<SystemFile> isolated_network_files(NetMode mode);

}  // namespace cordon
