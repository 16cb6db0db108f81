// Moving the watches of an epoll from one socket to another. An epoll knows what it watches by file
// and number, so both sockets can be watched under one number at a time: the new watch is made
// first, silent, where it can still fail; then the descriptors are replaced; then it is armed. At
// no time is a descriptor in use that nothing watches.
#pragma once

#include <span>

#include "egress/waiting_call.h"

namespace cordon {

// An errno if one cannot be made: then none is.
int prepare_watches(std::span<const SocketUses::Watch> watches, int connected);
// Takes the prepared ones back.
void forget_watches(std::span<const SocketUses::Watch> watches, int connected);
// Arms the prepared ones and ends the old.
void finish_watches(std::span<const SocketUses::Watch> watches, int old_socket, int connected);

}  // namespace cordon
