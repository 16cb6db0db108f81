// DatagramStandIns: how a program asks for names in a sandbox that shares the host's network, in
// mode allow. Every datagram socket of the internet that it makes would send to the host's network
// without anybody's leave. So it is given one end of a local pair in its place, whose other end is
// the resolver's (egress/local_sockets.h), and the calls by which a program would notice are
// answered as the kernel answers them for the socket that was asked for: connect and bind, sendto,
// recvfrom and recvmsg, getsockname and getpeername.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "egress/endpoint.h"
#include "egress/local_sockets.h"
#include "egress/meter.h"
#include "egress/waiting_call.h"

namespace cordon {

inline constexpr std::uint16_t kNamePort = 53;

// Which socket it is, whatever descriptor leads to it; zero if the kernel does not tell.
std::uint64_t socket_identity(int socket);
// An attempt of another protocol, as it is told.
Connection not_tcp(const Endpoint& target, NetMode mode);

// Thread-safe. The references must outlive it.
class DatagramStandIns {
 public:
  // `names`: null where the sandbox has a network of its own, and so none of these. `stop`:
  // readable when nothing more is to be waited for.
  DatagramStandIns(NameSockets* names, Attempts& attempts, int stop)
      : names_(names), attempts_(attempts), stop_(stop) {}

  // Whether it is one of them.
  [[nodiscard]] bool holds(const GivenSocket& socket) const;
  // Each answers the errno for the caller, or 0 once the call is answered or may go on.
  int make(WaitingCall& call) const;
  int connect(const GivenSocket& socket, const GivenAddress& address);
  int send(WaitingCall& call);
  int receive_from(WaitingCall& call) const;
  int receive_message(WaitingCall& call) const;
  int tell_address(WaitingCall& call) const;
  // Gives a stream that asks for names the resolver's end in place of its own.
  int ask_for_names(WaitingCall& call, const GivenSocket& socket) const;

 private:
  // What a call that receives is answered.
  struct Received {
    std::vector<std::byte> bytes;
    ssize_t answer = 0;  // of the call, which may be more than the bytes that there was room for
    GivenAddress sender;
  };
  int receive(const WaitingCall& call, const GivenSocket& socket, int flags, std::size_t room,
              Received& received) const;

  NameSockets* names_;
  Attempts& attempts_;
  const int stop_;
};

}  // namespace cordon
