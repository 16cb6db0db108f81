// The login of an agent: whether the host has one that can be added to requests, and copying it
// from the host's home into the private home of a project.
#pragma once

#include <string>

#include "base/result.h"
#include "policy/agents.h"
#include "policy/host_facts.h"

namespace cordon {

enum class LoginCopy {
  Made,
  Kept,  // the private home has a login; the host's was not read
};

// `login` is the file below a home: one directory and a name. The host's is refused unless it is a
// regular file of the caller's own, reached without a symlink and writable by nobody else. What
// lies in the private home was written by contained code: no symlink there is followed, and no file
// there is replaced.
Result<LoginCopy> copy_login(const std::string& login, const Caller& caller, int private_home);

// Whether the file holds a token that can be added to requests outside. What is no regular file of
// the caller's own, or is reached through a symlink, counts as none. Its text passes through one
// buffer that is wiped: the sandbox's init begins as a copy of this process.
KeptLogin kept_login(const AgentNeeds& agent, const Caller& caller);

}  // namespace cordon
