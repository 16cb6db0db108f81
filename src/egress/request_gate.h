// RequestGate: where the connections go that lead to hosts with rules for requests. What is given
// to it never leads outside end to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/fd.h"
#include "cordon/policy.h"

namespace cordon {

// Thread-safe.
class RequestGate {
 public:
  // How a program inside found the way: by an address of the sandbox's loopback, where it speaks
  // plain HTTP, or by the name of the host, where it speaks TLS as with the host itself.
  enum class Way { Loopback, Name };

  RequestGate() = default;
  virtual ~RequestGate() = default;
  RequestGate(const RequestGate&) = delete;
  RequestGate& operator=(const RequestGate&) = delete;

  // False if it takes no more connections; then the other end sees the end of this one.
  virtual bool take(const HostRule& endpoint, Way way, Fd client) = 0;
};

struct ConnectedPair {
  Fd client;  // of the domain that was asked for
  Fd server;
  int error = 0;
};
// Two ends of a TCP connection over the loopback of this network: programs set options of TCP on
// their sockets, which no pair of local sockets has. Nobody else's connection is taken for it.
ConnectedPair connect_over_loopback(int domain);

}  // namespace cordon
