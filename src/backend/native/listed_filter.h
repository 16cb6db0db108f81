// The filter of a policy that lists calls by name: what is not listed kills the process. The rules
// that look at arguments hold for listed calls too, so that listing clone or ioctl opens no
// namespace and no terminal. Pure.
#pragma once

#include <linux/filter.h>

#include <span>
#include <vector>

#include "backend/native/syscall_table.h"

namespace cordon {

// Which sockets a listed `socket` makes. Local ones are never made: they reach the services of the
// host through any directory that is shown, and nobody judges each connection here.
enum class ListedSockets {
  None,      // EAFNOSUPPORT
  Internet,  // TCP and UDP, and queries of interfaces and routes
};

// `calls` are there on `arch`. One that no policy may list is answered ENOSYS, as are those that a
// library tries before an older one; the caller refuses a policy with the others beforehand.
std::vector<sock_filter> compile_listed_filter(Arch arch, std::span<const KnownSyscall> calls,
                                               ListedSockets sockets);

}  // namespace cordon
