// Transplant: a connected socket takes the place of the one that a program called connect on.
#pragma once

#include "egress/waiting_call.h"

namespace cordon {

// Replaces the caller's socket in every descriptor of its process, and in every epoll that watches
// it. An errno if that cannot be done in full.
int transplant(WaitingCall& call, const GivenSocket& old_socket, const Fd& connected);

}  // namespace cordon
