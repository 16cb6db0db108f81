// LocalSockets: what becomes of connect and bind on a local socket of a sandbox. Reached is what
// the sandbox made itself and what the policy lists; every other socket file in a directory that is
// shown belongs to the host. A file is opened once, judged, and connected to through that very
// descriptor: no name is looked up twice.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "egress/broker_sockets.h"
#include "egress/meter.h"
#include "egress/names.h"
#include "egress/waiting_call.h"
#include "policy/effective.h"

namespace cordon {

// OwnSocketFiles: the socket files that a sandbox made in directories it shares with the host. Each
// is held open, so its inode cannot pass to another file: what has the same identity is the same
// file, whatever it is called by now.

// Not thread-safe.
class OwnSocketFiles {
 public:
  // Each takes a descriptor of the supervisor, which may serve other sandboxes too.
  static constexpr std::size_t kMost = 64;

  // False if there are too many: this one will be a stranger.
  bool add(Fd file);
  [[nodiscard]] bool holds(const FileId& id) const;

 private:
  struct Entry {
    FileId id;
    Fd file;
  };
  void drop_removed();

  std::vector<Entry> entries_;
};

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

// A socket of the host that the policy lists, held since before the sandbox was started.
struct ListedSocket {
  std::string path;     // canonical
  std::string lexical;  // as it may also be called
  FileId id;
  Fd file;
};

// Refuses one that is no longer what was judged.
Result<std::vector<ListedSocket>> open_listed(std::span<const Grant> sockets);

// Thread-safe once it serves. Answers are errnos for the caller.
class LocalSockets {
 public:
  // `host_network` is the namespace in which abstract names belong to the host.
  LocalSockets(Attempts& attempts, std::vector<ListedSocket> listed, std::uint64_t host_network,
               int stop)
      : attempts_(attempts), listed_(std::move(listed)), host_network_(host_network), stop_(stop) {}

  // Before the first call. Everything on `private_device` was made by the sandbox; zero: nothing.
  void serve(std::uint64_t private_device, BindInSandbox bind_in_sandbox);

  int connect(const WaitingCall& call, const GivenSocket& socket, const GivenAddress& address);
  int bind(const WaitingCall& call, const GivenSocket& socket, const GivenAddress& address);

 private:
  int connect_path(const WaitingCall& call, const GivenSocket& socket, const std::string& name);
  int bind_path(const WaitingCall& call, const GivenSocket& socket, const GivenAddress& address,
                const std::string& name);
  int connect_now(const WaitingCall& call, const GivenSocket& socket, const void* address,
                  std::size_t size) const;
  int connect_listed(const WaitingCall& call, const GivenSocket& socket,
                     const ListedSocket& listed);
  int connect_through(const WaitingCall& call, const GivenSocket& socket, int file) const;
  // True if the sandbox made it.
  bool is_own(const FileId& id);
  [[nodiscard]] bool has_own_names(const GivenSocket& socket) const {
    return socket.network != host_network_;
  }
  int refuse_abstract(const char* what, const std::string& name);

  Attempts& attempts_;
  const std::vector<ListedSocket> listed_;
  const std::uint64_t host_network_;
  const int stop_;
  std::uint64_t private_device_ = 0;
  BindInSandbox bind_in_sandbox_;
  std::mutex mutex_;  // held from a bind until its file is known, so that nobody sees it unknown
  OwnSocketFiles made_;
};

}  // namespace cordon
