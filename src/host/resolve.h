// Looking at paths: from what a person wrote to canonical grants with the identity of the object.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cordon/policy.h"
#include "policy/approval.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// Who is calling, from the environment, /proc and /etc/passwd; no NSS.
Result<Caller> identify_caller();
// Of /etc/passwd, the only list of users that is asked: a name service would load modules and open
// sockets before the launch.
inline constexpr std::size_t kPasswdLimit = std::size_t{4} * 1024 * 1024;

struct Canonical {
  std::string lexical;  // absolute and normal
  std::string path;     // symlinks of the existing prefix resolved physically, the rest appended
  FileKind kind = FileKind::Absent;
  FileId id;
};

// `text` is absolute, "~", "~/x", "@cwd" or relative to `base`. "~user", ".." after "~", NUL bytes
// and over-long paths are policy errors; so is a path whose existing part cannot be resolved (a
// loop, or no permission): what cannot be canonicalised is never granted by its raw spelling.
Result<Canonical> canonicalize(std::string_view text, std::string_view base, const Caller& caller);
// The same, but a missing path is a policy error whose text contains "does not exist".
Result<Canonical> canonicalize_existing(std::string_view text, std::string_view base,
                                        const Caller& caller);

// The ceiling that binds callers who are not trusted. `~` in it is the home of the account, which
// the password database says, and never $HOME, which the caller says.
inline constexpr std::string_view kSystemCeiling = "/etc/cordon/ceiling.toml";

// Expands "@system", "@toolchains", "@caches" and "@repo", canonicalises every entry, drops missing
// ones with a Nonexistent reduction. Errors are for what must never be granted: a writable "/" or
// whole home.
Result<Resolved> resolve(const Policy& policy, const Caller& caller);
// `approved`: what a person let be done beyond it; of that counts what its [ask] covers.
Result<ResolvedCeiling> resolve(const Ceiling& ceiling, const Caller& caller,
                                std::span<const Approval> approved = {});
// All of them; the first that cannot be resolved is the error.
Result<std::vector<ResolvedCeiling>> resolve_ceilings(const std::vector<Ceiling>& ceilings,
                                                      const Caller& caller,
                                                      std::span<const Approval> approved = {});

// What the table of protected names depends on besides spelling, as far as the caller says it:
// homes, and the directories on PATH.
HeldPlaces held_places(const Caller& caller);

// Reads a policy or ceiling file through one descriptor: refuses a symlink, a file that others may
// write or that belongs to someone else but root, and one over 1 MiB.
Result<std::string> read_trusted_file(const std::string& path, const Caller& caller);

}  // namespace cordon
