// What of a changed git configuration may go back to the host.
//
// Inside a run git writes to a private copy of `.git/config`. Almost any key of it can make the
// host's git run a program or send work elsewhere, so almost all of it is held back. But some of it
// is what ordinary work leaves behind, and work that is silently forgotten is no work: `git push
// -u` writes two keys of a branch, `git remote add` two of a remote, `git submodule add` two of a
// submodule.
//
// Written back is a setting that is harmless *and* new:
// - its section is a remote, a branch or a submodule that the host's file has no section for, so
//   that nothing the person has set up gets another address, refspec or push target;
// - its key is of the short list below;
// - an address is https, ssh, git or host:path. A path of this machine, `ext::` and `file://` are
// not:
//   the first fetch would take hooks and configuration from there, or start a program;
// - a branch follows a remote by name, never by address;
// - a refspec of a remote fills `refs/remotes/THAT REMOTE/` and nothing else: another one
// overwrites
//   local branches at the next fetch.
// Everything else is held back and named: settings that were removed, changed or added elsewhere.
// Of a section whose address is held back nothing is written: half a remote is of no use, and would
// be an old one to the next run.
//
// The file is written by git's own protocol: `config.lock` is made exclusively, the content is
// compared once more under it, and it is renamed over `config`. A host's git that writes at the
// same moment sees the lock and fails, as it would for another git.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/git/config.h"

namespace cordon {

struct ConfigChange {
  std::vector<GitSetting> written;  // in the order of the file
  std::vector<std::string> held;    // names of settings: "user.email"
};

// Nothing if one of the texts is no configuration: then all of it is held.
std::optional<ConfigChange> judge_config_change(std::string_view base, std::string_view now);
// "remote.fork.url"
std::string setting_name(const GitSetting& setting);

enum class WroteBack { Done, HostChanged, Locked };
// Git's own lock beside the file. One that stays was left by a git that was killed, or by a run on
// purpose.
enum class GitLock { Keep, PassOver };
// Appends the settings to the file at `path`, if its content is still `base`. `text` gets the new
// content.
Result<WroteBack> write_back_config(const std::string& path, std::string_view base,
                                    const std::vector<GitSetting>& settings, std::string& text,
                                    GitLock lock = GitLock::Keep);

// Makes the file at `path` again as it was, if a git directory has none any more: once somebody
// outside has replaced it, the kernel has removed its mount, and a run can remove it. False if
// there is one, or no git directory around it.
Result<bool> put_back_config(const std::string& path, std::string_view base);

}  // namespace cordon
