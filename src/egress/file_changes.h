// FileChanges: what becomes of a call that changes a file's mode, times or owner, where a sandbox
// has the host's own view of files. The kernel would let the owner of any file do it and Landlock
// does not judge it, so the call is made here, on what was opened and judged, and only inside a
// directory that may be written. An owner never changes: a call that leaves it as it is succeeds,
// for archive tools of root.
#pragma once

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

}  // namespace cordon
