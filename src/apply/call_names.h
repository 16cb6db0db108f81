// From the names of a policy to system calls of one architecture. Lists are written where the old
// calls exist; where they do not, a name means the call that does its work here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apply/refusal.h"
#include "backend/native/syscall_table.h"

namespace cordon::apply {

struct NamedCalls {
  std::vector<KnownSyscall> calls;          // all there on the architecture; each once
  std::vector<std::string> renamed;         // "open: openat"
  std::vector<std::string> unanswered;      // answered ENOSYS, because no policy may permit them
  std::vector<std::string> without_effect;  // only on the other architecture, with no equivalent
};

// A name that no architecture knows, one that no policy may list, and a list without execve, which
// could start nothing, are refused with the status Seccomp.
Judged<NamedCalls> resolve_calls(std::span<const std::string> names, Arch arch);

}  // namespace cordon::apply
