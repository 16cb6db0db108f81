// NameSockets: how a sandbox that shares the host's network asks for names.
//
// With a network namespace of its own a sandbox has real datagram sockets, and whatever it sends
// with them stays in that empty network. Where it shares the host's network a real one would reach
// everybody: the address of sendmsg and sendmmsg lies behind pointers, where no filter sees it, and
// Landlock has no rules for datagrams. So there is none. What socket(AF_INET, SOCK_DGRAM) answers
// there is one end of a local socket pair whose other end the resolver reads: SOCK_SEQPACKET, which
// keeps messages apart and ignores any address that comes with one (unix_seqpacket_sendmsg). A
// question for a name is answered, whatever name server it was meant for; everything else that is
// sent ends here, and the report says so.
//
// A stream to port 53 becomes the end of a pair too. The resolver has no address on the host:
// nobody else, of this user or another, can ask it what is allowed here.
//
// What a program notices: resolvers compare the sender of an answer with the server they asked, and
// some look at the socket's own address, so recvfrom, recvmsg, getsockname and getpeername are
// answered as for a socket of the internet. recvmmsg does not tell the sender.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>

#include "base/fd.h"
#include "egress/attempts.h"
#include "egress/resolver.h"
#include "egress/waiting_call.h"

namespace cordon {

// Thread-safe. The references must outlive it.
class NameSockets {
 public:
  // `added` is an event descriptor of its own.
  NameSockets(Resolver& resolver, Attempts& attempts, Fd added)
      : resolver_(resolver), attempts_(attempts), added_(std::move(added)) {}
  NameSockets(const NameSockets&) = delete;
  NameSockets& operator=(const NameSockets&) = delete;

  // A new pair, of which `end` is for the sandbox, in place of a socket of `domain`. An errno if
  // there are too many.
  enum class Kind { Datagrams, Stream };
  int open(Kind kind, int domain, Fd& end);
  // True if the socket, by its cookie, is the sandbox's end of a pair for datagrams.
  [[nodiscard]] bool stands_for_datagrams(std::uint64_t cookie) const;

  // What the program believes: its own address, and the name server that the socket asks, from
  // which answers come.
  struct Addresses {
    GivenAddress own;
    GivenAddress server;  // of no size: none was named
  };
  void set_server(std::uint64_t cookie, const GivenAddress& address);
  [[nodiscard]] Addresses addresses_of(std::uint64_t cookie) const;

  // Answers until `stop` is readable.
  void serve(int stop);

 private:
  struct Pair {
    Fd end;  // the resolver's
    Kind kind = Kind::Datagrams;
    std::uint64_t cookie = 0;  // of the sandbox's end
    Addresses addresses;
    DnsBytes pending;
  };
  // False when the sandbox has closed its last copy of the other end.
  bool answer(Pair& pair, short events);
  bool answer_datagram(int socket, short events);

  Resolver& resolver_;
  Attempts& attempts_;
  const Fd added_;  // readable when there is a new pair
  mutable std::mutex mutex_;
  // Only serve() removes from it and touches `pending`.
  std::list<Pair> pairs_;
};

}  // namespace cordon
