// LocalSockets: what becomes of connect and bind on a local socket of a sandbox. Reached is what
// the sandbox made itself and what the policy lists; every other socket file in a directory that is
// shown belongs to the host. A file is opened once, judged, and connected to through that very
// descriptor: no name is looked up twice.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/inside_bind.h"
#include "base/result.h"
#include "egress/attempts.h"
#include "egress/made_inside.h"
#include "egress/waiting_call.h"
#include "policy/effective.h"

namespace cordon {

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
  void serve(std::uint64_t private_device, BindInside bind_inside);

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
  BindInside bind_inside_;
  std::mutex mutex_;  // held from a bind until its file is known, so that nobody sees it unknown
  MadeInside made_;
};

}  // namespace cordon
