// FileChanges: what becomes of a call that changes a file's mode, times or owner, where a sandbox
// has the host's own view of files. The kernel would let the owner of any file do it and Landlock
// does not judge it, so the call is made here, on what was opened and judged, and only inside a
// directory that may be written. An owner never changes: a call that leaves it as it is succeeds,
// for archive tools of root.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "egress/waiting_call.h"

namespace cordon {

// Thread-safe. Answers are errnos for the caller.
class FileChanges {
 public:
  // Canonical directories and files.
  explicit FileChanges(std::vector<std::string> writable) : writable_(std::move(writable)) {}

  // True for the calls that answer() knows.
  static bool handles(int call);
  int answer(WaitingCall& call) const;

 private:
  // 0 if this very object may be changed by the sandbox.
  [[nodiscard]] int judge(int file) const;

  const std::vector<std::string> writable_;
};

// Moving the watches of an epoll from one socket to another. An epoll knows what it watches by file
// and number, so both sockets can be watched under one number at a time: the new watch is made
// first, silent, where it can still fail; then the descriptors are replaced; then it is armed. At
// no time is a descriptor in use that nothing watches.

// An errno if one cannot be made: then none is.
int prepare_watches(std::span<const SocketUses::Watch> watches, int connected);
// Takes the prepared ones back.
void forget_watches(std::span<const SocketUses::Watch> watches, int connected);
// Arms the prepared ones and ends the old.
void finish_watches(std::span<const SocketUses::Watch> watches, int old_socket, int connected);

}  // namespace cordon
