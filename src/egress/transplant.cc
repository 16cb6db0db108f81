#include "egress/transplant.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "egress/move_watches.h"

namespace cordon {
namespace {

// A process that was forked to execute another program holds a copy for a moment.
constexpr int kLooks = 100;
constexpr std::chrono::milliseconds kBetweenLooks{10};

int set_blocking(int fd, bool blocking) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return errno;
  const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  return wanted == flags || ::fcntl(fd, F_SETFL, wanted) == 0 ? 0 : errno;
}

// Descriptors can be put into the calling process only: elsewhere the old socket would stay. What
// is there at first has time to go away; a process that was forked since counts only if it stays
// what it is.
int refuse_shared(const WaitingCall& call, int socket, Neighbours neighbours, std::string& reason) {
  struct stat status {};
  if (::fstat(socket, &status) < 0) return errno;
  std::set<pid_t> at_first;
  std::vector<OtherHolder> holders;
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(kBetweenLooks);
    if (const int error = find_other_holders(call.thread(), status.st_ino, neighbours, holders);
        error != 0) {
      return error;
    }
    if (look == 0) {
      for (const OtherHolder& holder : holders) at_first.insert(holder.process);
    }
    std::erase_if(holders, [&](const OtherHolder& holder) {
      return holder.in_passing && !at_first.contains(holder.process);
    });
    if (holders.empty()) return 0;
  }
  reason = "the socket is shared with process " + std::to_string(holders.front().process) +
           ", where it would stay unconnected";
  return EACCES;
}

int put_everywhere(const WaitingCall& call, const SocketUses& uses, int connected, int old_socket) {
  for (std::size_t i = 0; i < uses.holders.size(); ++i) {
    const int error = call.put(connected, uses.holders[i]);
    if (error == 0) continue;
    while (i-- > 0) (void)call.put(old_socket, uses.holders[i]);
    return error;
  }
  return 0;
}

}  // namespace

int transplant(WaitingCall& call, const GivenSocket& old_socket, const Fd& connected,
               Neighbours neighbours, std::string& reason) {
  reason = "the connected socket could not be handed over";
  const int before = old_socket.fd.get();
  const int after = connected.get();
  if (const int error = set_blocking(after, old_socket.blocking); error != 0) return error;
  SocketUses uses;
  if (const int error = call.find_uses(before, uses); error != 0) return error;
  const int target = call.argument_as_int(0);
  const auto is_target = [&](const SocketUses::Holder& holder) { return holder.fd == target; };
  // Gone meanwhile: another thread closed or replaced it.
  if (!std::ranges::any_of(uses.holders, is_target)) return EBADF;
  if (const int error = refuse_shared(call, before, neighbours, reason); error != 0) return error;
  if (const int error = prepare_watches(uses.watches, after); error != 0) return error;
  if (const int error = put_everywhere(call, uses, after, before); error != 0) {
    forget_watches(uses.watches, after);
    return error;
  }
  finish_watches(uses.watches, before, after);
  reason.clear();
  return 0;
}

}  // namespace cordon
