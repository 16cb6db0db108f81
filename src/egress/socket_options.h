// The options that a program set on its socket before it was replaced by a connected one.
#pragma once

#include <chrono>
#include <optional>

namespace cordon {

// Copies what shapes a TCP connection and its waiting. Not what ties a socket to an address, an
// interface or a mark: those mean something else in the other network.
void copy_options(int from, int to);

// How long the program itself would wait for a connection; nothing: as long as it takes.
std::optional<std::chrono::milliseconds> connect_timeout(int socket);
// The same for a message.
std::optional<std::chrono::milliseconds> receive_timeout(int socket);

}  // namespace cordon
