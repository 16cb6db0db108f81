// Finding a socket in the descriptors of a sandbox's other processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "egress/waiting_call.h"

namespace cordon {

struct SocketHolder {
  pid_t process = 0;  // as the sandbox numbers it
  // It was forked, has executed nothing yet, and loses the descriptor when it does: the state of
  // every process that is about to become another program.
  bool in_passing = false;
};

// Whom the caller's own /proc shows: its sandbox alone, or every process of the host.
enum class Neighbours { OwnNamespace, Host };

// Looks through every process of the caller's sandbox but its own. `inode` is the socket's. An
// errno if one of them cannot be looked at.
int find_other_holders(pid_t caller, ino_t inode, Neighbours neighbours,
                       std::vector<SocketHolder>& holders);

}  // namespace cordon
