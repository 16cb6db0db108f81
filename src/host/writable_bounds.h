// What may never be written by a contained command, whatever a policy says, and where `workspace`
// refuses to start because the current directory is no project.
#pragma once

#include <optional>
#include <string_view>

#include "cordon/error.h"
#include "host/resolve.h"

namespace cordon {

// "/", a home, an ancestor of a home, the kernel's own file systems.
std::optional<Error> refuse_writable(const Canonical& place, std::string_view written,
                                     const Caller& caller);
// Cordon's own configuration, state and sockets, and the host's process list.
std::optional<Error> refuse_granted(const Canonical& place, std::string_view written,
                                    const Caller& caller);
// "/", a home, an ancestor of one, or a directory of the system rather than of a project.
bool is_no_project(std::string_view directory, const Caller& caller);
// /usr, /etc, /var and the like; not /usr/src/x, /var/tmp, /var/www, /opt/x, /srv, /tmp.
bool is_system_directory(std::string_view directory);

}  // namespace cordon
