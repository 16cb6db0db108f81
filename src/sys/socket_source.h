// A source of sockets: one end of a local socket pair is held by a process in another network
// namespace and answers each question with a new socket of that network. A socket stays in the
// network it was made in, whoever holds it.
#pragma once

namespace cordon::sys {

// Answers one question; negative when there is nobody left to ask. No allocation.
int give_socket(int source);
// A new non-blocking TCP socket of that network, or -errno. Waits a few seconds at most.
int take_socket(int taker, int domain);

}  // namespace cordon::sys
