// Transplant: a connected socket takes the place of the one that a program called connect on.
#pragma once

#include <string>

#include "egress/other_holder.h"
#include "egress/waiting_call.h"

namespace cordon {

// Replaces the caller's socket in every descriptor of its process, and in every epoll that watches
// it. An errno if that cannot be done in full: then everything is as it was, and `reason` says why.
int transplant(WaitingCall& call, const GivenSocket& old_socket, const Fd& connected,
               Neighbours neighbours, std::string& reason);

}  // namespace cordon
