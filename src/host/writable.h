// What may never be written by a contained command, whatever a policy says, and where `workspace`
// refuses to start because the current directory is no project.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/error.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// "/", a home, an ancestor of a home, the kernel's own file systems.
std::optional<Error> refuse_writable(const Canonical& place, std::string_view written,
                                     const Caller& caller);
// Cordon's own configuration, state and sockets, and the host's process list.
std::optional<Error> refuse_granted(const Canonical& place, std::string_view written,
                                    const Caller& caller);
// The kernel's own file systems.
std::optional<Error> refuse_kernel_files(const Canonical& place, std::string_view written);
// /proc and /dev and what lies below: a sandbox with mounts has its own.
std::optional<Error> refuse_own_inside(const Canonical& place, std::string_view written);
// A directory that is, or holds, what every sandbox has of its own: mounted over it, a writable
// grant would make that writable. /etc and /usr are; /etc/x is not.
std::optional<Error> refuse_over_own(const Canonical& place, std::string_view written);
// "/", a home, an ancestor of one, or a directory of the system rather than of a project.
bool is_no_project(std::string_view directory, const Caller& caller);
// /usr, /etc, /var and the like; not /usr/src/x, /var/tmp, /var/www, /opt/x, /srv, /tmp.
bool is_system_directory(std::string_view directory);

// The writable grant by which the command could put something else at the end of that way, itself
// or by a link or a directory that leads there, or make what is missing there; null: none.
// `own_directory` is Cordon's, which is masked inside, whatever grant covers it.
const Grant* replaceable_by(const std::vector<Grant>& write, const TracedPath& way,
                            const std::string& own_directory);

// Finding programs by name, as a shell would, without starting any of them.

// The first executable file of that name in an absolute directory of the caller's PATH; empty if
// there is none.
std::string on_path(const std::string& name, const Caller& caller);

// True if the caller's shell looks for commands in that directory, by whatever name PATH has it.
bool is_directory_on_path(FileId id, const Caller& caller);

struct FoundAgent {
  std::string name;  // "claude"
  std::string path;
  bool operator==(const FoundAgent&) const = default;
};
// The coding agents that are installed, by the names of their commands. A program of that name may
// be anything: nothing is granted for being found.
std::vector<FoundAgent> find_agents(const Caller& caller);

// GrantPaths: which paths a run may read and write, asked by canonical path, and the outermost
// directories that have to be walked.

// Refers to the grants it was made of.
class GrantPaths {
 public:
  explicit GrantPaths(const Effective& effective) : effective_(effective) {}

  [[nodiscard]] bool is_granted(std::string_view path) const;
  // The longest grant decides, as in the clamp.
  [[nodiscard]] bool is_writable(std::string_view path) const;
  // Also where a read grant makes a hole.
  [[nodiscard]] bool in_writable_root(std::string_view path) const;
  [[nodiscard]] bool is_grant(std::string_view path) const;
  // True if `path` is a grant or lies above one: it can be neither held nor masked as a whole.
  [[nodiscard]] bool covers_grant(std::string_view path) const;

  [[nodiscard]] std::vector<const Grant*> writable_roots() const;
  // Read grants that no writable root contains.
  [[nodiscard]] std::vector<const Grant*> readable_roots() const;

 private:
  const Effective& effective_;
};

}  // namespace cordon
