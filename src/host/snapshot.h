// Comparing an object found after a run with the snapshot from before it, and writing a snapshot
// down so that the next start can finish what a killed one could not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/git/config.h"
#include "host/inspect.h"
#include "host/survey.h"
#include "policy/protected_names.h"

namespace cordon {

// The same object in the same state. Its inode number alone proves nothing if nothing pinned it.
inline bool is_unchanged(const TreeSnapshot& before, const FileId& id,
                         const TreeSnapshot::Loose& now) {
  const auto found = before.loose_objects.find(id);
  return found != before.loose_objects.end() && found->second == now;
}
inline bool is_unchanged(const TreeSnapshot& before, const FileInfo& seen) {
  return is_unchanged(before, seen.id, {seen.kind, seen.changed_ns});
}

// Held, masked or pinned during the run, or unchanged.
inline bool was_there(const TreeSnapshot& before, const FileInfo& seen) {
  return before.protected_objects.contains(seen) || is_unchanged(before, seen);
}

// For TreeSnapshot::git_settings: one setting in one file.
std::string digest_of(std::string_view file, const GitSetting& setting);
// The section of a setting, whatever is in it.
std::string digest_of_section(std::string_view file, const GitSetting& setting);

// Nothing that was there: it was made, changed or renamed to this name during the run. Other than
// was_there it can tell for objects of which nothing was written down.
inline bool has_appeared(const TreeSnapshot& before, const FileInfo& seen) {
  return !was_there(before, seen) && before.began_ns != 0 && seen.changed_ns >= before.began_ns;
}

// One short text for each object; read_snapshot ignores what it does not understand.
std::vector<std::string> write_snapshot(const TreeSnapshot& snapshot);
TreeSnapshot read_snapshot(std::span<const std::string> lines);

// which_stays: a protected file was changed while a command ran that could write it. Who wrote?
//
// Without mounts the command and the person outside write the same file with the same rights, and
// the kernel remembers neither of them. A time tells nothing: a command can wait until the person
// works. So Cordon never guesses whose change it is; it asks what the newer content can do.
//
// - If nothing in the change makes a program of the host run something, or sends the person's work
//   or fetches the person's code somewhere else, the newer file stays. What was there before is put
//   into handoff/ and named.
// - Otherwise what was there before comes back, and the newer file is put into handoff/ and named.
//
// Nothing is lost in either case. A person who changed such a file during a run finds the change in
// handoff/, with the path in the report; a command's change never works on the host unseen.
//
// What runs nothing has to be proved, so only git's configuration can stay: Cordon reads it. The
// change has to be one that git itself writes in ordinary work: sections for remotes, branches and
// submodules that were not there, with keys of the list of harmless ones, and addresses that are
// https, ssh, git or host:path. Every setting that was there has to be there still, with the same
// value and in the same order, because the last one of a name wins. An address of an existing
// remote that changes is not harmless: the next push goes there.
//
// Of hooks, settings of editors and agents, and start-up files of shells nobody can prove that they
// run nothing. What was there before comes back.

// https, ssh, git, or host:path as scp writes it; never a path of this machine.
bool is_address_of_a_host(std::string_view address);
// A setting that runs nothing and says where work comes from or goes: an address, a refspec, the
// remote of a branch. In a section that was there before it may not change unseen.
bool leads_somewhere(const GitSetting& setting);

enum class Stays { Original, Newer };

Stays which_stays(KeptPath::Form form, std::string_view original, std::string_view newer);

}  // namespace cordon
