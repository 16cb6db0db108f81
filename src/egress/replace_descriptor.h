// Putting a connected socket into the place of the one that a program called connect on.
#pragma once

#include <string>

#include "egress/socket_holders.h"
#include "egress/waiting_call.h"

namespace cordon {

// Replaces the caller's socket in every descriptor of its process, and in every epoll that watches
// it. An errno if that cannot be done in full: then everything is as it was, and `reason` says why.
int replace_descriptor(WaitingCall& call, const GivenSocket& old_socket, const Fd& connected,
                       Neighbours neighbours, std::string& reason);

}  // namespace cordon
