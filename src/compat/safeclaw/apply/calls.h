// The sockets and the system calls that a policy leaves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compat/safeclaw/apply/request.h"
#include "sandbox/native/seccomp_filter.h"
#include "sandbox/native/syscall_table.h"

namespace cordon::apply {

// A network that only an outer layer can hold: localhost, or a list of domains.

// The sockets that the policy leaves. Localhost and domains are refused unless no interface but
// loopback is up here: then there is an outer layer, and only what it lets through is reached. A
// document that says nothing of the network leaves it to whoever wrote it.
Judged<ListedSockets> sockets_of(const SafeClawNetwork& network);

// From the names of a policy to system calls of one architecture. Lists are written where the old
// calls exist; where they do not, a name means the call that does its work here.

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
