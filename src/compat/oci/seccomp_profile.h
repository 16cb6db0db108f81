// Cordon's filter in the words of a config.json (`linux.seccomp`), intersected with the profile
// that the engine gave: what either of them refuses is refused. Pure.
#pragma once

#include "base/result.h"
#include "config/node.h"
#include "sandbox/native/syscall_table.h"

namespace cordon::oci {

struct ProfileNeeds {
  bool ping = false;           // there is a network on which anybody answers
  bool local_sockets = false;  // nothing of the host's lies where one could be connected to
};

// `engine` is null if the engine gave none. A profile that hands calls to another process, or that
// cannot be read, is an error.
Result<Node> narrowed_profile(Arch arch, const ProfileNeeds& needs, const Node* engine);

}  // namespace cordon::oci
